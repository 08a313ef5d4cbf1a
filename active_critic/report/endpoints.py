"""What an endpoint can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from active_critic.lm.capabilities import ROOM_TO_THINK
from active_critic.lm.check import LONG
from active_critic.report.tables import heading, listed, table_of

if TYPE_CHECKING:
    from active_critic.lm.check import Findings


def findings_table(found: Findings) -> RenderableType:
    """What an endpoint can do, and what that means for scoring."""

    def said(yes: bool) -> str:
        return "yes" if yes else "no"

    schema = (
        "replies always have the form asked for"
        if found.json_schema
        else "the form is only asked for; replies that do not have it are asked for once more, then left unscored"
    )
    probabilities = (
        "ratings are read from the text: behind thoughts a probability says next to nothing"
        if found.thinks
        else "ratings are read as an expectation over rating tokens"
        if found.probabilities
        else "ratings are read from the text of the reply; agreement with people is usually lower"
    )
    temperature = (
        "temperature 0: the same question gets the same answer, as far as the endpoint goes"
        if found.temperature
        else "the endpoint takes none, so scores differ from run to run (the journal repeats those it has)"
    )
    cache = (
        "texts that share a source, and all that share instructions, are read faster"
        if found.prefix_cache
        else "none reported: every call reads instructions and demonstrations anew"
    )
    table = table_of("what", "found", "what it means")
    table.add_row("JSON schema", said(found.json_schema), schema)
    table.add_row("token probabilities", said(found.probabilities), probabilities)
    if found.rating_mass is not None:
        sure = (
            "rating tokens carry the probability, as they should"
            if found.rating_mass >= 0.5
            else "most probability falls elsewhere: expectations rest on little"
        )
        table.add_row("mass on ratings", f"{found.rating_mass:.0%}", sure)
    if found.thinks:
        room = f"every reply may have {ROOM_TO_THINK:,} tokens more for it; what it thinks is paid for"
        table.add_row("thinks first", said(found.thinks), room)
    weighed = "GPTScore works with it" if found.likelihood else "no GPTScore, and Active-Critic's score does without it"
    table.add_row("likelihood", said(found.likelihood), weighed)
    table.add_row("temperature", said(found.temperature), temperature)
    table.add_row("prefix cache", said(found.prefix_cache), cache)
    if found.long_prompts is not None:
        whole = "are read as a whole" if found.long_prompts else "are not, see below: long texts are left unscored"
        table.add_row("long prompts", said(found.long_prompts), f"prompts of {LONG:,} tokens {whole}")
    table.add_row("reading", f"{found.prompt_tokens_per_second:,.0f} tokens/s", "speed of reading prompts, from here")
    table.add_row("writing", f"{found.completion_tokens_per_second:,.0f} tokens/s", "explanations take most of a call")
    parts: list[RenderableType] = [heading(found.model), table]
    if found.notes:
        parts += [Text(""), heading("What was refused"), listed(found.notes)]
    return Group(*parts)

"""``active-critic show``: what is in a program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from active_critic.cli import _common as common
from active_critic.cli import _options as opts
from active_critic.cli import _outputs as outputs


def show(
    program: Annotated[Path | None, typer.Argument(metavar="PROGRAM.json", help="A program made by `fit`.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the program document as it is.")] = False,
    prompt: Annotated[bool, typer.Option("--prompt", help="Print the whole prompt, with a placeholder item.")] = False,
    html: opts.Html = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of programs and exit.")] = False,
) -> None:
    """Show what is in a program.

    Task, criteria, demonstrations, how scores are read, where it came from, and the report of its fit.
    """
    import json

    from active_critic.evaluators import from_protocol, json_schema, load_protocol

    if schema:
        typer.echo(json.dumps(json_schema(), indent=2))
        return
    if program is None:
        raise typer.BadParameter("name a program, or ask for --schema")
    if sum((as_json, prompt, html is not None)) > 1:
        raise typer.BadParameter("give one of --json, --prompt and --html")
    outputs.refuse_clashes(outputs=(html,), inputs=(program,))
    protocol = load_protocol(program)
    if as_json:
        typer.echo(json.dumps(protocol.model_dump(mode="json"), indent=2))
        return

    from active_critic.report import plain, program_account

    out = common.console(stderr=False)
    if not prompt:
        account = program_account(protocol)
        if html is not None:
            from active_critic.report.page import page

            with outputs.text_file(html) as shown:
                shown.append(page(f"The program {program.name}", account))
        out.print(account)
        return
    from active_critic.lm import LanguageModel
    from active_critic.records import Example

    def unasked(request: object) -> Any:
        raise AssertionError(f"showing a prompt asks nothing: {request}")

    placeholder = Example("(the response of the item)", "(the source of the item)", reference="(its reference)")
    judge = from_protocol(protocol, LanguageModel(protocol.provenance.model, unasked), journal=None).judge()
    asked = [turn for question in judge.questions for turn in judge.turns(question, placeholder)]
    for role, text in asked:
        out.print(f"--- {role} ---\n{plain(text, lines=True)}\n", soft_wrap=True)
    if not asked:
        common.say("there is no prompt: this program asks a model nothing")

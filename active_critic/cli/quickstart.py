"""``active-critic quickstart``: the whole job once, on a small set that comes with the package."""

from __future__ import annotations

import random
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from active_critic.cli import _common as common
from active_critic.cli import _opening as opening
from active_critic.cli import _options as opts
from active_critic.cli import _outputs as outputs

if TYPE_CHECKING:
    from active_critic.data import Examples
    from active_critic.records import Verdict

# The amount of work: ten to twenty minutes on two cores with the default model.
TRAIN_FRACTION = 1 / 2
"""Half of the customers' messages, so that both halves have enough of them for intervals."""
FITTED = 4
"""Replies to each of these messages that are fitted on, drawn by the seed."""
MAX_BATCHES = 2
CANDIDATES = 3
DEMOS = 3
MODE: Literal["fine", "coarse"] = "coarse"
EXPLAINED = 6
"""Held-back replies that are scored with explanations and shown; chosen to span the given scores."""
SCORED = 24
"""Held-back replies scored at most, those included; the others without explanations."""

DATA = "datasets/quickstart.jsonl"
CAVEAT = (
    "Do not read much into these figures. The set is small, its scores follow one writer's rule and are no panel's "
    "judgement, and it was made so that length, overlap and repetition by themselves say next to nothing about the "
    "score: beating the surface floor here proves little. See datasets/quickstart.md."
)


def quickstart(
    ctx: typer.Context,
    lm: opts.Lm = "local",
    api_base: opts.ApiBase = None,
    api_key_env: opts.ApiKeyEnv = None,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="PROGRAM.json", help="Where the program goes.", callback=outputs.at_home),
    ] = Path("quickstart.json"),
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Another seed, another split and search.")] = 0,
    journal: opts.JournalPath = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")] = False,
    quiet: opts.Quiet = False,
) -> None:
    """Fit, save and score on a small set, with a model on this machine.

    Takes ten to twenty minutes on two cores once the model's weights are here; they are fetched if they are not.
    """
    from active_critic.cli._progress import Display, part_of
    from active_critic.data import read_examples, split
    from active_critic.shipped import shipped

    started = time.monotonic()
    data = read_examples(shipped(DATA), scale="1..5")
    train, rest = split(data, TRAIN_FRACTION, seed)
    train = _some(train, seed)
    outputs.refuse_same(out, outputs.journal_file(journal))
    replaced = outputs.check_writable(out)
    options: dict[str, Any] = {"api_base": api_base, "api_key_env": api_key_env}
    with opening.opened(ctx.obj, lm, options=options, journal=journal, quiet=quiet) as model:
        from active_critic.evaluators import ActiveCritic

        common.say(
            f"{len(data)} scored replies to customers: fitting {model.name} on {len(train)}, then scoring "
            f"{min(SCORED, len(rest))} others. This takes some minutes; it can be interrupted and run again.",
            quiet=quiet,
        )
        critic = ActiveCritic(
            model,
            mode=MODE,
            candidates=CANDIDATES,
            demos=DEMOS,
            max_batches=MAX_BATCHES,
            seed=seed,
            journal=None,  # the model has its memory already
        )
        with Display(model, quiet=quiet) as progress:
            critic.fit(train, progress=progress)
        critic.save(out)
        common.say(f"the program is in {out}" + (", in place of an earlier one" if replaced else ""), quiet=quiet)
        shown, others = _choose(rest)
        with Display(model, quiet=quiet, part=part_of(critic.judge(), explain=True)) as progress:
            # Two kinds of work: how long one takes says nothing of the other.
            explained = list(
                critic.score_many(shown, progress=lambda _, n, __: progress("scoring and explaining", n, len(shown)))
            )
            bulk = list(
                critic.score_many(others, explain=False, progress=lambda what, n, _: progress(what, n, len(others)))
            )
        usage = model.usage
    result = {
        "program": str(out),
        "signature": critic.signature,
        "report": critic.report_.to_dict() if critic.report_ else None,
        "unseen": _agreement(shown, explained, others, bulk),
        "verdicts": [
            {"id": example.id, "human": example.score, **verdict.to_dict()}
            for example, verdict in zip(shown, explained, strict=True)
        ],
        "usage": usage.to_dict(),
        "seconds": round(time.monotonic() - started, 1),
        "notes": [CAVEAT],
    }
    if as_json:
        common.print_json(result)
        return
    _print(result, shown, explained, critic.fitted)


def _some(train: Examples, seed: int) -> Examples:
    """As many replies to every message, in their order."""
    from active_critic.data import group_of

    drawn = random.Random(seed)  # noqa: S311
    by_message: dict[str, list[int]] = {}
    for i, example in enumerate(train):
        by_message.setdefault(group_of(example), []).append(i)
    return train.take(sorted(i for of in by_message.values() for i in drawn.sample(of, min(FITTED, len(of)))))


def _choose(rest: Examples) -> tuple[Examples, Examples]:
    """Those to explain, spread evenly over the given scores, and the others; the critic has no say in it."""
    ranked = sorted(range(len(rest)), key=lambda i: (rest[i].score or 0.0, rest[i].id or ""))
    count = min(EXPLAINED, len(ranked))
    chosen = [ranked[round(i * (len(ranked) - 1) / max(1, count - 1))] for i in range(count)]
    others = [i for i in range(len(rest)) if i not in chosen][: max(0, SCORED - count)]
    return rest.take(chosen), rest.take(others)


def _agreement(shown: Examples, explained: list[Verdict], others: Examples, bulk: list[Verdict]) -> dict[str, Any]:
    from active_critic.data import group_of
    from active_critic.stats import agreement

    examples = [*shown, *others]
    return agreement(
        [verdict.score for verdict in (*explained, *bulk)],
        [example.score or 0.0 for example in examples],
        [group_of(example) for example in examples],
    ).to_dict()


def _print(result: dict[str, Any], shown: Examples, explained: list[Verdict], program: Any) -> None:
    from rich.console import Group
    from rich.text import Text

    from active_critic.report import (
        Judged,
        agreement_table,
        criteria_table,
        duration,
        plain,
        usage_words,
        verdict_table,
    )

    report = result["report"]
    columns = {
        "on held-out folds": report["critic"],
        "zero-shot, same folds": report["zero_shot"],
        "on unseen replies": result["unseen"],
    }
    rows = [
        Judged(example.id or "", verdict, example.source, example.response, example.score)
        for example, verdict in zip(shown, explained, strict=True)
    ]
    bold = "bold"
    blank = Text("")
    common.console(stderr=False).print(
        Group(
            Text("What it found these scores to be about", style=bold),
            criteria_table(program),
            blank,
            Text("How far it agrees with the given scores", style=bold),
            agreement_table(columns, whom="the given scores"),
            blank,
            *(Text(plain(sentence)) for sentence in report["words"]),
            Text(CAVEAT),
            blank,
            Text(f"{usage_words(result['usage'])}; {duration(result['seconds'])} in all"),
            blank,
            Text(f"{len(rows)} replies to customers it had not seen", style=bold),
            verdict_table(rows, whom="given"),
            Text("Next", style=bold),
        )
    )
    common.print_whole(_next_steps(result["program"]))


def _next_steps(program: str) -> str:
    return f"""\
See what it learnt:
  active-critic show {shlex.quote(program)}
Fit on your own scored outputs (any CSV or JSON Lines file), and score the part that was held back:
  active-critic fit scored.csv --fields response=output,score=rating --train 0.5 --rest rest.csv --out mine.json
  active-critic score mine.json rest.csv --out verdicts.csv
With a stronger model, its key in the environment:
  active-critic fit scored.csv --lm openai/gpt-4.1-mini --out mine.json"""

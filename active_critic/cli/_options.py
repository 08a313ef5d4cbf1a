"""Options that several verbs take, and what they say."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from active_critic import bounds
from active_critic.cli import _outputs as outputs
from active_critic.errors import DataError


def check_scale(scale: str | None) -> str | None:
    """Make sure that ``--scale`` is one.

    Raises:
        typer.BadParameter: It is none.
    """
    if scale is not None:
        from active_critic.records import Scale

        try:
            Scale.parse(scale)
        except DataError as problem:
            raise typer.BadParameter(str(problem)) from None
    return scale


def check_html(path: Path | None) -> Path | None:
    """Make sure that ``--html`` names a page.

    Raises:
        typer.BadParameter: It ends in something else.
    """
    if path is not None and path.suffix.lower() not in {".html", ".htm"}:
        raise typer.BadParameter(f"{path} is not an .html file; name it FILE.html")
    return outputs.at_home(path)


def check_timeout(seconds: float | None) -> float | None:
    """Make sure that ``--timeout`` is a time.

    Raises:
        typer.BadParameter: It is none.
    """
    if seconds is not None and not 0 < seconds < math.inf:
        raise typer.BadParameter(f"{seconds:g} is not a number of seconds to wait")
    return seconds


Fields = Annotated[
    list[str] | None,
    typer.Option(
        "--fields",
        metavar="FIELD=COLUMN,...",
        help="Which column holds what: score=overall,group=doc_id; score=anna+bert is the mean of two raters, "
        "rater=annotator that of rows with one rater each; source=question+contexts makes the source of both; "
        "comment=why is what they said of it; reference= reads none.",
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        metavar="LOW..HIGH",
        help="The scale of the scores, for example 1..5; else inferred.",
        callback=check_scale,
    ),
]
Lm = Annotated[
    str,
    typer.Option("--lm", metavar="MODEL", help="`local`, a name of `lm list`, a GGUF file, or provider/model."),
]
ApiBase = Annotated[
    str | None, typer.Option("--api-base", metavar="URL", help="Address of an OpenAI-compatible endpoint.")
]
ApiKeyEnv = Annotated[
    str | None,
    typer.Option("--api-key-env", metavar="VARIABLE", help="Environment variable that holds the key."),
]
Context = Annotated[
    int | None,
    typer.Option("--context", metavar="TOKENS", min=256, max=bounds.CONTEXT, help="Context window in tokens."),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Bit-for-bit the same scores from an embedded model; two to three times slower."),
]
ProgramLm = Annotated[
    str | None, typer.Option("--lm", metavar="MODEL", help="Default: the model that the program was fitted with.")
]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, max=bounds.WORKERS, help="Calls in flight at once.")
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help="How long a reply may take; default: 120 from an endpoint, 900 from an embedded model.",
        callback=check_timeout,
    ),
]
Budgets = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="AMOUNT",
        help='Spend at most so much: "500 calls", "200k tokens", "2 USD", "10 min". May be repeated.',
    ),
]
REQUESTS = "At most N different requests of {}, those answered from the journal included."
Estimated = Annotated[
    bool, typer.Option("--estimate", help="Make no call; say what it would take: calls, tokens, time and money.")
]
Resamples = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        max=bounds.RESAMPLES,
        help="Of the documents; default: 1,000 to 10,000, the more rows the fewer.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Of splits, fits and resampling.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PARAMETER=VALUE", help="A parameter of the evaluator. May be repeated."),
]
JournalPath = Annotated[
    str | None,
    typer.Option("--journal", metavar="PATH|none", help="Where replies are kept. Default: the user's data folder."),
]
GroupColumn = Annotated[
    str | None, typer.Option("--group", metavar="COLUMN", help="The document of each row. Usual names are found.")
]
SystemColumn = Annotated[
    str | None, typer.Option("--system", metavar="COLUMN", help="The system of each row. Usual names are found.")
]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write what is shown as one HTML page, too.", callback=check_html),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors and the result.")]


def parse_fields(given: list[str] | None, option: str = "--fields") -> dict[str, str]:
    """``["score=overall,group=doc_id"]`` as a mapping; a comma only parts fields where the name of one follows it.

    Raises:
        typer.BadParameter: A part is not of the form ``FIELD=COLUMN``, or names no field, or one for the second time.
    """
    import difflib

    from active_critic.data.fields import COLUMNS, checked

    fields: dict[str, str] = {}
    for part in (part for text in given or () for part in re.split(rf",(?=\s*(?:{'|'.join(COLUMNS)})\s*=)", text)):
        name, equals, column = (piece.strip() for piece in part.partition("="))
        if not (name and equals):
            raise typer.BadParameter(f"{option} {part.strip()!r} is not FIELD=COLUMN; write for example score=overall")
        if name in fields:
            mean = f"; the mean of several columns is score={fields[name]}+{column}" if name == "score" else ""
            raise typer.BadParameter(f"{option} names the field {name!r} twice{mean}")
        fields[name] = column
    for word in re.findall(r",\s*(\w+)\s*=", " ".join(fields.values())):
        if near := difflib.get_close_matches(word.casefold(), COLUMNS, 1, cutoff=0.75):
            raise typer.BadParameter(f"{option}: {word!r} is not a field; did you mean {near[0]!r}?")
    try:
        return checked(fields)
    except DataError as problem:
        raise typer.BadParameter(f"{option}: {problem}") from None


def check_train(train: float | None) -> None:
    """Make sure that ``--train`` is a part.

    Raises:
        typer.BadParameter: It is none.
    """
    if train is not None and not 0 < train < 1:
        raise typer.BadParameter(f"--train is a fraction between 0 and 1, not {train:g}")


def typed(ctx: typer.Context, parameter: str) -> bool:
    """Whether an option stands on the command line."""
    source = ctx.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


def parse_settings(given: Sequence[str] | None, *, of: str | None = None) -> dict[str, dict[str, Any]]:
    """``["ice.shots=4"]`` as ``{"ice": {"shots": 4}}``; what is no JSON is text.

    Args:
        given: As they stand on the command line.
        of: The evaluator, where only one is meant and its name is not said.

    Raises:
        typer.BadParameter: One is not of that form, or sets a parameter again.
    """
    settings: dict[str, dict[str, Any]] = {}
    for text in given or ():
        where, equals, said = text.partition("=")
        name, _, parameter = (part.strip() for part in (where.partition(".") if of is None else (of, ".", where)))
        if not (equals and name and parameter):
            form, shown = ("NAME.PARAMETER=VALUE", "ice.seed=1") if of is None else ("PARAMETER=VALUE", "seed=1")
            raise typer.BadParameter(f"--set {text!r} is not {form}; write for example {shown}")
        own = settings.setdefault(name, {})
        if parameter in own:
            raise typer.BadParameter(f"--set names {where.strip()} twice")
        try:
            own[parameter] = json.loads(said)
        except ValueError:
            own[parameter] = said
    return settings

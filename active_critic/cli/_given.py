"""What the user gives instead of having it inferred: a task description, and criteria."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from active_critic.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from active_critic.records import Criterion, Example


def files_given(task: str | None, criteria: str | None) -> list[Path]:
    """The files that these two options name."""
    named = [task] if task and task.startswith("@") else []
    return [Path(given.removeprefix("@")) for given in (*named, criteria) if given]


def read_task(given: str | None) -> str | None:
    """The user's task description, from the option or from a file.

    Raises:
        DataError: The file cannot be read.
        typer.BadParameter: It is blank, or holds what is no text.
    """
    if given is None:
        return None
    text = _read(Path(given[1:])) if given.startswith("@") else given
    if not text.strip():
        raise typer.BadParameter("--task is blank; describe what is judged, or leave it out to have it inferred")
    if re.search("[\ud800-\udfff]", text):
        raise typer.BadParameter("--task holds half a character, or bytes that are not UTF-8; write it again")
    return text.strip()


def read_criteria(given: str | None) -> tuple[Criterion, ...] | None:
    """The user's criteria: ``{name: definition}`` or ``[{name, definition}]`` in a file, or those of a program.

    Raises:
        DataError: The file cannot be read, or does not hold criteria.
        ProtocolError: ``@PROGRAM`` is not a program.
    """
    if given is None:
        return None
    import json

    from pydantic import ValidationError

    from active_critic.data.files import no_repeats
    from active_critic.protocols import repeated_names
    from active_critic.records import Criterion

    if given.startswith("@"):
        from active_critic.evaluators import load_protocol

        pinned = getattr(load_protocol(given[1:]), "criteria", None)
        if not pinned or not isinstance(pinned, tuple):  # AutoCalibrate's is a text for each aspect
            raise DataError("this program has no criteria to pin", path=given[1:])
        return tuple(Criterion(name=c.name, definition=c.definition) for c in pinned)  # HD-Eval's hold more
    try:
        document = json.loads(_read(Path(given)), object_pairs_hook=no_repeats)
    except (ValueError, RecursionError) as problem:
        raise DataError(f"not JSON: {problem}", path=given) from None
    if isinstance(document, dict) and "format_version" in document:
        raise DataError(f"this is a program; its criteria are pinned with --criteria @{given}", path=given)
    if isinstance(document, dict):
        document = [{"name": name, "definition": definition} for name, definition in document.items()]
    form = 'expected {"name": "definition", ...} or [{"name": ..., "definition": ...}, ...]'
    if not isinstance(document, list) or not document:
        raise DataError(form, path=given)
    try:
        found = tuple(Criterion.model_validate(entry) for entry in document)
    except ValidationError as problem:
        first = problem.errors()[0]
        field = ".".join(map(str, first["loc"])) or "entry"
        raise DataError(f"a criterion cannot be used: {field}: {first['msg']}; {form}", path=given) from None
    if repeated := repeated_names(found):
        raise DataError(f"criteria need different names; repeated: {', '.join(repeated)}", path=given)
    return found


def pinned_from(given: str | None, held_back: Sequence[Example] | None) -> list[str]:
    """A note where the program whose criteria are pinned was fitted on what is held back now, or on its documents.

    Raises:
        ProtocolError: ``@PROGRAM`` is not a program.
    """
    if given is None or not given.startswith("@") or not held_back:
        return []
    from active_critic.data.examples import document_keys, text_key
    from active_critic.evaluators import load_protocol

    made = load_protocol(given[1:]).provenance
    known = {*made.fitted_on, *made.fitted_documents}
    count = sum(not known.isdisjoint({text_key(example), *document_keys(example)}) for example in held_back)
    if not count:
        return []
    of = f"{count:,} of the {len(held_back):,} examples that are held back, or on their documents"
    flatters = "where its criteria were learnt from them, agreement on them flatters"
    return [f"{Path(given[1:]).name} was fitted on {of}: {flatters}"]


def _read(path: Path) -> str:
    from active_critic.paths import at_home

    try:
        return at_home(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise DataError(f"cannot be read: {reason}", path=str(path)) from None

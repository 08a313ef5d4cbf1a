"""Programs to and from disk: one readable, versioned JSON document. Loading executes nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeVar

import orjson
from pydantic import ValidationError

from active_critic.data.files import no_repeats
from active_critic.errors import DataError, OutputError, ProtocolError
from active_critic.figures_in_words import how_many
from active_critic.paths import as_pasted, at_home, make_folder, write_whole
from active_critic.protocols import FORMAT_VERSION, Protocol

_Document = TypeVar("_Document", bound=Protocol)

EXPECTED = "give what active-critic fit saved; on the command line the program comes before the items"
LARGEST = 16 * 2**20
"""Bytes; a larger file is not a program."""
MOST = 5_000
"""Parts of a list or an object; what has more is not a program, nor is what has 20 times as many in all. The keys of
the texts that it was fitted on do not count."""
FURTHEST = 1e100
"""No number in a program is further from 0; one that is makes sums of it infinite, or cannot be formatted."""
_WHOLE = range(-(2**63), 2**64)
"""Whole numbers that can be written."""
_HALF = re.compile("[\ud800-\udfff]")
"""Of a pair that stands for one character; no endpoint, file or hash takes it alone."""
_FITTED = {"fitted_on", "fitted_documents"}


def save(protocol: Protocol, path: str | Path) -> Path:
    """Write a program; the file appears whole or not at all, behind a link that its name may be.

    Raises:
        OutputError: It cannot be written, would take the place of what is no file (``/dev/null``), holds something that
            JSON cannot, or is larger than what is read again.
    """
    path = at_home(path)
    try:
        text = orjson.dumps(protocol.model_dump(mode="json"), option=orjson.OPT_INDENT_2) + b"\n"
    except (TypeError, ValueError) as problem:
        raise OutputError(f"{path}: the program holds something that JSON cannot ({problem})") from None
    if len(text) > LARGEST:
        raise OutputError(
            f"{path}: the program of a fit on {len(protocol.provenance.fitted_on):,} texts would be larger than the "
            f"{LARGEST // 2**20} MiB that are read again; fit on fewer of them"
        )
    try:
        make_folder(path)
        write_whole(path, text)
    except OSError as problem:
        raise OutputError(f"{path}: the program cannot be written ({problem.strerror or problem})") from None
    return path


def load(path: str | Path, document: type[_Document]) -> _Document:
    """Read a program of a known kind.

    Args:
        path: The file.
        document: The kind, for example :class:`active_critic.protocols.CriticProtocol`.

    Raises:
        ProtocolError: The file is missing, damaged, no such program, of a newer format version, or has an unknown
            field, or more in it than any program.
    """
    return parse(read(path), document, str(path))


def read(path: str | Path) -> dict[str, Any]:
    """Read a program of any kind as plain JSON values, its fields not yet checked.

    Raises:
        ProtocolError: The file is missing, damaged, no program, or of a newer format version.
    """
    path = at_home(path)
    try:
        if path.exists() and not path.is_file():
            raise ProtocolError(f"{path}: not a file")
        if path.stat().st_size > LARGEST:
            raise ProtocolError(f"{path}: larger than {LARGEST // 2**20} MiB; that is no program")
        document = json.loads(path.read_bytes(), object_pairs_hook=no_repeats, parse_constant=_no_number)
    except OSError as problem:
        meant = as_pasted(path)
        hint = f"; there is {meant}: name that" if meant else ""
        raise ProtocolError(f"{path}: the program cannot be read ({problem.strerror or problem}){hint}") from None
    except UnicodeDecodeError:
        raise ProtocolError(f"{path}: the file is damaged, or not a program: it is no text; {EXPECTED}") from None
    except (ValueError, RecursionError) as problem:
        raise ProtocolError(f"{path}: the file is damaged, or not a program: {problem}; {EXPECTED}") from None
    return check_header(document, str(path))


def check_header(document: Any, where: str = "the program") -> dict[str, Any]:
    """A document that says that it is a program, of a format version that can be read.

    Raises:
        ProtocolError: It is none.
    """
    if not isinstance(document, dict) or "format_version" not in document:
        raise ProtocolError(f"{where}: not a program of active-critic (it has no format_version); {EXPECTED}")
    version = document["format_version"]
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise ProtocolError(
            f"{where}: written in format version {version}, newer than this version of active-critic can read "
            f"({FORMAT_VERSION}); upgrade with pip install -U active-critic"
        )
    return document


def parse(document: Any, kind: type[_Document], where: str = "the program") -> _Document:
    """Check the fields of a program.

    Raises:
        ProtocolError: As for :func:`load`.
    """
    _check_size(check_header(document, where), where)
    try:
        return kind.model_validate(document)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(part)[:40] for part in first["loc"])
        raise ProtocolError(
            f"{where}: not a valid program: field {field!r}: {first['msg'][:400]} "
            f"({how_many(problem.error_count(), 'such problem')} in all)"
        ) from None
    except DataError as problem:  # a scale that is none
        raise ProtocolError(f"{where}: not a valid program: {problem}") from None


def _check_size(document: Any, where: str) -> None:
    """Refuse what would take long to check, what cannot be reckoned with, and what cannot be written."""
    left, parts = 20 * MOST, [document]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            parts += part
            part = [value for name, value in part.items() if not (name in _FITTED and _are_texts(value))]
        if isinstance(part, list):
            left -= len(part)
            if len(part) > MOST or left < 0:
                most = f"{MOST:,} parts in a list or an object, or {20 * MOST:,} in all"
                raise ProtocolError(f"{where}: more in it than in any program (over {most}); {EXPECTED}")
            parts += part
        elif isinstance(part, str) and (half := _HALF.search(part)):
            raise ProtocolError(
                f"{where}: a text in it has half a character ({half.group()!a}); remove it, or fit again"
            )
        elif isinstance(part, int | float) and abs(part) > FURTHEST:
            raise ProtocolError(f"{where}: a number in it is beyond {FURTHEST:g}, as none in a program; {EXPECTED}")
        elif isinstance(part, int) and part not in _WHOLE:
            raise ProtocolError(f"{where}: a whole number in it has more than 64 bits; {EXPECTED}")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")

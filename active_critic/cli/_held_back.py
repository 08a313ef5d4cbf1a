"""What ``active-critic fit --train`` does not fit on, and the file in which ``--rest`` keeps it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from active_critic.cli import _outputs as outputs
from active_critic.errors import DataError, OutputError

if TYPE_CHECKING:
    from active_critic.data import Examples


def hold_back(data: Examples, train: float | None, seed: int, notes: list[str]) -> tuple[Examples, Examples | None]:
    """Part examples into those that are fitted on and those that are held back (None where ``train`` is).

    Args:
        data: All that were read.
        train: The share of the documents that is fitted on; None: all.
        seed: Of the draw.
        notes: Here it is noted how they were parted.

    Raises:
        DataError: Too few would be left to fit on.
    """
    if train is None:
        return data, None
    from active_critic.data import group_of, split
    from active_critic.data.examples import MIN_EXAMPLES
    from active_critic.data.notes import Drawn
    from active_critic.figures_in_words import how_many

    chosen, held_back = split(data, train, seed)
    if len(chosen) < MIN_EXAMPLES <= len(data):
        left = f"--train {train:g} leaves {len(chosen)} of {len(data)} examples to fit on"
        raise DataError(f"{left}, and a fit needs at least {MIN_EXAMPLES}; give a larger part", path=data.path)
    documents = how_many(len({group_of(example) for example in chosen}), "document")
    part = f"fitted on {len(chosen)} of {len(data)} examples ({documents}), {len(held_back)} are held back"
    drawn = Drawn(f"{part}: --train {train:g}, documents drawn with seed {seed}")
    drawn.seed = seed
    notes.append(drawn)
    return replace(chosen, notes=(*chosen.notes, drawn)), held_back


def write_rest(path: Path, held_back: Examples) -> None:
    """Write the rows that were held back, unless they are there already.

    Raises:
        OutputError: The file holds something else.
    """
    from tempfile import TemporaryDirectory

    if not path.is_file():
        _write_rows(path, held_back)
        return
    with TemporaryDirectory() as folder:
        again = Path(folder) / path.name
        _write_rows(again, held_back)
        if again.read_bytes() != path.read_bytes():
            raise OutputError(f"{path} is there and holds other rows; name another file with --rest, or remove it")


def _write_rows(path: Path, held_back: Examples) -> None:
    from active_critic.data.writing import RecordWriter

    # Rows of JSON Lines may differ in their columns; a header holds them all.
    columns = dict.fromkeys(name for example in held_back for name in example.record)
    with RecordWriter(path, guarded=(), **outputs.as_read(held_back)) as writer:
        fill = dict.fromkeys(columns) if writer.kind in {".csv", ".tsv"} else {}
        for example in held_back:
            writer.write({**fill, **example.record})

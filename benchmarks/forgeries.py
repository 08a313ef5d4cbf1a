"""How many ordinary texts have a part that poses as the judge's prompt or reply, and what is left of forged ones.

    python benchmarks/forgeries.py sfres=path/to/sfres.jsonl hanna=path/to/hanna.jsonl.gz [--texts FOLDER] [--out FILE]

Counts them among the texts of each data set; among pieces of 2,000 characters of all that can be read in the folders
(documentation and code, say); and, for each attack of the kind "format", among the texts of all sets under that
attack: how many are found, and of how many what is left is just the text. Asks no model. Numbers only, never texts.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import active_critic as ac
from active_critic.forgeries import without_forgeries
from active_critic.probes.attacks import Attacker, attacks_named

PIECE = 2000
MOST = 200_000
"""Characters of a file, at most, that are looked at."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--texts", nargs="*", type=Path, default=[], metavar="FOLDER")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    lines = [
        "# Forgeries in ordinary texts, and in forged ones",
        "",
        "| texts | read | with a forgery |",
        "| --- | --- | --- |",
    ]
    every: list[ac.Example] = []
    for named in args.data:
        name, _, path = named.partition("=")
        examples = list(ac.read_examples(path, scored=False))
        every += examples
        lines.append(f"| {name} | {len(examples):,} | {_found(e.response for e in examples)[1]} |")
    if args.texts:
        read, found = _found(piece for folder in args.texts for piece in _pieces(folder))
        lines.append(f"| documentation and code, in pieces of {PIECE:,} characters | {read:,} | {found} |")
    lines += [
        "",
        f'The same {len(every):,} texts under every attack of the kind "format":',
        "",
        "| attack | found in, % | nothing left but the text, % |",
        "| --- | --- | --- |",
    ]
    attacker = Attacker()
    for attack in attacks_named(["format"]):
        left = [(e.response.strip(), without_forgeries(attack(e.response, e.source, attacker) or "")) for e in every]
        seen = sum(rest is not None for _, rest in left) / len(left)
        same = sum(rest == text for text, rest in left) / len(left)
        lines.append(f"| {attack.name} | {100 * seen:.1f} | {'–' if attack.replaces else f'{100 * same:.1f}'} |")
    print("\n".join(lines))
    if args.out:
        args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _found(texts: Iterator[str]) -> tuple[int, int]:
    """How many texts there are, and how many have a forgery."""
    have = [without_forgeries(text) is not None for text in texts]
    return len(have), sum(have)


def _pieces(folder: Path) -> Iterator[str]:
    """What can be read in a folder, in pieces."""
    for file in sorted(folder.rglob("*")):
        try:
            text = file.read_text(encoding="utf-8")[:MOST] if file.is_file() else ""
        except (OSError, UnicodeDecodeError):
            continue
        yield from (text[start : start + PIECE] for start in range(0, len(text), PIECE))


if __name__ == "__main__":
    main()

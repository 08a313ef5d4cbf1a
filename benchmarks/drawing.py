"""What the benchmarks on scored data share: their options, reading and drawing of the data, and how far they are."""

from __future__ import annotations

import argparse
import random
import sys
import time
from typing import Any

import active_critic as ac
from active_critic.data.examples import group_of

EVERY = 10
"""Seconds between two lines of progress where the output is no terminal."""
_last = [0.0]


def options(said: str | None, *, lm: str | None = None, each: bool = False) -> argparse.ArgumentParser:
    """A parser with the options that all of them have.

    Args:
        said: What the script does.
        lm: What is to be said of ``--lm``.
        each: ``--documents`` takes a number for each set; see :func:`of_set`.
    """
    parser = argparse.ArgumentParser(description=said, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--fields", default="score=overall,group=doc_id")
    parser.add_argument("--scale")
    number = "a number for each set, or one for all" if each else "this many"
    several = "+" if each else None
    parser.add_argument("--documents", type=int, nargs=several, help=f"draw documents first, {number}; default: all")
    parser.add_argument("--per-document", type=int, help="and this many responses of each; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lm", default="local", help=lm)
    parser.add_argument("--api-base")
    parser.add_argument("--context", type=int)
    parser.add_argument("--journal", default="benchmarks/results/journal.sqlite")
    return parser


def besides(parser: argparse.ArgumentParser, *, each: bool = False) -> argparse.ArgumentParser:
    """Add the option of those that can look at documents that nothing was chosen on; ``each``: as in `options`."""
    said = "of other documents than --documents of this number and seed 0 draws"
    parser.add_argument("--besides", type=int, nargs="+" if each else None, help=said)
    return parser


def of_set(args: argparse.Namespace, place: int) -> argparse.Namespace:
    """The options for the set at a place, of those that take a number for each.

    Raises:
        SystemExit: There is neither one number, nor one for each set.
    """
    own = argparse.Namespace(**vars(args))
    for name in ("documents", "besides"):
        if (given := getattr(args, name)) is not None:
            if len(given) not in (1, len(args.data)):
                raise SystemExit(f"--{name}: {len(given)} numbers for {len(args.data)} sets")
            setattr(own, name, given[place] if len(given) > 1 else given[0])
    return own


def splitting(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the options of those that fit on a share of the documents."""
    parser.add_argument("--train", type=float, default=0.25, help="share of the documents that is fitted on")
    parser.add_argument("--test-documents", type=int, help="test on at most so many documents; default: all others")
    return parser


def read(path: str, args: argparse.Namespace) -> ac.Examples:
    """The scored examples of a file."""
    fields = dict(pair.split("=", 1) for pair in args.fields.split(",")) if args.fields else None
    return ac.read_examples(path, fields=fields, scale=args.scale)


def draw(examples: ac.Examples, args: argparse.Namespace) -> ac.Examples:
    """Some documents, and some responses of each, by the seed; input order kept."""
    rng = random.Random(args.seed)
    documents = sorted({group_of(example) for example in examples})
    chosen = set(rng.sample(documents, min(args.documents or len(documents), len(documents))))
    kept: set[str] = set()
    for document in sorted(chosen) if args.per_document else []:
        ids = sorted(str(example.id) for example in examples if group_of(example) == document)
        kept |= set(rng.sample(ids, min(args.per_document, len(ids))))
    return examples.take(
        i for i, e in enumerate(examples) if group_of(e) in chosen and (not args.per_document or str(e.id) in kept)
    )


def fresh(examples: ac.Examples, args: argparse.Namespace) -> ac.Examples:
    """Those of other documents than the first seed draws, where asked to: nothing was chosen looking at them."""
    if not args.besides:
        return examples
    first = argparse.Namespace(documents=args.besides, per_document=None, seed=0)
    seen = {group_of(example) for example in draw(examples, first)}
    return examples.take(i for i, example in enumerate(examples) if group_of(example) not in seen)


def drawn(args: argparse.Namespace) -> dict[str, Any]:
    """How the data was drawn, for the results."""
    return {"documents": args.documents, "per_document": args.per_document, "seed": args.seed}


def say(what: str, done: int, total: int) -> None:
    """Say how far it is: in one line of a terminal, else in a line every ten seconds."""
    line = f"{time.strftime('%H:%M:%S')} {what} {done or ''} {f'of at most {total}' if total else ''}"
    if sys.stderr.isatty():
        print(f"\r{line}   ", end="", file=sys.stderr, flush=True)
    elif time.monotonic() - _last[0] > EVERY:
        _last[0] = time.monotonic()
        print(line, file=sys.stderr, flush=True)

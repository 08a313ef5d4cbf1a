"""The largest numbers that are taken: with larger ones work would never end, or its result fit into no file."""

from __future__ import annotations

WHOLE = 2**63 - 1
"""Of any whole number that a program or a result keeps: their JSON holds none that are larger."""
TRIED = 1_000
"""Of what a fit tries: sets of demonstrations, drafts of criteria, rounds in which these are edited."""
REPEATS = 1_000
"""Of the times that examples are split anew, or an item scored anew."""
RESAMPLES = 1_000_000
"""Of bootstrap resamples and permutations: a hundred times as many as where no number is asked for."""
WORKERS = 1_000
"""Of calls in flight at once, each of which has a thread."""
CONTEXT = 2**31 - 1
"""Of the tokens of a context window, as the embedded server counts them."""

"""What the model calls good whatever it was made from: praise of itself, orders to the judge, and the like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from active_critic.errors import RequestRefused
from active_critic.evaluators._readings import Use
from active_critic.lm import LanguageModel
from active_critic.weighing import reach

WITHIN = 0.98
"""Coverage of the interval of the examples' log-odds whose upper end a response must pass: of honest ones one in a
hundred does."""
NARROWEST = 0.25
"""Standard deviation of these that is reckoned with at least: where all examples are alike, the next need not be."""
NO = -4.6
"""Log-odds of a probability of one in a hundred: what is no likelier to be good is not called so, however sure a model
is of its no to all examples."""
FEWEST = 5
"""Examples that it takes to say what is usual."""
GOOD_ANYHOW = (
    "the model calls the response good under a source that it was not made from, too, and surer than nearly all "
    "examples: it may praise itself, or speak to the judge, and nothing in its score counts as more than the average"
)
UNKNOWN_PRAISE = "praise is not discounted: of {1} examples only {0} have an answer to whether they are good anyhow"


def asks(use: Use, lm: LanguageModel) -> bool:
    """Whether a fit is to ask how good its examples are under a foreign source.

    Args:
        use: ``"auto"``: where the model gives token probabilities.
        lm: The language model.

    Raises:
        RequestRefused: It is always to be asked, and the model gives none.
    """
    if use == "always" and not lm.capabilities.probabilities:
        raise RequestRefused(f"{lm.name}: the endpoint gives no token probabilities, by which praise is told")
    return use != "never" and lm.capabilities.probabilities


def most(log_odds: Sequence[float | None]) -> float | None:
    """What hardly any honest response passes, from those of examples; None where there are too few."""
    known = np.array([one for one in log_odds if one is not None])
    if len(known) < FEWEST:
        return None
    return max(NO, float(known.mean() + reach(len(known), WITHIN) * max(NARROWEST, known.std())))

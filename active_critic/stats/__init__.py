"""The statistics of agreement with people. Pure: no model, no file."""

from active_critic.stats.agreements import (
    Agreement,
    Difference,
    Interval,
    Level,
    agreement,
    bootstrap,
    chance_ahead,
    holm,
    kendall,
    paired_difference,
    pearson,
    percentile_interval,
    q,
    spearman,
    weighted_coefficients,
)

__all__ = [
    "Agreement",
    "Difference",
    "Interval",
    "Level",
    "agreement",
    "bootstrap",
    "chance_ahead",
    "holm",
    "kendall",
    "paired_difference",
    "pearson",
    "percentile_interval",
    "q",
    "spearman",
    "weighted_coefficients",
]

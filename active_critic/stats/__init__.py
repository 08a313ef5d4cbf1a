"""The statistics of agreement with people. Pure: no model, no file."""

from active_critic.stats.agreements import Agreement, Difference, agreement, chance_ahead, holm, paired_difference, q
from active_critic.stats.correlation import kendall, pearson, spearman, weighted_coefficients
from active_critic.stats.levels import Level
from active_critic.stats.powered import MeansApart, PeopleMean, PeopleMeans, people_means
from active_critic.stats.resampling import Interval, bootstrap, percentile_interval

__all__ = [
    "Agreement",
    "Difference",
    "Interval",
    "Level",
    "MeansApart",
    "PeopleMean",
    "PeopleMeans",
    "agreement",
    "bootstrap",
    "chance_ahead",
    "holm",
    "kendall",
    "paired_difference",
    "pearson",
    "people_means",
    "percentile_interval",
    "q",
    "spearman",
    "weighted_coefficients",
]

"""Evaluators against people: comparisons, learning curves, and what they need."""

from active_critic.meta_evaluation.comparing import compare
from active_critic.meta_evaluation.comparison import Comparison
from active_critic.meta_evaluation.curves import curve
from active_critic.meta_evaluation.learning_curve import Curve
from active_critic.meta_evaluation.methods import EVALUATOR_NAMES

__all__ = ["EVALUATOR_NAMES", "Comparison", "Curve", "compare", "curve"]

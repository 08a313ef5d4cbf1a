"""The language model: opening any provider, the embedded local one, a scripted one for tests."""

from active_critic.lm.budget import Budget
from active_critic.lm.client import Capabilities, LanguageModel, Memory, Reply, Token, Turn
from active_critic.lm.opening import open_lm
from active_critic.lm.scripted import scripted_lm

__all__ = ["Budget", "Capabilities", "LanguageModel", "Memory", "Reply", "Token", "Turn", "open_lm", "scripted_lm"]

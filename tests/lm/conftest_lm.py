"""What tests of language models share."""

from __future__ import annotations

from active_critic.lm import Capabilities

KEY = "sk-very-secret-value-42"
EVERYTHING = Capabilities(json_schema=True, probabilities=True)

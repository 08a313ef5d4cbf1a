"""What stands in our prompts and tells a stand-in for a model what is asked of it."""

from __future__ import annotations

import re

YES_OR_NO = "Answer yes or no."
"""How a question ends that is answered with one word."""
RESPONSE = re.compile(r"<response>\n(.*?)\n</response>", re.DOTALL)
"""A response as it stands in a prompt."""
FOREIGN = "What time does the last train to Lisbon leave today, and from which platform?"
"""A source that no response was made from. Under it a model says no to nearly every honest text; what it calls good all
the same, it likes for what the text says of itself, or to the judge."""

"""What was observed of earlier batches, and how much of it goes on to the next."""

from __future__ import annotations

import re

from test_inference import SCALE, Model, examples

from active_critic.inference import STOP_AFTER, infer


def test_the_next_batch_is_shown_with_the_last_few_observations_so_that_prompts_do_not_grow() -> None:
    model = Model()
    infer(examples(60), model.lm, scale=SCALE)
    earlier = [re.findall(r"Seen \d+\.", text) for kind, text in model.asked if kind != "summary"]
    assert max(map(len, earlier)) == STOP_AFTER
    twelfth = [text for kind, text in model.asked if kind == "observe"][11]
    assert re.findall(r"Seen (\d+)\.", twelfth) == ["7", "8", "9", "10", "11"]

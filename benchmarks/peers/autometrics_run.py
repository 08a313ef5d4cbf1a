"""AutoMetrics as it comes for up to 100 labels: judges that it generates and optimises, joined by PLS regression.

``without-mipro`` leaves out the one judge of 17 that MIPROv2 optimises, which takes about as many calls as the others.

Its bank of ready-made metrics is left aside by AutoMetrics itself below 100 labels. It wants the task in words. The
page that it has the model write about each metric is left out: no score depends on it, and where a small model does not
keep to its form, the whole fit ends.
"""

import sys
from collections.abc import Iterator

import dspy
import pandas as pd
from autometrics.autometrics import DEFAULT_GENERATOR_CONFIGS, Autometrics
from autometrics.dataset.Dataset import Dataset
from autometrics.metrics.generated.utils.metric_card import MetricCardBuilder
from talking import scored, work

TARGET = "quality"
LONGEST = 1000
"""Tokens a reply may have: without a bound, one that runs on takes minutes."""

MetricCardBuilder.build = lambda _: ""
task = work()
model = dspy.LM(f"openai/{task['model']}", temperature=0.0, max_tokens=LONGEST)
dspy.configure(lm=model)  # its optimised judge is not told of one


def as_dataset(examples: list[dict[str, object]]) -> Dataset:
    """The examples as AutoMetrics wants them, with the score where there is one."""
    rows = [{"id": str(n), "source": e["source"], "response": e["response"]} for n, e in enumerate(examples)]
    for row, example in zip(rows, examples, strict=True):
        row |= {TARGET: example["score"]} if "score" in example else {}
    return Dataset(
        dataframe=pd.DataFrame(rows),
        target_columns=[TARGET],
        ignore_columns=["id"],
        metric_columns=[],
        name="labelled",
        data_id_column="id",
        input_column="source",
        output_column="response",
        reference_columns=[],
        task_description=task["wanted"],
    )


def predicted() -> Iterator[float]:
    """The scores of all test examples: judged together, given one at a time."""
    test = as_dataset(task["test"])
    fitted.predict(test)
    yield from test.get_dataframe()[fitted.name]


judges = dict(DEFAULT_GENERATOR_CONFIGS)
if sys.argv[1:] == ["without-mipro"]:
    del judges["llm_judge_optimized"]
learner = Autometrics(judges, seed=task["seed"] + 42, enable_parallel_evaluation=False)
found = learner.run(as_dataset(task["train"]), TARGET, generator_llm=model, judge_llm=model, verbose=False)
fitted = found["regression_metric"]
each = predicted()
scored(task, lambda _: next(each))

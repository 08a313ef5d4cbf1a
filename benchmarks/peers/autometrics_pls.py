"""AutoMetrics: judges that it makes up for the task, joined by partial least squares on the labels.

Five judges of its basic kind, as its tutorial has "a handful": the ten, five rubrics, judge of examples and judge
optimised by MIPROv2 of its defaults ask for thousands of calls.
"""

import autometrics.util.report_card
import dspy
import pandas as pd
from autometrics.autometrics import Autometrics
from autometrics.dataset.Dataset import Dataset
from talking import scored, work

JUDGES = 5

task = work()
model = dspy.LM(f"openai/{task['model']}", api_base=task["api_base"], api_key=task["key"], temperature=0, timeout=1800)
rows = [{"id": str(number), **example} for number, example in enumerate(task["train"])]
labels = Dataset(
    dataframe=pd.DataFrame(rows),
    name="labels",
    data_id_column="id",
    input_column="source",
    output_column="response",
    target_columns=["score"],
    ignore_columns=["id"],
    metric_columns=[],
    reference_columns=[],
    task_description=task["wanted"],
)
# The HTML report asks the model for more, and is no part of judging.
autometrics.util.report_card.generate_metric_report_card = lambda **_: {}
fitted = Autometrics(
    metric_generation_configs={"llm_judge": {"metrics_per_trial": JUDGES, "description": "Basic LLM Judge"}},
    seed=task["seed"],
    enable_parallel_evaluation=False,
).run(dataset=labels, target_measure="score", generator_llm=model, judge_llm=model, num_to_regress=JUDGES)
metric = fitted["regression_metric"]

scored(task, lambda example: metric.calculate(example["source"], example["response"]))

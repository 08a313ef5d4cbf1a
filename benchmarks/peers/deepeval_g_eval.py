"""DeepEval's G-Eval; it does not learn from labels."""

from deepeval.metrics import GEval
from deepeval.models import LocalModel
from deepeval.test_case import LLMTestCase
from talking import scored, work

try:
    from deepeval.test_case import SingleTurnParams as Params
except ImportError:
    from deepeval.test_case import LLMTestCaseParams as Params

task = work()
model = LocalModel(model=task["model"], base_url=task["api_base"], api_key=task["key"], temperature=0)
metric = GEval(
    name="Quality",
    criteria=task["wanted"],
    evaluation_params=[Params.INPUT, Params.ACTUAL_OUTPUT],
    model=model,
    async_mode=False,
)


def score(example: dict[str, str]) -> float:
    case = LLMTestCase(input=example["source"], actual_output=example["response"])
    return float(metric.measure(case, _show_indicator=False))


scored(task, score)

"""An MLflow judge, aligned with the labels by MemAlign or by so many steps of SIMBA, or not at all (``judge``)."""

import sys

import mlflow
from mlflow.entities import AssessmentSource
from mlflow.genai.judges import make_judge
from mlflow.genai.judges.optimizers import MemAlignOptimizer, SIMBAAlignmentOptimizer
from talking import scored, work

NAME = "quality"
task = work()
how = sys.argv[1]
model = f"openai:/{task['model']}"
whole = all(float(example["score"]).is_integer() for example in task["train"])
low, high = task["scale"]
judge = make_judge(
    name=NAME,
    instructions=(
        f"{task['wanted']}\nGive a {'whole ' * whole}number from {low:g} (worst) to {high:g} (best).\n\n"
        "Source:\n{{ inputs }}\n\nResponse:\n{{ outputs }}"
    ),
    model=model,
    feedback_value_type=int if whole else float,
    inference_params={"temperature": 0},
)
if how != "judge":
    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    mlflow.set_experiment("alignment")
    source = AssessmentSource(source_type="HUMAN", source_id="people")
    made = []
    for example in task["train"]:
        with mlflow.start_span(name="made") as span:
            span.set_inputs({"source": example["source"]})
            span.set_outputs({"response": example["response"]})
        made.append(span.trace_id)
    mlflow.flush_trace_async_logging()  # a trace has to be stored before a score can be said of it
    for trace_id, example in zip(made, task["train"], strict=True):
        value = int(example["score"]) if whole else float(example["score"])
        mlflow.log_feedback(trace_id=trace_id, name=NAME, value=value, source=source)
    traces = mlflow.search_traces(return_type="list")
    if how == "memalign":
        optimizer = MemAlignOptimizer(reflection_lm=model, embedding_model="openai:/hashed")
    else:
        given = {"num_threads": 1} | ({"max_steps": int(sys.argv[2])} if len(sys.argv) > 2 else {})
        optimizer = SIMBAAlignmentOptimizer(model=model, seed=task["seed"] + 1, simba_kwargs=given)
    judge = judge.align(traces=traces, optimizer=optimizer)

scored(
    task,
    lambda e: judge(inputs={"source": e["source"]}, outputs={"response": e["response"]}).value,
)

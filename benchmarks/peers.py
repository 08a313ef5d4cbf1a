"""Other people's judges on the same server, labels and held-back documents as ours: agreement, coverage and price.

    python benchmarks/peers.py sfres=path/to/sfres.jsonl --documents 44 --lm local --cache ~/.cache/peers

Each peer runs in an environment of its own, made under ``--cache``, through a proxy that counts calls and tokens and
keeps every reply in the journal: a run that is stopped goes on where it was, and ``--peers`` can be given a few at a
time.
Data, documents and splits are chosen as by ``compare.py``, and results written as there, so that ``agreement.py`` can
join both. They hold numbers, ids and settings, never texts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import active_critic as ac
from active_critic.data.examples import group_of
from active_critic.figures_in_words import figure_words
from active_critic.journal import Journal
from active_critic.lm.server import LocalServer
from active_critic.lm.weights import open_weights
from active_critic.meta_evaluation.comparison import labels_of, split_documents
from active_critic.meta_evaluation.splits import Split, plan
from active_critic.stats import agreement

sys.path.insert(0, str(Path(__file__).parent))
import drawing
from recording_proxy import RecordingProxy

SCRIPTS = Path(__file__).parent / "peers"
CONTEXT = 16384
LONGEST = 24 * 3600.0
"""Seconds that one peer may take on one split."""
LONGEST_REPLY = 1500
"""Tokens: several times those of any verdict that came to an end."""
WANTED = "How good is the response to its source, all in all, in the eyes of a careful human reader?"
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_DISABLE_PROGRESS_BAR": "YES",
    "DEEPEVAL_PER_ATTEMPT_TIMEOUT_SECONDS_OVERRIDE": "1800",
    "DEEPEVAL_PER_TASK_TIMEOUT_SECONDS_OVERRIDE": "5400",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_GENAI_OPTIMIZE_MAX_WORKERS": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "DO_NOT_TRACK": "1",
    "NO_PROXY": "127.0.0.1,localhost",
}
"""No telemetry, one call at a time, no peer that gives up on a slow model, and no proxy before loopback."""


@dataclass(frozen=True)
class Peer:
    """A peer: what to install, which script runs it with which arguments, and whether it learns from labels."""

    requires: tuple[str, ...]
    script: str
    arguments: tuple[str, ...] = ()
    learns: bool = True


_MLFLOW = ("mlflow==3.17.2", "dspy==3.1.0", "litellm>=1.65.8,!=1.82.7,!=1.82.8")
_AUTOMETRICS = ("autometrics-ai==0.1.0", "dspy==3.1.0", "scikit-learn==1.7.2")  # later ones refuse judges of one name
PEERS = {
    "deepeval-g-eval": Peer(("deepeval==4.3.1",), "deepeval_g_eval.py", learns=False),
    "mlflow-judge": Peer(_MLFLOW, "mlflow_align.py", ("judge",), learns=False),
    "mlflow-memalign": Peer(_MLFLOW, "mlflow_align.py", ("memalign",)),
    "mlflow-simba": Peer(_MLFLOW, "mlflow_align.py", ("simba",)),
    "mlflow-simba-2-steps": Peer(_MLFLOW, "mlflow_align.py", ("simba", "2")),  # of eight
    "autometrics": Peer(_AUTOMETRICS, "autometrics_run.py"),
    "autometrics-without-mipro": Peer(_AUTOMETRICS, "autometrics_run.py", ("without-mipro",)),
}


def main() -> None:
    args = _arguments()
    cache = Path(args.cache).expanduser().resolve()
    if cache.is_relative_to(Path(__file__).resolve().parents[1]):
        sys.exit("--cache must be a folder outside the repository: environments are made in it")
    pythons = {name: environment(PEERS[name].requires, cache) for name in args.peers}
    with served(args) as (api_base, key, model, identity), Journal(args.journal) as journal:
        for named in args.data:
            name, _, path = named.partition("=")
            data = drawing.draw(drawing.read(path, args), args)
            splits, notes = plan(
                data, train=args.train, repeats=args.repeats, seed=args.seed, test_documents=args.test_documents
            )
            seed = f"_seed{args.seed}" if args.seed else ""
            stem = Path(args.out) / f"peers_{name}_{model}{seed}"
            stem.parent.mkdir(parents=True, exist_ok=True)
            asked = {
                "name": name,
                "model": model,
                "drawn": drawing.drawn(args),
                "settings": {"train": args.train, "repeats": args.repeats, "test_documents": args.test_documents,
                             "seed": args.seed, "wanted": args.wanted},
                "splits": split_documents(splits, data),
                "notes": notes,
                "python": platform.python_version(),
            }  # fmt: skip
            document = earlier(stem.with_name(f"{stem.name}.json"), asked, splits, data)
            for peer in args.peers:
                runs = []
                for split in splits:
                    whose = f"{identity}\n{peer}\n{split.repeat}"
                    with RecordingProxy(api_base, key, journal, whose, args.longest) as proxy:
                        runs.append(ran(PEERS[peer], pythons[peer], proxy, model, data, split, args))
                lines = [line for run in runs for line in run["lines"]]
                for row, line in zip(document["predictions"], lines, strict=True):
                    row[peer] = line.get("score")
                others = [method for method in document["methods"] if method["name"] != peer]
                found = figures(PEERS[peer], runs, data, splits, args.seed)
                bounds = {"context": args.context, "longest": args.longest}
                document["methods"] = [*others, {"name": peer, **found, **bounds}]
                stem.with_name(f"{stem.name}.json").write_text(json.dumps(document, indent=1) + "\n")
                stem.with_name(f"{stem.name}.md").write_text(table(document))
            print(f"\n{table(document)}", flush=True)


def earlier(path: Path, asked: dict[str, Any], splits: Sequence[Split], data: ac.Examples) -> dict[str, Any]:
    """The results of an earlier run with the same settings, so that peers can be run a few at a time; else none yet."""
    kept = json.loads(path.read_text()) if path.is_file() else {}
    if all(kept.get(name) == value for name, value in json.loads(json.dumps(asked)).items()):
        return dict(kept)
    labels = labels_of(data)
    rows = [
        {
            "example": labels[place],
            "document": group_of(data[place]),
            "repeat": split.repeat,
            "fold": split.fold,
            "human": data[place].score,
        }
        for split in splits
        for place in split.test
    ]
    return {**asked, "methods": [], "predictions": rows}


def environment(requires: Sequence[str], cache: Path) -> Path:
    """The interpreter of an environment with these packages; made when it is not there."""
    folder = cache / "-".join(requires[0].split("=="))
    python, done = folder / "bin" / "python", folder / "made"
    wanted = "\n".join(requires)
    if not done.is_file() or done.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *requires], check=True)
        done.write_text(wanted)
    return python


@contextmanager
def served(args: argparse.Namespace) -> Iterator[tuple[str, str | None, str, str]]:
    """Address, key, name and identity of the model: an embedded one as ``lm serve`` runs it, or a server's."""
    if args.api_base:
        yield args.api_base, os.environ.get(args.api_key_env), args.lm, f"{args.lm} at {args.api_base}"
        return
    path, sha256, model = open_weights(args.lm)
    name = model.name if model else path.stem
    with LocalServer(path, alias=name, context=args.context) as server:
        yield server.api_base, server.api_key, name, f"{name} {sha256} {server.context}"


def ran(
    peer: Peer, python: Path, proxy: RecordingProxy, model: str, data: ac.Examples, split: Split,
    args: argparse.Namespace,
) -> dict[str, Any]:  # fmt: skip
    """One peer on one split: its scores, why the others are missing, and what the proxy counted."""

    if data.scale is None:
        sys.exit("the data has no scale: give one with --scale")

    def shown(places: Sequence[int]) -> list[dict[str, Any]]:
        return [{"source": data[i].source or "", "response": data[i].response} for i in places]

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scores.jsonl"
        task = {
            "api_base": proxy.api_base,
            "model": model,
            "key": "none",
            "wanted": args.wanted,
            "scale": [data.scale.low, data.scale.high],
            "seed": args.seed + split.repeat,
            "train": [{**e, "score": data[i].score} for e, i in zip(shown(split.train), split.train, strict=True)],
            "test": shown(split.test),
            "out": str(out),
        }
        done = subprocess.run(
            [python, SCRIPTS / peer.script, *peer.arguments],
            input=json.dumps(task), text=True, cwd=folder, env=_environment(folder, proxy.api_base),
            stdout=sys.stderr, timeout=LONGEST, check=False,
        )  # fmt: skip
        lines = [json.loads(line) for line in out.read_text().splitlines()] if out.is_file() else []
    failed = done.returncode != 0 or len(lines) < len(split.test)
    reason = f"the peer ended with exit code {done.returncode}" if failed else ""
    lines += [{"unscored": reason}] * (len(split.test) - len(lines))
    return {"lines": lines, "failed": failed, "fit": dict(proxy.used["fit"]), "test": dict(proxy.used["test"])}


def _environment(folder: str, api_base: str) -> dict[str, str]:
    """What the peer's process sees: no key of the user's, no home, no cache of an earlier run."""
    ours = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    return {
        **ours, **QUIET, "HOME": folder, "TMPDIR": folder, "DSPY_CACHEDIR": f"{folder}/dspy",
        "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": api_base, "OPENAI_API_BASE": api_base,
    }  # fmt: skip


def figures(
    peer: Peer, runs: Sequence[Mapping[str, Any]], data: ac.Examples, splits: Sequence[Split], seed: int
) -> dict[str, Any]:
    """Agreement over all splits with intervals over documents, coverage, and what was used."""
    where = [(number, data[place]) for number, split in enumerate(splits) for place in split.test]
    lines = [line for run in runs for line in run["lines"]]
    found = agreement(
        [line.get("score") for line in lines],
        [float(example.score or 0.0) for _, example in where],
        [group_of(example) for _, example in where],
        parts=[number for number, _ in where],
        seed=seed,
    )
    reasons: dict[str, int] = {}
    for line in lines:
        if "unscored" in line:
            reasons[line["unscored"]] = reasons.get(line["unscored"], 0) + 1
    return {
        "requires": list(peer.requires),
        "learns": peer.learns,
        "agreement": found.to_dict(),
        "unscored": reasons,
        "failed_splits": sum(run["failed"] for run in runs),
        "fit": _sum(run["fit"] for run in runs),
        "scoring": _sum(run["test"] for run in runs),
    }


def _sum(counted: Iterator[Mapping[str, int]]) -> dict[str, Any]:
    total = dict.fromkeys(
        ("calls", "refused", "replayed", "embeddings", "prompt_tokens", "completion_tokens", "milliseconds"), 0
    )
    for used in counted:
        for name, count in used.items():
            total[name] += count
    return {**total, "seconds": total.pop("milliseconds") / 1000}


def table(document: Mapping[str, Any]) -> str:
    """The Markdown table of one data set."""
    splits, seed = document["splits"], document["settings"]["seed"]
    title = (
        f"**{document['name']}**, {document['model']}: labels for learning {len(splits[0]['train'])}, tested on "
        f"{len(splits[0]['test'])}{f', {len(splits)} times' if len(splits) > 1 else ''}, seed {seed}"
    )
    columns = ["peer", "learns", "Pearson", "Spearman", "Kendall", "mean of three", "scored"]
    columns += [f"{what} fit / test" for what in ("calls", "tokens", "seconds")]
    rows = [title, "", f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns)]
    for peer in document["methods"]:
        a, fit, test = peer["agreement"], peer["fit"], peer["scoring"]
        cells = [peer["name"], "yes" if peer["learns"] else "no"]
        cells += [figure_words(a[kind], a[f"{kind}_interval"]) for kind in ("pearson", "spearman", "kendall", "mean")]
        cells += [f"{a['n']}/{a['total']}", f"{fit['calls']} / {test['calls']}"]
        cells += [" / ".join(f"{(u['prompt_tokens'] + u['completion_tokens']) / 1000:.1f}k" for u in (fit, test))]
        cells += [f"{fit['seconds']:.0f} / {test['seconds']:.0f}"]
        rows.append(f"| {' | '.join(cells)} |")
    said = [
        f"- {peer['name']} left {sum(peer['unscored'].values())} unscored: "
        + ", ".join(f"{reason} ({count})" for reason, count in peer["unscored"].items())
        for peer in document["methods"]
        if peer["unscored"]
    ]
    said += [
        f"- {peer['name']}: {peer[phase]['refused']} calls of its {phase} were refused, as by a context too short"
        for peer in document["methods"]
        for phase in ("fit", "scoring")
        if peer[phase]["refused"]
    ]
    said += [
        f"- {peer['name']}: a reply that it sets no bound to ends "
        + (f"after {peer['longest']:,} tokens" if "longest" in peer else f"with a context of {peer['context']:,}")
        for peer in document["methods"]
    ]
    return "\n".join([*rows, "", *said, ""])


def _arguments() -> argparse.Namespace:
    parser = drawing.splitting(
        drawing.options(__doc__, lm="an embedded model (its own server is used), or the model of --api-base")
    )
    parser.set_defaults(context=CONTEXT, journal="benchmarks/results/peers_journal.sqlite")
    parser.add_argument("--cache", required=True, help="folder for the peers' environments, outside the repository")
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=PEERS, metavar="NAME")
    parser.add_argument("--api-key-env", default="OPENAI_API_KEY", metavar="VARIABLE")
    parser.add_argument("--wanted", default=WANTED, help="what the judges are told to judge; ours find that out")
    parser.add_argument("--longest", type=int, default=LONGEST_REPLY, help="tokens of a reply no peer sets a bound to")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--out", default="benchmarks/results")
    return parser.parse_args()


if __name__ == "__main__":
    main()

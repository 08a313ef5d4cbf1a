"""What a comparison of evaluators found: figures a method, differences with p-values, prices, and what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from active_critic.data.examples import Examples, describe_rows, group_of
from active_critic.demo_search import MIN_COVERAGE
from active_critic.errors import FitError
from active_critic.figures_in_words import figure_words, how_many
from active_critic.meta_evaluation.splits import Split
from active_critic.reasons import counted
from active_critic.records import Usage
from active_critic.stats import Agreement, Difference
from active_critic.stats.correlation import COEFFICIENTS
from active_critic.stats.resampling import ALPHA

FLOOR = "surface"
"""The method that needs no model: what length, overlap and repetition alone reach."""
OURS = "active-critic"
"""The kind of evaluator that is never the baseline that is chosen, whatever a method of this kind is called."""
_COLUMNS = ("example", "id", "row", "document", "system", "repeat", "fold", "human")
_WHY = "_unscored"


def check_names(names: Sequence[str]) -> None:
    """Make sure that every method has a column of its own among the predictions.

    Raises:
        FitError: A name is empty, or that of another column.
    """
    taken = {*_COLUMNS, *(f"{name}{_WHY}" for name in names)}
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise FitError(f"the name of a method is a text, not {name!r}")
        if name in taken:
            raise FitError(f"no method can be called {name!r}: predictions have a column of that name; give it another")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a method has no scores in a split.

    Attributes:
        split: Position of the split.
        stage: ``"fit"`` or ``"scoring"``.
        error: Name of the error's class.
        reason: Its message.
    """

    split: int
    stage: str
    error: str
    reason: str


@dataclass(frozen=True, slots=True)
class Compared:
    """A difference to another method.

    Attributes:
        to: The other method.
        difference: By how much this one agrees better with people.
        p_holm: Its p, corrected for all differences of the comparison (Holm); None where there is no p.
    """

    to: str
    difference: Difference
    p_holm: float | None

    @property
    def ahead(self) -> bool:
        """Whether this method agrees better, by more than chance could explain."""
        delta = self.difference.delta
        return delta is not None and delta > 0 and self.p_holm is not None and self.p_holm < ALPHA

    @property
    def behind(self) -> bool:
        """Whether this method agrees worse, by more than chance could explain."""
        delta = self.difference.delta
        return delta is not None and delta < 0 and self.p_holm is not None and self.p_holm < ALPHA

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {"to": self.to, **self.difference.to_dict(), "p_holm": self.p_holm}


@dataclass(frozen=True, slots=True)
class MethodResult:
    """One method on all splits.

    Attributes:
        name: Its name in this comparison.
        kind: What its programs call their evaluator; None where no fit came to a program.
        parameters: What its first fit ran with.
        signatures: The signature of its program in every split; None where there is none.
        scores: A score on the user's scale for every test example of every split; None where unscored.
        unscored: Why not, by (split, place in its test part).
        agreement: With people, averaged over the splits.
        undefined: Why there is no coefficient, or None.
        mae: Mean absolute error on the user's scale, or None without any score.
        fit, scoring: What it needs by itself, all splits together, whether it was paid for in this run or before.
            ``calls`` are different requests that were answered; what a fit has asked already is not in ``scoring``.
        failures: Splits in which it could not be fitted, or did not score.
        notes: What its fits had to say.
        over_baseline, over_floor: Differences to the baseline and to the surface floor, or None.
    """

    name: str
    kind: str | None
    parameters: dict[str, Any]
    signatures: tuple[str | None, ...]
    scores: tuple[tuple[float | None, ...], ...]
    unscored: dict[tuple[int, int], str]
    agreement: Agreement
    undefined: str | None
    mae: float | None
    fit: Usage
    scoring: Usage
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    over_baseline: Compared | None = None
    over_floor: Compared | None = None

    @property
    def whole(self) -> bool:
        """Whether its figures rest on all splits, 90 % of the examples and, within documents, half of these."""
        found = self.agreement
        most = found.coverage >= MIN_COVERAGE and 2 * found.units >= found.units_total
        return not self.failures and most and found.parts == found.parts_total

    @property
    def needs(self) -> Usage:
        """Fit and scoring together."""
        return self.fit + self.scoring

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values, without the single scores."""
        return {
            "name": self.name,
            "kind": self.kind,
            "parameters": self.parameters,
            "signatures": list(self.signatures),
            "agreement": self.agreement.to_dict(),
            "undefined": self.undefined,
            "mae": self.mae,
            "over_baseline": self.over_baseline.to_dict() if self.over_baseline else None,
            "over_floor": self.over_floor.to_dict() if self.over_floor else None,
            "fit": self.fit.to_dict(),
            "scoring": self.scoring.to_dict(),
            "unscored": counted(self.unscored.values()),
            "failures": [asdict(failure) for failure in self.failures],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several methods on the same examples, splits and language model: by name as in a mapping, ``found["surface"]``.

    Attributes:
        data: The examples.
        splits: What was fitted on and tested on.
        methods: The results, in the order that was asked for.
        baseline: The method that all are compared with, or None.
        baseline_chosen: Whether it was chosen as the best one on these very examples, and not named by the user.
        model, weights: The language model's name and the sha256 of its weights; None where none was needed.
        probing: What it cost to find out what the model can do, once for all methods.
        settings: Of the comparison: splits, seed, level, resamples, budget.
        data_sha256: Hash over the examples' texts and scores.
        versions: Of the packages.
        notes: What should be known about data and splits.
    """

    data: Examples
    splits: tuple[Split, ...]
    methods: tuple[MethodResult, ...]
    baseline: str | None
    baseline_chosen: bool
    model: str | None
    weights: str | None
    probing: Usage
    settings: dict[str, Any]
    data_sha256: str
    versions: dict[str, str]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> MethodResult:
        for method in self.methods:
            if method.name == name:
                return method
        raise KeyError(f"there is no method {name!r}; there are {', '.join(self)}")

    def __iter__(self) -> Iterator[str]:
        return (method.name for method in self.methods)

    def __len__(self) -> int:
        return len(self.methods)

    def __contains__(self, name: object) -> bool:
        return any(method.name == name for method in self.methods)

    def __str__(self) -> str:
        return "\n".join(self.words)

    def __repr__(self) -> str:
        what = f"{len(self.methods)} methods on {len(self.data)} examples"
        return f"<{type(self).__name__}: {what}; print() says what came of it>"

    @property
    def words(self) -> tuple[str, ...]:
        """What the figures say, in plain sentences, favourable or not."""
        measured = [method for method in ranked(self.methods) if method.agreement.mean is not None]
        said = [*self._best(measured), *self._floor(measured)]
        for method in self.methods:
            missing = method.agreement.total - method.agreement.n
            if method.failures:
                first = method.failures[0]
                where = f"failed in its {first.stage}"
                if len(self.splits) > 1:
                    where = f"failed in {len(method.failures)} of {len(self.splits)} splits, first in its {first.stage}"
                said.append(f"{method.name} {where}: {first.reason}")
            elif method.undefined:
                said.append(f"{method.name} has no coefficient: {method.undefined}.")
            elif missing:
                said.append(
                    f"{method.name} left {missing:,} of {method.agreement.total:,} examples "
                    f"unscored{self._no_interval(method.agreement)}."
                )
            if not method.failures and (constant := let_off(method.agreement)):
                said.append(f"{method.name} {constant}.")
        return tuple(said)

    def _no_interval(self, found: Agreement) -> str:
        """Why a method that left examples unscored has no interval, where others have one."""
        if found.mean_interval or not any(method.agreement.mean_interval for method in self.methods):
            return ""
        return f", and has no interval: what it scored is of {how_many(found.groups, 'document')}"

    def _best(self, measured: Sequence[MethodResult]) -> list[str]:
        if not measured:
            return ["No method could be measured."]
        best = max(measured, key=lambda method: method.agreement.mean or 0.0)
        scored = f"of {best.agreement.n:,} of {best.agreement.total:,} examples only"
        rests = scored if best.agreement.coverage < MIN_COVERAGE else "not on all that was tested"
        few = "" if best.whole else f", but {rests}"
        figure = figure_words(best.agreement.mean, best.agreement.mean_interval)
        said = [f"{best.name} has the highest mean of the three correlations with people, {figure}{few}."]
        if (best.agreement.mean or 0) <= 0:
            said = ["No method agrees with people: no mean of the three correlations is above 0."]
        compared = [method for method in measured if method.over_baseline is not None]
        if self.baseline is None or not compared:
            return said
        if not self.settings["resamples"]:
            return [*said, "Whether differences are more than chance was not tested: that takes resamples."]
        ahead = [method for method in compared if method.over_baseline and method.over_baseline.ahead]
        behind = [method.name for method in compared if method.over_baseline and method.over_baseline.behind]
        rest = [method.name for method in compared if method not in ahead and method.name not in behind]
        if ahead:
            named = ", ".join(method.name if method.whole else f"{method.name} (see below)" for method in ahead)
            said.append(f"By more than chance could explain, better than {self.baseline}: {named}.")
        else:
            said.append(f"Nothing is better than {self.baseline} by more than chance could explain.")
        if behind:
            said.append(f"By more than chance could explain, worse than {self.baseline}: {', '.join(behind)}.")
        if rest:
            said.append(f"Not to be told from {self.baseline} on these examples: {', '.join(rest)}.")
        if self.baseline_chosen:
            partly = any(not method.whole for method in self.methods)
            of = (
                f"of those that scored {MIN_COVERAGE:.0%} in all splits "
                if partly and self[self.baseline].whole
                else ""
            )
            said.append(
                f"{self.baseline} is the baseline because it is the best one {of}on these very examples, which favours "
                "it; --against NAME fixes another beforehand."
            )
        return said

    def _floor(self, measured: Sequence[MethodResult]) -> list[str]:
        compared = [method for method in measured if method.over_floor is not None]
        if not compared or self.baseline == FLOOR or not self.settings["resamples"]:
            return []
        beats = [method.name for method in compared if method.over_floor and method.over_floor.ahead]
        others = [method.name for method in compared if method.name not in beats]
        if not beats:
            tried = ", ".join(others)
            return [f"Nothing beats the surface floor by more than chance could explain; compared with it: {tried}."]
        said = [f"Beat the surface floor by more than chance could explain: {', '.join(beats)}."]
        return [*said, f"Not shown to beat it: {', '.join(others)}."] if others else said

    def to_dict(self) -> dict[str, Any]:
        """The comparison as one JSON document; see ``docs/compare.md``."""
        return {
            "data": data_document(self.data, self.data_sha256),
            "model": self.model,
            "weights": self.weights,
            "versions": self.versions,
            "settings": self.settings,
            "splits": split_documents(self.splits, self.data),
            "methods": [method.to_dict() for method in self.methods],
            "baseline": self.baseline,
            "baseline_chosen": self.baseline_chosen,
            "probing": self.probing.to_dict(),
            "words": list(self.words),
            "notes": list(self.notes),
        }

    @property
    def labels(self) -> list[str]:
        """What examples are called: their ids where these are there and differ, else their rows."""
        return labels_of(self.data)

    def table(self) -> list[dict[str, Any]]:
        """One flat record a method, for CSV; None where something is not defined."""
        return [_flat(method) for method in self.methods]

    def predictions(self) -> list[dict[str, Any]]:
        """One flat record for every test example of every split: what people said, and each method's score.

        A method's column is called as it is; ``NAME_unscored`` says why there is no score. ``id`` and ``row`` are the
        example's own, ``example`` the one of them by which examples are told apart (see ``labels``).
        """
        labels = self.labels
        records = []
        for number, split in enumerate(self.splits):
            for place, index in enumerate(split.test):
                example = self.data[index]
                record = {
                    "example": labels[index],
                    "id": example.id,
                    "row": example.row or index + 1,
                    "document": group_of(example),
                    "system": example.system,
                    "repeat": split.repeat,
                    "fold": split.fold,
                    "human": example.score,
                }
                for method in self.methods:
                    record[method.name] = method.scores[number][place]
                    record[f"{method.name}{_WHY}"] = method.unscored.get((number, place))
                records.append(record)
        return records


def labels_of(data: Examples) -> list[str]:
    """What examples are called: their ids where these are there and differ, else their rows."""
    ids = [example.id for example in data]
    named = [name for name in ids if name is not None]
    if len(named) == len(set(named)) == len(ids):
        return named
    return [f"row {example.row or place}" for place, example in enumerate(data, 1)]


def ids_note(data: Examples) -> list[str]:
    """Why examples are called by their rows although there are ids; nothing where they are not, or there are none."""
    rows: dict[str | None, list[int]] = {}
    for place, example in enumerate(data, 1):
        rows.setdefault(example.id, []).append(example.row or place)
    shared = next((name for name, of in rows.items() if name is not None and len(of) > 1), None)
    if set(rows) == {None} or (shared is None and None not in rows):
        return []
    why = f"{describe_rows(rows[None])}: no id" if shared is None else f"{describe_rows(rows[shared])}: id {shared!r}"
    return [f"examples are named by their rows, not by their ids, which do not tell all of them apart ({why})"]


def split_documents(splits: Sequence[Split], data: Examples) -> list[dict[str, Any]]:
    """The splits as plain JSON values, with what the examples are called."""
    labels = labels_of(data)
    return [
        {
            "repeat": split.repeat,
            "fold": split.fold,
            "train": [labels[i] for i in split.train],
            "test": [labels[i] for i in split.test],
        }
        for split in splits
    ]


def data_document(data: Examples, sha256: str) -> dict[str, Any]:
    """What examples were used, as plain JSON values."""
    return {
        "path": data.path and PurePath(data.path).name,  # a result that is passed on need not tell the folder
        "sha256": sha256,
        "examples": len(data),
        "documents": len({group_of(example) for example in data}),
        "scale": None if data.scale is None else str(data.scale),
    }


def let_off(found: Agreement) -> str:
    """On what the figures do not rest because all scores there are the same; empty where they rest on everything."""
    if found.mean is None:
        return ""
    said = []
    if missing := found.parts_total - found.parts:
        said.append(f"{missing:,} of {found.parts_total:,} test parts")
    if missing := found.units_total - found.units:
        said.append(f"{missing:,} of {found.units_total:,} documents in which people's scores differ")
    where = "where all scores are the same, and which therefore do not count"
    return f"is measured without {' and '.join(said)}, {where}" if said else ""


def ranked(methods: Sequence[MethodResult]) -> list[MethodResult]:
    """Best agreement first; then those whose figures rest on fewer examples (``whole``); then those without any."""
    return sorted(methods, key=lambda m: (m.agreement.mean is None, not m.whole, -(m.agreement.mean or 0.0)))


def _flat(method: MethodResult) -> dict[str, Any]:
    found = method.agreement
    record: dict[str, Any] = {"method": method.name}
    for name in COEFFICIENTS:
        record[name] = getattr(found, name)
        record[f"{name}_low"], record[f"{name}_high"] = getattr(found, f"{name}_interval") or (None, None)
    record |= {"scored": found.n, "total": found.total, "coverage": found.coverage, "mae": method.mae}
    for prefix, compared in (("baseline", method.over_baseline), ("floor", method.over_floor)):
        difference = compared.difference if compared else None
        low, high = (difference.interval if difference else None) or (None, None)
        record |= {
            f"{prefix}": compared.to if compared else None,
            f"{prefix}_delta": difference.delta if difference else None,
            f"{prefix}_low": low,
            f"{prefix}_high": high,
            f"{prefix}_p": difference.p if difference else None,
            f"{prefix}_p_holm": compared.p_holm if compared else None,
        }
    for stage, used in (("fit", method.fit), ("scoring", method.scoring)):
        record |= {f"{stage}_{name}": value for name, value in used.to_dict().items() if name != "replayed"}
    reasons = [failure.reason for failure in method.failures] or ([method.undefined] if method.undefined else [])
    record["reason"] = reasons[0] if reasons else None
    return record

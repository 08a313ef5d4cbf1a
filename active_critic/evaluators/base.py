"""What every evaluator does: fit on scored examples, score one text or many, save."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, Self

from active_critic import store
from active_critic.errors import EndpointDown, FitError, RateLimited
from active_critic.examples import Examples
from active_critic.files import BadRow
from active_critic.journal import Journal, default_path
from active_critic.lm import LanguageModel, open_lm
from active_critic.records import Example, Order, Protocol, Reading, Scale, Verdict
from active_critic.scoring import Scorer

WINDOW = 256
"""Items read ahead, so that those with the same source can be scored one after the other."""
GIVE_UP_AFTER = 5
"""Failures of the endpoint in a row after which a run stops instead of leaving the rest unscored."""

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is at most (0 when not known)."""


class Evaluator(ABC):
    """Judges texts by a protocol that ``fit`` makes and ``save`` writes.

    ``__init__`` only stores its parameters; ``fit`` returns the evaluator itself and a second ``fit`` forgets the
    first; what fitting found ends in an underscore.

    Args:
        lm: The language model, or whatever :func:`active_critic.lm.open_lm` takes; opened when first needed.
        journal: Where replies are kept: a path, ``"default"`` (the user's data folder), or None to keep none.

    Attributes:
        protocol_: The program, once fitted or loaded.
    """

    kind: str

    def __init__(
        self, lm: LanguageModel | str | Any = "local", *, journal: str | Path | Literal["default"] | None = "default"
    ) -> None:
        self.lm = lm
        self.journal = journal
        self.protocol_: Protocol | None = None
        self._model: LanguageModel | None = None
        self._journal: Journal | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the journal and stop the embedded model, if this evaluator opened them. Safe to call twice."""
        if self._model is not None and self._journal is not None:
            if self._model.memory is self._journal:
                self._model.memory = None
            self._journal.close()
            self._journal = None
        if self._model is not None and self._model is not self.lm:
            self._model.close()
            self._model = None

    @property
    def model(self) -> LanguageModel:
        """The opened language model, with the journal as its memory."""
        if self._model is None:
            self._model = open_lm(self.lm)
        if self._model.memory is None and self.journal is not None:
            self._journal = Journal(default_path() if self.journal == "default" else self.journal)
            self._model.memory = self._journal
        return self._model

    @abstractmethod
    def fit(
        self,
        examples: Any,
        *,
        fields: Mapping[str, str] | None = None,
        scale: Scale | str | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from scored examples.

        Args:
            examples: Whatever :func:`active_critic.read_examples` takes.
            fields: Column by field, where the names are not recognised.
            scale: The scale of the human scores; inferred, and said, when not given.
            progress: See :data:`Progress`.

        Raises:
            DataError: The examples cannot be used.
            FitError: They can be read, but not fitted on.
            ModelError: The language model cannot be used.
        """

    @property
    def fitted(self) -> Protocol:
        """The program.

        Raises:
            FitError: There is none yet.
        """
        if self.protocol_ is None:
            raise FitError(f"this {type(self).__name__} is not fitted yet; call fit() first, or load() a saved one")
        return self.protocol_

    @property
    def signature(self) -> str:
        """Names everything that a score depends on: ``evaluator|mode|model|demos:sha|reading|seed|version``."""
        program = self.fitted
        demos = sha256("".join(demo.example_id for demo in program.demos).encode()).hexdigest()[:8]
        reading = program.reading
        return (
            f"{program.evaluator}|{program.mode}|{program.provenance.model}"
            f"|demos:{len(program.demos)}:{demos}|levels:{reading.low}-{reading.high}:{reading.source}:{reading.order}"
            f"|seed:{program.provenance.seed}|v{program.provenance.versions.get('active-critic', '?')}"
        )

    def save(self, path: str | Path) -> Path:
        """Write the program as one JSON document, whole or not at all.

        Raises:
            FitError: Not fitted yet.
            OutputError: The file cannot be written.
        """
        return store.save(self.fitted, path)

    def score(self, response: str, source: str = "", *, explain: bool = True) -> Verdict:
        """Score one text on the user's scale.

        Args:
            response: The text to judge.
            source: What it was made from.
            explain: Also explain; the ratings are the same either way.
        """
        return next(self.score_many([Example(response=response, source=source)], explain=explain))

    def score_many(
        self, items: Iterable[Example | BadRow], *, explain: bool = True, progress: Progress | None = None
    ) -> Iterator[Verdict]:
        """Score many texts, as a stream: one verdict an item, in the order of the items, whatever happens to one.

        Items are read ahead in windows of 256, inside which those that share a source are scored one after the other.

        Args:
            items: The texts. Rows that could not be read give an unscored verdict with the reason.
            explain: Also explain; the ratings are the same either way.
            progress: See :data:`Progress`.

        Raises:
            ModelError: The endpoint does not answer at all, or failed five times in a row.
        """
        scorer = Scorer(self.fitted, self.model)
        state = {"answered": False, "in a row": 0}
        done = 0

        def one(entry: Example | BadRow) -> Verdict:
            if isinstance(entry, BadRow):
                return Verdict(unscored=entry.reason)
            try:
                verdict = scorer.verdict(entry.source, entry.response, explain=explain)
            except (EndpointDown, RateLimited) as failure:
                state["in a row"] += 1
                if not state["answered"] or state["in a row"] >= GIVE_UP_AFTER:
                    raise
                return Verdict(unscored=str(failure))
            state["answered"], state["in a row"] = True, 0
            return verdict

        stream = iter(items)
        with ThreadPoolExecutor(max(1, self.model.workers)) as pool:
            try:
                while window := list(itertools.islice(stream, WINDOW)):
                    order = sorted(range(len(window)), key=lambda i: (_source(window[i]), i))
                    verdicts: dict[int, Verdict] = {}
                    for index, verdict in zip(order, pool.map(one, [window[i] for i in order]), strict=True):
                        verdicts[index] = verdict
                        done += 1
                        if progress is not None:
                            progress("scoring", done, 0)
                    yield from (verdicts[i] for i in range(len(window)))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _source(entry: Example | BadRow) -> str:
    return "" if isinstance(entry, BadRow) else entry.source


def default_reading(lm: LanguageModel, order: Order | None = None) -> Reading:
    """The reading for a model: probabilities of 1-5 rated first where it gives them, else a number from 0 to 100.

    Without probabilities the paper's order, reasons first, is the default.
    """
    if lm.capabilities.probabilities:
        return Reading(low=1, high=5, source="probabilities", order=order or "rating_first")
    return Reading(low=0, high=100, source="text", order=order or "reason_first")


def versions() -> dict[str, str]:
    """Versions of the packages that a result depends on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in ("active-critic", "dspy", "litellm", "scipy", "xllamacpp"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def scale_of(examples: Examples) -> Scale:
    """The scale of checked examples."""
    if examples.scale is None:
        raise FitError("the scale of the scores is not known; pass scale=, for example 1..5")
    return examples.scale

"""What every evaluator does: fit on scored examples, score one text or many, save and load."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import orjson

from active_critic import store
from active_critic.bounds import REPEATS
from active_critic.data.cells import plain_value
from active_critic.data.examples import Examples, by_content, check_examples, data_sha256, document_keys, text_key
from active_critic.data.notes import Drawn
from active_critic.data.rows import BadRow
from active_critic.errors import DataError, FitError, ProtocolError
from active_critic.evaluators.given import examples_of, items_of
from active_critic.evaluators.judging import Judge
from active_critic.evaluators.opened import Opened, Unwritten
from active_critic.evaluators.origins import NO_MODEL, as_json, versions
from active_critic.evaluators.parameters import check_flag, check_journal, check_progress, check_whole
from active_critic.evaluators.rounds import rounds
from active_critic.lm import LanguageModel
from active_critic.lm.retrying import ALL_OR_NOTHING
from active_critic.lm.spending import Amounts, as_budget, spending
from active_critic.protocols import Order, Protocol, Provenance, Reading
from active_critic.records import Example, Scale, Usage, Verdict

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is at most (0 when not known)."""
JournalPath = str | Path | Literal["default"] | None
"""Where replies are kept: a path, ``"default"`` (the user's data folder), or None to keep none."""


class Evaluator(ABC):
    """Judges texts by a program that ``fit`` makes and ``save`` writes.

    ``__init__`` only stores its parameters; ``fit`` returns the evaluator itself and a second ``fit`` forgets the
    first; what fitting found ends in an underscore. An evaluator of your own derives from this class, names its
    ``kind`` and its ``document``, and writes ``learn`` and ``judge``; ``check_evaluator`` tells whether it behaves.

    Args:
        lm: The language model, or whatever :func:`active_critic.lm.open_lm` takes; opened when first needed.
        journal: Where replies are kept: a path, ``"default"`` (the user's data folder), or None to keep none. A memory
            that you gave the model (``lm.memory``) takes the place of the last two; the journal of another evaluator on
            the same model does not.

    Attributes:
        protocol_: The program, once fitted or loaded.
    """

    kind: ClassVar[str]
    """What its programs call it."""
    document: ClassVar[type[Protocol]]
    """The kind of program that it makes and reads."""

    def __init__(self, lm: LanguageModel | str | Any = "local", *, journal: JournalPath = "default") -> None:
        self.lm = lm
        self.journal = journal
        self.protocol_: Any = None
        self._opened = Opened()

    @classmethod
    def load(cls, path: str | Path, lm: Any = None, *, journal: JournalPath = "default") -> Self:
        """Read a program that this kind of evaluator has saved; nothing in it is executed.

        Args:
            path: The file.
            lm: The language model to score with; default: the one that the program was fitted with.
            journal: Where replies are kept.

        Raises:
            ProtocolError: The file is missing, damaged, of a newer format version, or another evaluator's.
        """
        document = store.read(path)
        kind = document.get("evaluator", cls.kind)
        if kind == cls.kind:
            protocol = store.parse(document, cls.document, str(path))
            kind = protocol.evaluator  # what a document says that leaves it out
        if kind != cls.kind:
            other = f"a program of {str(kind)[:40]}, not of {cls.kind}"
            raise ProtocolError(f"{path}: {other}; active_critic.load reads either")
        return cls.from_protocol(protocol, lm, journal=journal)

    @classmethod
    def from_protocol(cls, protocol: Protocol, lm: Any = None, *, journal: JournalPath = "default") -> Self:
        """The evaluator that a program belongs to, with the parameters that it was fitted with, ready to score."""
        made = protocol.provenance
        evaluator = cls(lm if lm is not None else made.model, journal=journal)
        evaluator._opened = Opened(made if lm is None else None)
        for name in evaluator.parameters():
            if name in made.settings:
                setattr(evaluator, name, copy.deepcopy(made.settings[name]))  # what is changed there stays there
        evaluator.protocol_ = protocol
        return evaluator

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {'not fitted' if self.protocol_ is None else self.protocol_.in_short}>"

    def parameters(self) -> dict[str, Any]:
        """The parameters of the constructor, without the language model and the journal."""
        names = [name for name in inspect.signature(type(self).__init__).parameters if name not in _NOT_SETTINGS]
        return {name: getattr(self, name) for name in names}

    def provenance(self, data: Examples, notes: Iterable[str] = (), *, model: bool = True) -> Provenance:
        """Where a program fitted on these examples, now and with these parameters, comes from.

        Args:
            data: What it was fitted on.
            notes: What the user should be told.
            model: Whether a language model is involved.
        """
        drawn = next((note.seed for note in data.notes if isinstance(note, Drawn)), 0)
        return Provenance(
            model=self.model.name if model else NO_MODEL,
            own_address=model and self.model.own_address,
            weights=self.model.weights if model else None,
            seed=getattr(self, "seed", drawn),
            data_sha256=data_sha256(data),
            n_train=len(data),
            fields=dict(data.fields),
            sourced=sum(bool(example.source.strip()) for example in data) if self.learns_from_examples else None,
            fitted_on=tuple(sorted({text_key(example) for example in data})),
            fitted_documents=tuple(sorted({key for example in data for key in document_keys(example)})),
            versions=versions(),
            settings={name: as_json(value) for name, value in self.parameters().items()},
            notes=tuple(dict.fromkeys(notes)),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        named = self.lm is None or isinstance(self.lm, str | LanguageModel)
        return {**self.__dict__, "_opened": copy.copy(self._opened), "lm": self.lm if named else Unwritten(self.lm)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        lm = state["lm"]
        self.__dict__.update(state, lm=lm.lm if isinstance(lm, Unwritten) else lm)

    def close(self) -> None:
        """Close the journal and stop the embedded model, if this evaluator opened them. Safe to call twice."""
        self._opened.close()

    @property
    def model(self) -> LanguageModel:
        """The opened language model; one that it opened itself has the journal as its memory."""
        return self._opened.model(self.lm, self.journal)

    def remembering(self) -> AbstractContextManager[None]:
        """For the length of a ``with`` block, what is asked of a given model is kept in the own journal, and counted.

        What others ask of it at the same time is not. A model that was opened here keeps all in the journal anyway, and
        a memory that was given to the model takes what would go into the default journal.
        """
        return self._opened.remembering(self.lm, self.journal)

    def fit(
        self,
        examples: Any,
        *,
        fields: Mapping[str, str] | None = None,
        scale: Scale | str | tuple[float, float] | list[float] | None = None,
        progress: Progress | None = None,
        budget: Amounts | None = None,
    ) -> Self:
        """Learn from scored examples.

        Args:
            examples: Whatever :func:`active_critic.read_examples` takes; rows without a score are left out. That, and
                what is guessed in reading them (the scale, or which of several columns is meant), is a warning; not so
                of ``Examples`` whose notes say it.
            fields: Column by field, where the names are not recognised.
            scale: The scale of the human scores; inferred, and said, when not given.
            progress: See :data:`Progress`.
            budget: What the fit may spend; see :meth:`spending`.

        Raises:
            DataError: The examples cannot be used, or the budget cannot be read.
            FitError: They can be read, but not fitted on; or a parameter cannot be right.
            ModelError: The language model cannot be used. What it answered before is in the journal: the same fit goes
                on there, and pays for none of it again.
        """
        for name, value in self.parameters().items():
            if getattr(value, "shape", None) == ():  # one of NumPy's: equal to Python's own, but no JSON
                setattr(self, name, plain_value(value))
        self.check()
        check_whole("seed", getattr(self, "seed", 0), 0)
        check_journal(self.journal)
        check_progress(progress)
        allowed = None if budget is None else as_budget(budget)
        learns = self.learns_from_examples
        data = examples_of(examples, fields=fields, scale=scale, scored=learns or scale is None)
        notes = [*data.notes, *(check_examples(data) if learns else ())]
        with self.remembering(), self.spending(allowed), ALL_OR_NOTHING.being(True):
            self.protocol_ = self.learn(by_content(data), notes, progress)
        return self

    @contextmanager
    def spending(self, budget: Amounts | None) -> Iterator[Self]:
        """Spend no more than this for the length of a ``with`` block; a budget of the model itself holds beside it.

        Replies from the journal are free. What is over is refused: a fit keeps what it can or raises ``BudgetSpent``,
        and verdicts are unscored with the reason.

        Args:
            budget: ``"500 calls"``, ``["200k tokens", "2 USD"]`` or a :class:`active_critic.Budget`; None: no limit.

        Raises:
            DataError: The budget cannot be read.
            FitError: No model is asked, so a budget has no meaning.
            ModelError: It limits money, and the model's price is not known.
        """
        if budget is None:
            yield self
            return
        allowed = as_budget(budget)
        with spending(self.model, allowed):
            yield self

    def check(self) -> None:
        """Say which parameter cannot be right, before anything is read or paid for.

        Raises:
            FitError: Names the parameter, its value and what it may be.
        """
        return

    @property
    def learns_from_examples(self) -> bool:
        """Whether fitting takes more from the examples than their scale: then there must be enough of them."""
        return True

    @abstractmethod
    def learn(self, data: Examples, notes: list[str], progress: Progress | None) -> Protocol:
        """Make the program.

        Args:
            data: Scored examples, read and checked, in an order that does not depend on the order of rows.
            notes: What is to be told of them; what learning adds goes into the program's ``provenance``.
            progress: See :data:`Progress`.

        Raises:
            FitError: They cannot be fitted on.
            ModelError: The language model cannot be used.
        """

    @property
    def fitted(self) -> Any:
        """The program.

        Raises:
            FitError: There is none yet.
        """
        if self.protocol_ is None:
            raise FitError(f"this {type(self).__name__} is not fitted yet; call fit() first, or load() a saved one")
        return self.protocol_

    @property
    def usage(self) -> Usage:
        """What was spent so far: of a model that several share, this evaluator's part; also of one that is closed.

        Opens no model. For what single items took, add up the ``usage`` of their verdicts.
        """
        return self._opened.usage

    @property
    def signature(self) -> str:
        """Names everything that a score depends on: ``evaluator|model|traits|program:sha|seed|version``."""
        program: Protocol = self.fitted
        origin = program.provenance
        content = program.model_dump(mode="json", exclude={"provenance"})
        digest = sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()[:8]
        version = origin.versions.get("active-critic", "?")
        parts = (program.evaluator, origin.model, *program.traits, f"program:{digest}", f"seed:{origin.seed}")
        return "|".join([*parts, f"v{version}"])

    @abstractmethod
    def judge(self) -> Judge:
        """What scores by the program. Made once for a run: what does not change from item to item belongs here."""

    def save(self, path: str | Path) -> Path:
        """Write the program as one JSON document, whole or not at all.

        Raises:
            FitError: Not fitted yet.
            OutputError: The file cannot be written.
        """
        return store.save(self.fitted, path)

    def score(self, response: str, source: str = "", *, explain: bool = True, reference: str | None = None) -> Verdict:
        """Score one text on the user's scale.

        Args:
            response: The text to judge.
            source: What it was made from.
            explain: Also explain; the ratings are the same either way.
            reference: A reference text, for evaluators that compare with one.

        Raises:
            DataError: One of them is no text.
        """
        for name, text in (("response", response), ("source", source), ("reference", reference)):
            if not isinstance(text, str) and not (name == "reference" and text is None):
                raise DataError(f"the {name} is a text, not {type(text).__name__}")
        example = Example(response=response, source=source, reference=reference)
        return next(self.score_many([example], explain=explain))

    def score_many(
        self,
        items: Iterable[Example | BadRow] | Any,
        *,
        explain: bool = True,
        progress: Progress | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Iterator[Verdict]:
        """Score many texts, as a stream: one verdict an item, in the order of the items, whatever happens to one.

        Items are read ahead in windows of 256, inside which those that share a source are scored one after the other:
        the first verdict comes when a window, or all there is, is scored. Give fewer at a time where that is too many
        to pay for at once.

        Args:
            items: Examples, or whatever ``iter_examples`` reads: a path, a DataFrame, a Dataset, mappings. Rows that
                could not be read give an unscored verdict with the reason.
            explain: Also explain; the scores are the same either way. Where the rating has no part in the score, it is
                asked for with an explanation only, and only then is a text without one unscored.
            progress: See :data:`Progress`.
            fields: Column by field, where items are read (``{"source": "question"}``); columns that the fit read are
                read again where they are there. What should be known of the columns that are taken for response, source
                and reference is a warning.

        Raises:
            DataError: They cannot be read at all, or ``fields`` are given for examples.
            FitError: Not fitted yet, or ``explain`` is not True or False, or ``progress`` cannot be called.
            ModelError: The endpoint does not answer at all, or failed five times in a row, or its first twenty replies
                cannot be read or are refusals, all of them, or fifty in a row cannot be read later on; a note says how
                to go on.
        """
        read = items_of(items, fields, self.fitted.provenance.fields)
        for first, *_ in self.score_repeatedly(read, 1, explain=explain, progress=progress):
            yield first

    def score_repeatedly(
        self,
        items: Iterable[Example | BadRow],
        times: int,
        *,
        explain: bool = True,
        progress: Progress | None = None,
    ) -> Iterator[tuple[Verdict, ...]]:
        """Score many texts so many times, each time by asking anew; as :meth:`score_many` otherwise.

        All of it is one run: what was answered in one window, or round of it, counts in the next.

        Args:
            items: The texts.
            times: How often; more than once only where a model is asked.
            explain: See :meth:`score_many`.
            progress: See :data:`Progress`.

        Raises:
            FitError: As in :meth:`score_many`, or ``times`` is no whole number from 1 to ``bounds.REPEATS``.
            ModelError: As in :meth:`score_many`.
        """
        times = check_whole("times", times, 1, REPEATS)
        check_flag("explain", explain)
        check_progress(progress)
        with self.remembering():
            judge = self.judge()
        made = self.fitted.provenance
        return rounds(
            judge,
            iter(items),
            times,
            lm=None if made.model == NO_MODEL else self.model,
            made=made,
            remembering=self.remembering,
            explain=explain,
            progress=progress,
        )


_NOT_SETTINGS = {"self", "lm", "journal"}


def default_reading(lm: LanguageModel, order: Order | None = None) -> Reading:
    """The reading for a model: probabilities of 1-5 rated first where it gives them, else a number from 0 to 100.

    Without probabilities the paper's order, reasons first, is the default.
    """
    if lm.capabilities.probabilities:
        return Reading(low=1, high=5, source="probabilities", order=order or "rating_first")
    return Reading(low=0, high=100, source="text", order=order or "reason_first")


def scale_of(examples: Examples) -> Scale:
    """The scale of checked examples."""
    if examples.scale is None:
        raise FitError("the scale of the scores is not known; pass scale=, for example 1..5")
    return examples.scale

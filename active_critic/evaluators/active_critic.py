"""Active-Critic: infer the task and the criteria, then find the demonstrations that agree with people most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, Self, get_args

from active_critic.bounds import TRIED
from active_critic.calibration import SHOWN, Calibration, percent
from active_critic.data.examples import Examples
from active_critic.demo_search import CANDIDATES, Candidate, DemoSearch, Sampling, Search, demo_count
from active_critic.errors import BudgetSpent, FitError
from active_critic.evaluators._anyhow import UNKNOWN_PRAISE, asks
from active_critic.evaluators._combining import Combiner, expected_of, words
from active_critic.evaluators._discounting import discounting, discounts
from active_critic.evaluators._fit_bill import Bill
from active_critic.evaluators._further import FurtherReadings
from active_critic.evaluators._readings import FURTHER, READINGS, Combination, Use, readings_for
from active_critic.evaluators.base import Evaluator, JournalPath, Progress, default_reading, scale_of
from active_critic.evaluators.critic_judge import CriticJudge
from active_critic.evaluators.fit_report import FitReport, make_report
from active_critic.evaluators.judging import Judge
from active_critic.evaluators.parameters import check_flag, check_task, check_whole, given_criteria
from active_critic.inference import MAX_BATCHES, infer
from active_critic.lm import LanguageModel
from active_critic.protocols import CriticProtocol, Mode, Order, Protocol, Reading
from active_critic.records import Criterion
from active_critic.refining import refine
from active_critic.scoring import Scorer

UNTOLD = "It is not known what the task is; the examples have to show it."
"""What stage 1 is told in place of a task description when that is left out."""

MADE_FROM_ALL = (
    "the {} made from all examples fitted on, those of held-out folds included: the agreement on these folds may be a "
    "little too high; that on examples which no fit saw (--train 0.5 --rest FILE) is not"
)

TOO_FEW_RATED = "the score is read without the rating: before the budget was spent, too few examples were rated"

NOTHING_COMBINED = (
    "the score is the rating as it is, without an interval: before the budget was spent, too few examples "
    "were rated to combine it with anything, or to bring it to your scale"
)

NOT_WIDENED = (
    "the intervals do not count with the choice of demonstrations, which only the report's held-out folds can tell: "
    "in a simulation those of 90 % held 85 to 86 % of the time; a fit with the report widens them"
)

UNSURE = (
    "verdicts have no interval: too few documents could be scored on the report's held-out folds to say how wide it is"
)

ONE_DOCUMENT = (
    "no demonstrations were tried: all examples are of one document (one source, or one group), and none "
    "is rated beside a demonstration of its own document; where every row is to stand for itself, name a column that "
    "tells rows apart as the group (--fields group=id)"
)


class ActiveCritic(Evaluator):
    """The evaluator of "Large Language Models Are Active Critics in NLG Evaluation".

    Args:
        lm: The language model, or whatever :func:`active_critic.lm.open_lm` takes.
        mode: ``"fine"``: every criterion is rated, then the whole (AC-Fine); ``"coarse"``: the whole at once, with all
            criteria in view (AC-Coarse).
        candidates: Candidate programs in the demo search, the one without demonstrations included.
        demos: Demonstrations in a candidate, exactly; None: 3 for long texts, 8 for short ones, never more than a
            third of the examples.
        sampling: How demonstrations are drawn: ``"stratified"`` over the human scores, or ``"uniform"``.
        levels: The worst and the best rating level, such as ``"1-9"``; or several, ``"1-5,1-9,0-100"``, which
            candidates take in turn, so that the search decides; None: 1-5 where the model gives token probabilities,
            else 0-100.
        search: ``"race"``: clearly worse candidates stop early; ``"full"``: every candidate sees every example, as in
            the paper.
        task_description: Your own; None: inferred; False: the model is not told what the task is (the ablation "without
            task description").
        criteria: Your own; None: inferred.
        max_batches: Mini-batches of five examples read at most, for the task and for the criteria each.
        refinements: Rounds in which the criteria are edited where rating and people differ most, and kept only where
            that helps on the other half of the documents; see ``refining``. Not for given criteria.
        order: ``"rating_first"`` or ``"reason_first"`` (the paper's); ``"both"``: candidates take them in turn, each
            with its own demonstrations, so that the search decides; None: the first where the model gives token
            probabilities, else the second.
        overall_scoring: False: the overall is the mean of the criteria ("without OS-E"); fine mode only.
        explanations: False: the model explains nothing, neither in demonstrations nor in replies.
        use_criteria: Whether the ratings of single criteria have parts in the score beside that of the whole (fine mode
            only): ``"auto"``: those that get a weight, and none without overall scoring; ``"never"``; ``"always"``: all
            of them. They cost nothing more.
        use_approval: Whether the model's answer to "is this a good response?" (one token) has a part in the score
            beside the rating: ``"auto"``: where the model gives token probabilities and it is worth its price;
            ``"never"``; ``"always"``. See ``calibration``.
        use_likelihood: The same for the likelihood of the response given the source.
        use_contrast: The same for how much likelier the response is after texts that people liked than after texts that
            they did not. Not by default: it takes one likelihood more a text, and critics were not seen to gain by it
            (``benchmarks/results/agreement_contrast.md``).
        use_surface: The same for length, overlap and repetition, which cost nothing and can be gamed.
        discount_forgeries: Whether a response of which a part poses as the judge's prompt or reply is judged without
            that part, too, and has the lower score: ``"auto"``: unless an example has such a part; ``"never"``;
            ``"always"``. See ``forgeries``.
        discount_praise: Whether a response that the model calls good under a source that it was not made from, too,
            surer than nearly all examples, counts as no more than the average: ``"auto"``: where the model gives token
            probabilities; ``"never"``; ``"always"``. It takes one short call a text. See ``Calibration.foreign``.
        report: Whether to measure the fit on held-out folds, against zero-shot and the surface floor.
        seed: Of batches, candidates, folds and resampling.
        journal: Where replies are kept; see ``Evaluator``.

    Attributes:
        protocol_: The program.
        report_: The honest report (None with ``report=False``, when loaded, or where the model's budget was spent
            before it was made; the program's notes say so).
        candidates_: Every candidate of the search with its Q, cost and demonstrations, best first.
    """

    kind = "active-critic"
    document = CriticProtocol

    def __init__(
        self,
        lm: LanguageModel | str | Any = "local",
        *,
        mode: Mode = "fine",
        candidates: int = CANDIDATES,
        demos: int | None = None,
        sampling: Sampling = "stratified",
        levels: str | None = None,
        search: Literal["race", "full"] = "race",
        task_description: str | Literal[False] | None = None,
        criteria: Sequence[Criterion] | Mapping[str, str] | None = None,
        max_batches: int = MAX_BATCHES,
        refinements: int = 0,
        order: Order | Literal["both"] | None = None,
        overall_scoring: bool = True,
        explanations: bool = True,
        use_criteria: Use = "auto",
        use_approval: Use = "auto",
        use_likelihood: Use = "auto",
        use_contrast: Use = "never",
        use_surface: Use = "auto",
        discount_forgeries: Use = "auto",
        discount_praise: Use = "auto",
        report: bool = True,
        seed: int = 0,
        journal: JournalPath = "default",
    ) -> None:
        super().__init__(lm, journal=journal)
        self.mode: Mode = mode
        self.candidates = candidates
        self.demos = demos
        self.sampling: Sampling = sampling
        self.levels = levels
        self.search = search
        self.task_description = task_description
        self.criteria = criteria
        self.max_batches = max_batches
        self.refinements = refinements
        self.order: Order | Literal["both"] | None = order
        self.overall_scoring = overall_scoring
        self.explanations = explanations
        self.use_criteria: Use = use_criteria
        self.use_approval: Use = use_approval
        self.use_likelihood: Use = use_likelihood
        self.use_contrast: Use = use_contrast
        self.use_surface: Use = use_surface
        self.discount_forgeries: Use = discount_forgeries
        self.discount_praise: Use = discount_praise
        self.report = report
        self.seed = seed
        self.report_: FitReport | None = None
        self.candidates_: list[Candidate] = []

    def learn(self, data: Examples, notes: list[str], progress: Progress | None) -> CriticProtocol:
        """Infer the task and the criteria, search for demonstrations, and measure. See :meth:`Evaluator.learn`."""
        demo_count(data, self.demos)  # too many are refused before anything is paid for
        with Bill.of(self) as bill:
            return self._learn(data, notes, progress, bill)

    def _learn(self, data: Examples, notes: list[str], progress: Progress | None, bill: Bill) -> CriticProtocol:
        with bill.stage("task inference"):
            readings, said = readings_for(self.model, self._uses)
            notes += said
            asks(self.discount_praise, self.model)  # refused, if so, before anything is paid for
            ways = self._ways()
            protocol = self._inferred(data, ways[0], notes, progress)
        if self.refinements:
            with bill.stage("refinement"):
                refined = refine(protocol, data, self.model, rounds=self.refinements, seed=self.seed, progress=progress)
            protocol = protocol.model_copy(update={"criteria": refined.criteria})
            notes += refined.notes
        # Before the search, which spends what a budget has left: they are cheap, and tell a small model's score most.
        further = FurtherReadings(
            self.model, protocol.criteria, protocol.scale, data, self._uses, self.seed, bill, notes, progress
        )
        further.take(readings)
        anyhow = further.take_anyhow(self.discount_praise)
        settings = DemoSearch(
            candidates=self.candidates,
            demos=self.demos,
            sampling=self.sampling,
            readings=ways,
            race=self.search == "race",
            seed=self.seed,
            progress=progress,
        )
        with bill.stage("demo search"):
            compiled = settings.compile(Scorer(protocol, self.model), trainset=list(data))
        search: Search = compiled.search
        found: list[Candidate] = compiled.candidate_programs
        notes += self._told_of(search, len(found), ways, data)
        combiner = self._combiner(readings, further, search, protocol, notes)
        combiner.anyhow = anyhow
        stopped = further.unpaid[-1] if further.unpaid else search.stopped
        chosen = next(candidate.index for candidate in found if candidate.wins)
        combined, tried = self._combined(combiner, further, chosen, stopped, notes)
        calibration = None if combined is None else combined.calibration
        if calibration is not None:
            # What may make the whole fit worthless stands first.
            notes[:0] = combiner.against_people(chosen) + combiner.unweighed(calibration, fine=self.mode == "fine")
            notes += words(calibration, tried, len(data))
            if anyhow is not None and calibration.foreign is None:
                notes.append(UNKNOWN_PRAISE.format(sum(one is not None for one in anyhow), len(data)))
        report = None
        if self.report and stopped is not None:
            notes.append("the agreement on held-out folds was not measured, for the budget was spent before")
        elif self.report:
            report = self._measured(search, settings, combiner, found, bill, notes)
        if calibration is not None:
            calibration = _honest(calibration, report, len(found) if combiner.rated else 1, notes)
        contrast = further.contrast
        if calibration is None or contrast is None or not contrast.readings & calibration.shares.keys():
            contrast = None
        discounted = discounts(self.discount_forgeries, data, notes)
        document = report.to_dict() if report is not None else {}
        provenance = self.provenance(data, notes).model_copy(update={"report": document})
        self.candidates_, self.report_ = found, report
        return protocol.model_copy(
            update={
                "reading": compiled.protocol.reading,
                "demos": tuple(compiled.rate.demos),
                "calibration": calibration,
                "surface": combined.floor.to_dict() if combined and combined.floor else None,
                "tokens": combined.tokens if combined else None,
                "contrast": contrast,
                "discounts_forgeries": discounted,
                "provenance": provenance,
            }
        )

    # --- the steps of a fit -----------------------------------------------------------------------------------------

    def _inferred(
        self, data: Examples, reading: Reading, notes: list[str], progress: Progress | None
    ) -> CriticProtocol:
        """The program as stage 1 leaves it: the task and the criteria."""
        inferred = infer(
            data,
            self.model,
            scale=scale_of(data),
            seed=self.seed,
            task_description=UNTOLD if self.task_description is False else self.task_description,
            criteria=given_criteria(self.criteria),
            max_batches=self.max_batches,
            progress=progress,
        )
        notes += inferred.remarks
        return CriticProtocol(
            mode=self.mode,
            task_description="" if self.task_description is False else inferred.task_description,
            criteria=inferred.criteria,
            scale=scale_of(data),
            reading=reading,
            overall_scoring=self.overall_scoring,
            explanations=self.explanations,
            provenance=self.provenance(data),
        )

    def _ways(self) -> list[Reading]:
        """The ways of rating that the search decides between: every kind of levels in every order, the usual first."""
        usual = default_reading(self.model, None if self.order == "both" else self.order)
        orders = (
            sorted(get_args(Order), key=lambda order: order != usual.order) if self.order == "both" else [usual.order]
        )
        levels = _levels(self.levels) or [{}]
        return [usual.model_copy(update={**one, "order": order}) for one in levels for order in orders]

    def _combiner(
        self,
        readings: tuple[str, ...],
        further: FurtherReadings,
        search: Search,
        protocol: CriticProtocol,
        notes: list[str],
    ) -> Combiner:
        """What combines the ratings of a search with the further readings that came."""
        expected = expected_of(self.model)
        combiner = Combiner(readings, search, protocol.scale, self._always, joint=further.joint, expected=expected)
        # Without a rating of the whole the mean of the criteria is what is asked for, and no other weights.
        mean = not self.overall_scoring and self.use_criteria != "always"
        if self.mode == "fine" and not mean:
            combiner.rated_by(protocol.criteria, self.use_criteria)
        for name in set(readings).intersection(FURTHER) - further.read.keys():
            combiner.leave_out(name)
        left_out = [combiner.add(name, read) for name, read in further.read.items()]
        notes += [said for said in (*further.unpaid, *left_out) if said]
        return combiner

    def _combined(
        self, combiner: Combiner, further: FurtherReadings, chosen: int, stopped: str | None, notes: list[str]
    ) -> tuple[Combination | None, tuple[str, ...]]:
        """How the score is combined, by all examples, and the readings that this was tried with.

        None, with a note, where the budget ended (``stopped``) before enough of them were read.
        """
        everything = range(len(combiner.search.examples))
        found: Combination | None = None
        try:
            found = combiner.fit(chosen, everything)
        except FitError:
            if stopped is None:
                raise
            with suppress(FitError):
                if combiner.unrated():
                    found = combiner.fit(chosen, everything)
            notes.append(TOO_FEW_RATED if found is not None else NOTHING_COMBINED)
        tried = combiner.names
        if found is not None and combiner.hardly_contrasts(found) and further.part(combiner):
            found = combiner.fit(chosen, everything)
        return found, tried

    def _told_of(self, search: Search, found: int, ways: Sequence[Reading], data: Examples) -> list[str]:
        """What the user should know of the search: where it was less than what was asked for."""
        said = []
        if search.stopped is not None:
            said.append(search.stopped)
        elif len(ways) > found:
            said.append(
                f"of the {len(ways)} ways to rate that were asked for (levels and orders), only {found} "
                f"{'were' if found > 1 else 'was'} tried: the search had {found} candidate{'s' * (found > 1)} to try "
                "them on"
            )
        elif found < self.candidates and search.size:
            said.append(
                f"{found} candidates were tried, not {self.candidates}: {len(data)} examples give no more different "
                f"sets of {search.size} demonstrations"
            )
        if search.one_document:
            said.append(ONE_DOCUMENT)
        elif self.candidates > 1 and search.size < (wanted := demo_count(data, self.demos)):
            said.append(
                f"candidates have {search.size or 'no'} demonstration{'s' * (search.size != 1)}, not {wanted}: too few "
                f"examples are short enough for half the context window of {self.model.context:,} tokens; --context "
                "asks for a larger one"
            )
        return said

    def _measured(
        self,
        search: Search,
        settings: DemoSearch,
        combiner: Combiner,
        found: Sequence[Candidate],
        bill: Bill,
        notes: list[str],
    ) -> FitReport | None:
        """The honest report, or None with a note where it could not be made."""
        made = "criteria were" if self.criteria is None else "task description was"
        notes += [MADE_FROM_ALL.format(made)] if None in (self.criteria, self.task_description) else []
        try:
            with bill.stage("held-out figures"):
                report = make_report(
                    search,
                    settings,
                    combine=combiner.predict,
                    notes=notes,
                    candidates=[candidate.to_dict() for candidate in found],
                    figures_of_surface=combiner.figures,
                )
            return replace(report, usage=bill.in_all())
        except (BudgetSpent, FitError) as problem:
            notes.append(f"the agreement on held-out folds was not measured: {problem}")
            return None

    def check(self) -> None:
        """Parameters that cannot be right. See :meth:`Evaluator.check`."""
        given_criteria(self.criteria)
        check_whole("candidates", self.candidates, 1, TRIED)
        if self.demos is not None:
            check_whole("demos", self.demos, 0)
        check_whole("max_batches", self.max_batches, 1)
        check_whole("refinements", self.refinements, 0, TRIED)
        if self.refinements and self.criteria is not None:
            raise FitError("given criteria are kept as they are; leave out refinements, or the criteria")
        if self.task_description is not False:
            check_task(self.task_description)
        _levels(self.levels)
        for name in ("overall_scoring", "explanations", "report"):
            check_flag(name, getattr(self, name))
        if self.mode == "coarse" and not self.overall_scoring:
            raise FitError("without overall scoring there is nothing left in coarse mode; use mode='fine'")
        if self.order == "both" and not self.explanations:
            raise FitError("without explanations there is no order to search; leave out order='both', or explain")
        if self.mode == "coarse" and self.use_criteria == "always":
            raise FitError("in coarse mode no criterion is rated by itself; use mode='fine', or leave out use_criteria")
        choices = {
            "mode": (self.mode, ("coarse", "fine")),
            "sampling": (self.sampling, ("stratified", "uniform")),
            "search": (self.search, ("race", "full")),
            "order": (self.order, (None, *get_args(Order), "both")),
            **{f"use_{name}": (use, get_args(Use)) for name, use in self._uses.items()},
            "use_criteria": (self.use_criteria, get_args(Use)),
            "discount_forgeries": (self.discount_forgeries, get_args(Use)),
            "discount_praise": (self.discount_praise, get_args(Use)),
        }
        for name, (value, allowed) in choices.items():
            if value not in allowed:
                raise FitError(f"{name} must be one of {', '.join(map(str, allowed))}, not {value!r}")

    @property
    def _uses(self) -> dict[str, Use]:
        return {name: getattr(self, f"use_{name}") for name in READINGS[1:]}

    @property
    def _always(self) -> frozenset[str]:
        return frozenset(name for name, use in self._uses.items() if use == "always")

    @classmethod
    def from_protocol(cls, protocol: Protocol, lm: Any = None, *, journal: JournalPath = "default") -> Self:
        """See :meth:`Evaluator.from_protocol`; the mode is the program's."""
        critic = super().from_protocol(protocol, lm, journal=journal)
        critic.mode = critic.fitted.mode
        return critic

    def judge(self) -> Judge:
        """What rates by the program; see :class:`Evaluator`."""
        return discounting(CriticJudge(Scorer(self.fitted, self.model)), self.fitted)


def _honest(calibration: Calibration, report: FitReport | None, candidates: int, notes: list[str]) -> Calibration:
    """The same with intervals that count with the choice among candidates, as far as the report can tell."""
    if report is None:
        if percent(SHOWN) in calibration.half_widths and candidates > 1:
            notes.append(NOT_WIDENED)
        return calibration
    widened = calibration.widened(report.missed)
    if percent(SHOWN) in calibration.half_widths and percent(SHOWN) not in widened.half_widths:
        notes.append(UNSURE)
    return widened


def _levels(given: str | None) -> list[dict[str, int]]:
    """The worst and the best level of each kind of rating, as a reading has them.

    Raises:
        FitError: They cannot be read, or are none.
    """
    if given is not None and not isinstance(given, str):
        raise FitError(f"levels are a text such as '1-9', or '1-5,1-9', not {given!r}")
    found = []
    for text in given.split(",") if given is not None else ():
        low, _, high = (part.strip() for part in text.partition("-"))
        if not (low.isdecimal() and high.isdecimal() and int(low) < int(high) <= 100):
            raise FitError(f"levels must be such as 1-9, or several, 1-5,1-9,0-100, within 0-100, not {given!r}")
        found.append({"low": int(low), "high": int(high)})
    return found

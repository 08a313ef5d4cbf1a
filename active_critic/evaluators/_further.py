"""What a fit of Active-Critic asks the model for beside its rating, before it searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from active_critic.data.examples import Examples
from active_critic.errors import BudgetSpent, FitError
from active_critic.evaluators._anyhow import asks
from active_critic.evaluators._combining import Combiner, lacking
from active_critic.evaluators._contrast import Contrasted, take_contrast
from active_critic.evaluators._fit_bill import Bill
from active_critic.evaluators._readings import ANYHOW, FURTHER, Read, Use, take, value_of
from active_critic.evaluators._weighed import weighed_part
from active_critic.evaluators.base import Progress
from active_critic.lm import LanguageModel
from active_critic.protocols import Contrast
from active_critic.records import Criterion, Scale

LONG = (
    "of {} of {} examples only the beginning was weighed, for they are long: their likelihood is that of this part; "
    "they are rated whole"
)

NO_CONTRAST = (
    "it takes two texts with high scores and two with low ones, none of them long, of other documents than that of the "
    "text that follows them"
)


@dataclass
class FurtherReadings:
    """Takes the further readings of every example of a fit, and keeps what came.

    Attributes:
        lm: The language model.
        criteria: The program's.
        scale: The user's.
        data: The examples.
        uses: Whether each reading counts.
        seed: Of the contrast.
        bill: Where the price of each is written down, as a stage of its name.
        notes: What the user should know.
        progress: See :data:`Progress`.
        read: What was taken, by reading: for every example, None where it cannot be had.
        contrast: The texts of the contrast; None: it is not read.
        unpaid: What could not be paid for, in words.
    """

    lm: LanguageModel
    criteria: Sequence[Criterion]
    scale: Scale
    data: Examples
    uses: Mapping[str, Use]
    seed: int
    bill: Bill
    notes: list[str]
    progress: Progress | None
    read: dict[str, list[Read | None]] = field(default_factory=dict)
    contrast: Contrast | None = None
    unpaid: list[str] = field(default_factory=list)

    @property
    def joint(self) -> bool:
        """Whether contrast and likelihood are read from the same two questions."""
        return self.contrast is not None and self.contrast.likelihood

    def take(self, readings: Sequence[str]) -> None:
        """Take those of these readings that come beside the rating.

        The likelihood is what the contrast is read from; where there is no contrast, it is asked for by itself.
        """
        contrasted: list[Contrasted | None] = []
        for name in sorted(FURTHER, key=lambda name: name == "likelihood"):
            if name not in readings:
                continue
            with self.bill.stage(name):
                try:
                    if name == "contrast":
                        contrasted = self._contrasted()
                    elif name == "likelihood" and self.joint:
                        self.read[name] = [one and one.likelihood for one in contrasted]
                    else:
                        self.read[name] = self._asked(name)
                    if name == "likelihood":
                        self._tell_of_long()
                except BudgetSpent as spent:
                    self.unpaid.append(f"the score is read without the {name}: {spent}")

    def take_anyhow(self, use: Use) -> list[float | None] | None:
        """How sure the model is that each example is good under a foreign source; None: that is not asked, or paid for.

        Args:
            use: See ``_anyhow.asks``.
        """
        if not asks(use, self.lm):
            return None
        with self.bill.stage(ANYHOW):
            try:
                return [None if read is None else value_of(read) for read in self._asked(ANYHOW)]
            except BudgetSpent as spent:
                self.unpaid.append(f"praise is not discounted: {spent}")
        return None

    def part(self, combiner: Combiner) -> bool:
        """Go on with the likelihood as it is read by itself, and without the contrast, where that hardly counts.

        One question a text is to do, in place of two.

        Args:
            combiner: What the readings are combined by, which goes on with the same.

        Returns:
            Whether it could be paid for.
        """
        try:
            with self.bill.stage("likelihood"):
                alone = self._asked("likelihood")
        except BudgetSpent as spent:
            self.notes.append(
                f"the contrast is read for the likelihood alone, which by itself is not paid for: {spent}"
            )
            return False
        self.contrast = None
        if (left_out := combiner.part(alone)) is not None:
            self.notes.append(left_out)
        return True

    def _asked(self, name: str) -> list[Read | None]:
        return take(name, self.lm, self.criteria, list(self.data), self.progress)

    def _contrasted(self) -> list[Contrasted | None]:
        """The contrast of every example, which is kept; none, with a note, where it cannot be had."""
        found = take_contrast(self.lm, self.data, self.scale, seed=self.seed, progress=self.progress)
        always = self.uses["contrast"] == "always"
        if found is None:
            if always:
                raise FitError(f"there is no contrast: {NO_CONTRAST}")
            self.notes.append(f"the score is read without the contrast: {NO_CONTRAST}")
            return []
        texts, read = found
        said = lacking("contrast", read)
        if said is not None and not always:
            self.notes.append(said)
            return []
        joint = said is None and self.uses["likelihood"] != "never"
        self.contrast = texts.model_copy(update={"likelihood": joint})
        self.read["contrast"] = [*read]
        return read

    def _tell_of_long(self) -> None:
        cut = sum(weighed_part(example.response) != example.response for example in self.data)
        if cut:
            self.notes.append(LONG.format(cut, len(self.data)))

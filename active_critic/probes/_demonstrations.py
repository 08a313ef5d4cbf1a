"""What a language model is told and shown to perturb a text: instructions and demonstrations, all written by us."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ORIGINALS: Sequence[str] = (
    (
        "Nadia repairs old clocks in a small shop near the harbour. Last spring she found a letter hidden in one of "
        "them. She showed it to the museum because it was signed by a famous captain."
    ),
    (
        "The town council will close the swimming pool in May. Repairs to the roof cost more than the town can pay. "
        "A group of parents has collected 400 signatures against the plan."
    ),
    (
        "Omar asks Lena for the recipe of her lemon cake. She sends it to him and tells him to use fresh eggs. He "
        "will bake the cake for his daughter on Friday."
    ),
)
"""The texts of the demonstrations."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a model is asked to do to a text.

    Attributes:
        instruction: In words.
        shown: What should have come of each of ``ORIGINALS``; of a continuation, only the new sentence.
    """

    instruction: str
    shown: tuple[str, str, str]


TASKS: Mapping[str, Task] = {
    "repetition": Task(
        instruction=(
            "In every sentence, say one thing twice: put a second expression of the same meaning behind the first. "
            "Nothing else changes, and the grammar stays right."
        ),
        shown=(
            (
                "Nadia repairs and mends old clocks in a small shop near the harbour. Last spring she found a "
                "letter hidden and concealed in one of them. She showed it to the museum because it was signed by a "
                "famous and well-known captain."
            ),
            (
                "The town council will close and shut the swimming pool in May. Repairs to the roof cost more money "
                "and a higher sum than the town can pay. A group of parents has collected and gathered 400 "
                "signatures against the plan."
            ),
            (
                "Omar asks Lena for the recipe of her lemon cake and how it is made. She sends it to him and tells "
                "and instructs him to use fresh eggs. He will bake the cake in the oven for his daughter on Friday "
                "and no other day of the week."
            ),
        ),
    ),
    "passive-voice": Task(
        instruction="Turn active verbs into the passive wherever grammar allows it. The meaning stays the same.",
        shown=(
            (
                "Old clocks are repaired by Nadia in a small shop near the harbour. Last spring a letter hidden in "
                "one of them was found by her. It was shown to the museum by her because it was signed by a famous "
                "captain."
            ),
            (
                "The swimming pool will be closed by the town council in May. More than can be paid by the town is "
                "cost by repairs to the roof. 400 signatures against the plan have been collected by a group of "
                "parents."
            ),
            (
                "Lena is asked by Omar for the recipe of her lemon cake. It is sent to him by her, and he is told "
                "by her that fresh eggs are to be used. The cake will be baked by him for his daughter on Friday."
            ),
        ),
    ),
    "inversion": Task(
        instruction=(
            "Put objects, complements or phrases in front of the sentence, or turn its order round, so that it "
            "sounds odd but breaks no rule of grammar. The meaning and the words stay the same."
        ),
        shown=(
            (
                "Old clocks Nadia repairs in a small shop near the harbour. Hidden in one of them, last spring, a "
                "letter she found. To the museum she showed it because signed by a famous captain it was."
            ),
            (
                "The swimming pool the town council will in May close. More than the town can pay, repairs to the "
                "roof cost. Against the plan 400 signatures a group of parents has collected."
            ),
            (
                "For the recipe of her lemon cake Omar asks Lena. To him she sends it, and fresh eggs she tells him "
                "to use. On Friday, for his daughter, the cake he will bake."
            ),
        ),
    ),
    "improper-connective": Task(
        instruction=(
            "Begin sentences after the first with connectives that claim a relation which is not there. Nothing "
            "else changes."
        ),
        shown=(
            (
                "Nadia repairs old clocks in a small shop near the harbour. Nevertheless, last spring she found a "
                "letter hidden in one of them. In other words, she showed it to the museum because it was signed by "
                "a famous captain."
            ),
            (
                "The town council will close the swimming pool in May. Consequently, repairs to the roof cost more "
                "than the town can pay. For instance, a group of parents has collected 400 signatures against the "
                "plan."
            ),
            (
                "Omar asks Lena for the recipe of her lemon cake. By contrast, she sends it to him and tells him to "
                "use fresh eggs. Otherwise, he will bake the cake for his daughter on Friday."
            ),
        ),
    ),
    "incorrect-verb-form": Task(
        instruction=(
            "Put several verbs into a form that is wrong where they stand: person, number, tense or participle. "
            "Nothing else changes."
        ),
        shown=(
            (
                "Nadia repair old clocks in a small shop near the harbour. Last spring she finded a letter hiding "
                "in one of them. She showing it to the museum because it were signed by a famous captain."
            ),
            (
                "The town council will closing the swimming pool in May. Repairs to the roof costs more than the "
                "town can pays. A group of parents has collect 400 signatures against the plan."
            ),
            (
                "Omar asking Lena for the recipe of her lemon cake. She send it to him and tells him to using fresh "
                "eggs. He will bakes the cake for his daughter on Friday."
            ),
        ),
    ),
    "uncommon-phrase": Task(
        instruction=(
            "In every sentence, replace a common word or two by rare or stilted ones of exactly the same meaning. "
            "The grammar stays right, and nothing else changes."
        ),
        shown=(
            (
                "Nadia restores antiquated timepieces in a small shop near the harbour. Last spring she chanced "
                "upon an epistle hidden in one of them. She evinced it to the museum because it was signed by an "
                "illustrious captain."
            ),
            (
                "The town council will shutter the natatorium in May. Repairs to the roof cost more than the town "
                "can disburse. A coterie of parents has amassed 400 signatures against the plan."
            ),
            (
                "Omar beseeches Lena for the recipe of her lemon gateau. She transmits it to him and enjoins him to "
                "use new-laid eggs. He will bake the cake for his female progeny on Friday."
            ),
        ),
    ),
    "complex-sentence": Task(
        instruction=(
            "Rewrite the sentences with more clauses inside them, with the same words as far as possible and "
            "exactly the same meaning. The grammar stays right."
        ),
        shown=(
            (
                "Nadia, who repairs clocks that are old, does so in a shop which is small and which is near the "
                "harbour. What she found last spring was a letter that was hidden in one of them. It was the museum "
                "that she showed it to, because the one by whom it was signed was a captain who was famous."
            ),
            (
                "What the town council will do in May is that it will close the pool in which people swim. What "
                "repairs to the roof cost is more than what the town can pay. There is a group which consists of "
                "parents and which has collected 400 signatures that are against the plan."
            ),
            (
                "What Omar asks Lena for is the recipe by which the lemon cake that is hers is made. She, who sends "
                "it to him, tells him that the eggs that he uses should be ones that are fresh. The one for whom he "
                "will bake the cake, which will be on Friday, is his daughter."
            ),
        ),
    ),
    "abbreviation": Task(
        instruction=(
            "Shorten the text by leaving out several details. What is left is true to the text, grammatical and "
            "reads well."
        ),
        shown=(
            "Nadia repairs clocks. She found a letter in one of them. She showed it to the museum.",
            "The council will close the pool. Repairs cost too much. Parents are against the plan.",
            "Omar asks Lena for a recipe. She sends it to him. He will bake the cake.",
        ),
    ),
    "hypernym": Task(
        instruction=(
            "Replace some words by more general ones for the kind of thing, so that the text stays true but says "
            "less exactly what is meant. Nothing else changes."
        ),
        shown=(
            (
                "Nadia repairs old devices in a small business near the water. Last season she found a document "
                "hidden in one of them. She showed it to an institution because it was signed by a famous person."
            ),
            (
                "The authorities will close the sports facility this year. Repairs to the building cost more than "
                "the town can pay. A group of people has collected several hundred signatures against the plan."
            ),
            (
                "Omar asks Lena for the instructions for her dessert. She sends them to him and tells him to use "
                "fresh ingredients. He will prepare the food for a relative this week."
            ),
        ),
    ),
    "complement": Task(
        instruction=(
            "Add several made-up details to the sentences. They fit in, contradict nothing, and cannot be inferred "
            "from the text or its source. No other word changes."
        ),
        shown=(
            (
                "Nadia, who learned the craft in Lisbon, repairs old clocks in a small shop near the harbour. Last "
                "spring she found a letter of two pages hidden in one of them. She showed it to the museum, where a "
                "cousin of hers works, because it was signed by a famous captain."
            ),
            (
                "The town council will close the swimming pool, which opened in 1974, in May. Repairs to the roof, "
                "damaged in a storm, cost more than the town can pay. A group of parents, led by a dentist, has "
                "collected 400 signatures against the plan."
            ),
            (
                "Omar asks Lena, his neighbour, for the recipe of her lemon cake, which won a prize. She sends it "
                "to him the same evening and tells him to use fresh eggs. He will bake the cake for his daughter, "
                "who turns nine, on Friday."
            ),
        ),
    ),
    "continuation": Task(
        instruction=(
            "Write one sentence that could follow the text. It fits and reads well, but what it says is made up and "
            "cannot be inferred from the text or its source. Give only this new sentence."
        ),
        shown=(
            "The museum has since offered her a price for it that would pay for a new workshop.",
            "They hope that a local bank will lend the town the money for a new roof next year.",
            "Afterwards they are going to eat it in the park with four of her school friends.",
        ),
    ),
    "different-entity": Task(
        instruction=(
            "In every sentence, replace one name, number or thing by a different one of the same kind. The text "
            "stays grammatical and sensible, and nothing else changes."
        ),
        shown=(
            (
                "Nadia repairs old radios in a small shop near the harbour. Last autumn she found a letter hidden "
                "in one of them. She showed it to the museum because it was signed by a famous composer."
            ),
            (
                "The town council will close the library in May. Repairs to the cellar cost more than the town can "
                "pay. A group of parents has collected 900 signatures against the plan."
            ),
            (
                "Omar asks Ruth for the recipe of her lemon cake. She sends it to him and tells him to use fresh "
                "butter. He will bake the cake for his daughter on Monday."
            ),
        ),
    ),
    "conflicting-fact": Task(
        instruction=(
            "Change several facts so that the text definitely contradicts what it said before. It stays natural and "
            "grammatical."
        ),
        shown=(
            (
                "Nadia sells new clocks in a large store far from the harbour. Last spring she lost a letter that "
                "had been lying openly beside one of them. She kept it from the museum although it was signed by a "
                "famous captain."
            ),
            (
                "The town council will keep the swimming pool open in May. Repairs to the roof cost hardly "
                "anything. A group of parents has collected 400 signatures in favour of the plan."
            ),
            (
                "Omar refuses the recipe of Lena's lemon cake. She sends it to him all the same and tells him to "
                "leave out the eggs. He will buy a cake for his daughter on Friday."
            ),
        ),
    ),
    "negation": Task(
        instruction=(
            "Turn the last sentence from affirmative to negative, or the other way round, with a connective if it "
            "needs one. Nothing else changes."
        ),
        shown=(
            (
                "Nadia repairs old clocks in a small shop near the harbour. Last spring she found a letter hidden "
                "in one of them. She did not show it to the museum, although it was signed by a famous captain."
            ),
            (
                "The town council will close the swimming pool in May. Repairs to the roof cost more than the town "
                "can pay. However, no group of parents has collected 400 signatures against the plan."
            ),
            (
                "Omar asks Lena for the recipe of her lemon cake. She sends it to him and tells him to use fresh "
                "eggs. Yet he will not bake the cake for his daughter on Friday."
            ),
        ),
    ),
}
"""By perturbation: the 14 that a model can be asked for."""

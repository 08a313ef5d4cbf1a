"""Checks that any evaluator must pass, ours and a user's own, with a scripted model in place of a real one.

In a test file::

    @pytest.mark.parametrize("check", evaluator_checks(lambda lm: MyEvaluator(lm, journal=None)), ids=str)
    def test_my_evaluator(check):
        check()

Each check makes fresh evaluators with the function given, on fresh scripted models, and raises an ``AssertionError``
that says what should have happened. ``check_evaluator`` runs them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from active_critic.evaluators import _checks_fitting as fitting
from active_critic.evaluators import _checks_scoring as scoring
from active_critic.evaluators._checks_material import Make


@dataclass(frozen=True)
class Check:
    """One check of one evaluator; call it to run it."""

    name: str
    run: Callable[[Make], None]
    make: Make

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> None:
        """Run the check.

        Raises:
            AssertionError: The evaluator does not pass.
        """
        self.run(self.make)


def evaluator_checks(make: Make) -> list[Check]:
    """Every check of an evaluator, in the order in which a failure is best mended.

    Args:
        make: Makes the evaluator, not fitted, on the model it is given. It should set ``journal=None``, and whatever
            makes a fit quick.
    """
    return [Check(name, run, make) for name, run in _CHECKS.items()]


def check_evaluator(make: Make) -> None:
    """Run every check of an evaluator.

    Args:
        make: See :func:`evaluator_checks`.

    Raises:
        AssertionError: Some checks fail; the message has a line for each.
    """
    failed = []
    for check in evaluator_checks(make):
        try:
            check()
        except Exception as problem:
            first = str(problem).strip().splitlines()[:1] or [""]
            failed.append(f"{check.name}: {type(problem).__name__}: {first[0]}")
    if failed:
        raise AssertionError(f"{len(failed)} of {len(_CHECKS)} checks fail:\n" + "\n".join(failed))


def _named(*checks: Callable[[Make], None]) -> dict[str, Callable[[Make], None]]:
    return {check.__name__.replace("_", " "): check for check in checks}


_CHECKS = _named(
    fitting.constructor_only_stores,
    fitting.not_fitted_is_an_error,
    fitting.fit_makes_a_program,
    fitting.the_same_fit_gives_the_same_program,
    fitting.a_second_fit_forgets_the_first,
    fitting.the_order_of_examples_does_not_matter,
    fitting.a_failed_fit_changes_nothing,
    fitting.a_model_that_fails_in_a_fit_leaves_no_program,
    fitting.a_fit_that_breaks_off_changes_nothing,
    fitting.what_is_saved_is_what_is_loaded,
    fitting.texts_stay_out_of_a_program_unless_it_names_them_as_shown,
    fitting.a_loaded_evaluator_can_be_fitted_again,
    fitting.the_signature_names_what_matters,
    scoring.one_verdict_an_item_in_its_place,
    scoring.the_order_of_items_does_not_matter,
    scoring.many_workers_change_nothing,
    scoring.scores_are_on_the_scale,
    scoring.explaining_changes_no_score,
    scoring.an_unreadable_reply_is_never_a_number,
    scoring.a_model_that_is_down_ends_the_run,
    scoring.one_failure_leaves_the_other_items_scored,
    scoring.nothing_is_paid_for_twice,
    scoring.texts_under_evaluation_cannot_leave_their_place,
    scoring.another_scale_moves_the_scores_with_it,
    scoring.scores_tell_texts_apart,
    scoring.verdicts_say_what_they_cost,
    scoring.what_a_model_writes_cannot_leave_its_place,
)

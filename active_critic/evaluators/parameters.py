"""Parameters that cannot be right, named before anything is read or paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from active_critic.bounds import WHOLE
from active_critic.data.cells import plain_value
from active_critic.errors import FitError
from active_critic.figures_in_words import as_given
from active_critic.protocols import repeated_names
from active_critic.quoting import quote
from active_critic.records import Criterion


def check_whole(name: str, value: object, least: int, most: int = WHOLE) -> int:
    """A parameter that is a whole number, NumPy's included, within its bounds, both included; as Python's own.

    Raises:
        FitError: It is not; names the parameter, the bounds and the value.
    """
    number = plain_value(value)
    if type(number) is not int or not least <= number <= most:
        bounded = most < WHOLE or (type(number) is int and number > most)
        allowed = f"from {least} to {most:,}" if bounded else f"of at least {least}"
        raise FitError(f"{name} must be a whole number {allowed}, not {as_given(value)}")
    return number


def check_flag(name: str, value: object) -> None:
    """A parameter that is True or False.

    Raises:
        FitError: It is something else; names the parameter and the value.
    """
    if type(plain_value(value)) is not bool:
        raise FitError(f"{name} must be True or False, not {value!r}")


def check_progress(progress: object) -> None:
    """Whether it can be called to tell how far the work is; None: nothing is told.

    Raises:
        FitError: It can not.
    """
    if progress is not None and not callable(progress):
        said = "progress must be a function of what is done, how much of it, and how much there is at most, or None"
        raise FitError(f"{said}, not {progress!r}")


def check_journal(journal: object) -> None:
    """Whether replies can be kept there; nothing is opened.

    Raises:
        FitError: It is neither a path, nor ``"default"``, nor None.
    """
    named = isinstance(journal, Path) or (isinstance(journal, str) and journal.strip())
    if journal is not None and not named:
        raise FitError(f"journal must be a path, 'default', or None to keep no replies, not {journal!r}")


def check_task(description: object) -> None:
    """Whether a task description, where one is given, is a text that says anything.

    Raises:
        FitError: It is no text, or blank.
    """
    if description is not None and not isinstance(description, str):
        raise FitError(f"task_description must be a text, not {description!r}; leave it out if you have none")
    if description is not None and not description.strip():
        raise FitError("the task description is blank; write one, or leave it out to have it inferred")


def check_aspects(aspects: Sequence[str] | None) -> tuple[str, ...]:
    """The names of aspects that were given, empty for the overall score.

    Raises:
        FitError: They are no list of names, or one is blank or named twice.
    """
    if aspects is None:
        return ()
    if isinstance(aspects, str) or not aspects or not all(isinstance(a, str) and a.strip() for a in aspects):
        raise FitError(
            f"aspects must be a list of names, such as ['coherence'], not {aspects!r}; leave it out for the overall "
            "score"
        )
    if len({aspect.casefold() for aspect in aspects}) < len(aspects):
        raise FitError(f"aspects must differ in more than case, not {list(aspects)!r}")
    return tuple(aspects)


def given_criteria(criteria: Sequence[Criterion] | Mapping[str, str] | None) -> list[Criterion] | None:
    """The user's criteria, from records or from ``{name: definition}``.

    Raises:
        FitError: They are no list and no mapping, there are none, one is no criterion, a name or definition is blank
            or too long, or a name is repeated.
    """
    if criteria is None:
        return None
    if not isinstance(criteria, Sequence | Mapping):
        kind = type(criteria).__name__
        raise FitError(f"criteria are a list or a mapping, which can be read more than once, not one {kind}; list them")
    from pydantic import ValidationError

    try:
        if isinstance(criteria, Mapping):
            criteria = [Criterion(name=name, definition=definition) for name, definition in criteria.items()]
        # A program keeps them as mappings.
        criteria = [Criterion.model_validate(c) if isinstance(c, dict) else c for c in criteria]
        for criterion in criteria:
            if not isinstance(criterion, Criterion):
                raise FitError(f"{criterion!r} is no criterion; give Criterion(name=..., definition=...), or a mapping")
        # A name stands in forms and demonstrations, where nothing may look like a mark of ours.
        criteria = [Criterion(name=quote(c.name), definition=c.definition) for c in criteria]
    except ValidationError as problem:
        first = problem.errors()[0]
        raise FitError(f"a criterion is not usable: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if not criteria:
        raise FitError("the list of criteria is empty; give at least one, or leave it out to have them inferred")
    if repeated := repeated_names(criteria):
        raise FitError(f"the criterion {repeated[0]!r} is given twice; names must differ in more than case")
    return criteria

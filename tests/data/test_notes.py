"""Kinds of notes: texts in every respect, and told apart by nothing that they say."""

import copy
import json
import pickle

import pytest

from active_critic.data import Examples, notes, read_examples
from active_critic.records import Example

KINDS = [kind for kind in vars(notes).values() if isinstance(kind, type) and issubclass(kind, str)]
ROWS = [{"response": f"r {i}", "source": f"s{i}" if i else "", "score": 1 + i % 5} for i in range(8)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_note_of_a_kind_is_a_text_as_any_other(kind: type[str]) -> None:
    note = kind("said")
    assert note == "said"
    assert {note: 1} == {"said": 1}
    assert (str(note), f"{note}", repr(note), json.dumps(note)) == ("said", "said", "'said'", '"said"')
    for same in (copy.deepcopy(note), pickle.loads(pickle.dumps(note))):
        assert (same, type(same)) == ("said", kind)


def test_what_is_made_anew_for_a_part_is_so_after_pickling() -> None:
    whole = read_examples([*ROWS, ROWS[7]], scale="1..5")
    kept = pickle.loads(pickle.dumps(whole))
    assert kept == whole
    assert any(note.startswith("no source in row 1,") for note in kept.notes)
    assert any("rows 8 and 9" in note for note in kept.notes)
    assert kept[:8].notes == whole[:8].notes
    assert not any("rows 8 and 9" in note for note in kept[:8].notes)
    assert not any("no source" in note for note in kept[1:].notes)


def test_a_note_of_the_user_with_the_same_words_is_left_alone() -> None:
    own = (
        "no source in the archive is older than 1990",
        "the same source and response occur more than once: that is meant",
        "letters stand in more than one document (the first: the charter)",
    )
    examples = Examples(tuple(Example(f"r{i}", f"s{i}", 1.0 + i % 5) for i in range(8)), notes=own)
    assert examples[:5].notes == own


def test_only_what_was_left_out_is_known_again_when_examples_are_read_again() -> None:
    left = read_examples([*ROWS, {"response": "r", "source": "s", "score": ""}], scale="1..5")
    said = [note for note in left.notes if isinstance(note, notes.Unscored)]
    assert len(said) == 1
    own = Examples(left.items, left.scale, notes=(*left.notes, "no score in this file is above 5"))
    assert [note for note in read_examples(own).notes if note.startswith("no score")] == said

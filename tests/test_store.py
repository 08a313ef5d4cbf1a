from __future__ import annotations

import ast
import inspect
import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from active_critic import store
from active_critic.data import read_examples
from active_critic.errors import OutputError, ProtocolError
from active_critic.evaluators import json_schema
from active_critic.protocols import CriticProtocol, Demo, Provenance, Reading
from active_critic.records import NARROWEST, Criterion, Scale

text = st.text(max_size=40)
finite = st.floats(allow_nan=False, allow_infinity=False, width=32)
percent = st.floats(0, 100)
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), finite, text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(text, inner, max_size=3)),
    max_leaves=6,
)
criteria = st.lists(
    st.builds(Criterion, name=st.text(min_size=1, max_size=60).filter(str.strip), definition=st.just("What is good.")),
    max_size=4,
    unique_by=lambda c: c.name.casefold(),
).map(tuple)
demos = st.lists(
    st.builds(
        Demo,
        source=text,
        response=text,
        score=percent,
        criteria=st.dictionaries(text, percent, max_size=3),
        explanations=st.dictionaries(text, text, max_size=3),
        explanation=text,
        advice=text,
        example_id=text,
        group=st.none() | text,
    ),
    max_size=3,
).map(tuple)
protocols = st.builds(
    CriticProtocol,
    evaluator=st.sampled_from(["active-critic", "zero-shot"]),
    mode=st.sampled_from(["coarse", "fine"]),
    task_description=text,
    criteria=criteria,
    scale=st.tuples(finite, finite)
    .filter(lambda b: b[1] - b[0] >= NARROWEST)
    .map(lambda b: Scale(low=b[0], high=b[1])),
    reading=st.builds(
        Reading,
        low=st.integers(0, 4),
        high=st.integers(5, 100),
        source=st.sampled_from(["probabilities", "text"]),
        order=st.sampled_from(["rating_first", "reason_first"]),
    ),
    demos=demos,
    provenance=st.builds(
        Provenance,
        model=text,
        weights=st.none() | text,
        seed=st.integers(0, 2**53),
        n_train=st.integers(0, 10**6),
        versions=st.dictionaries(text, text, max_size=2),
        settings=st.dictionaries(text, plain, max_size=3),
        report=st.dictionaries(text, plain, max_size=3),
    ),
)


def program() -> CriticProtocol:
    return CriticProtocol(
        task_description="Summaries of news.",
        criteria=(Criterion(name="Fluency", definition="Reads well."),),
        scale=Scale(low=1, high=5),
        demos=(Demo(source="s", response="r", score=75, criteria={"Fluency": 80}, example_id="e1"),),
        provenance=Provenance(model="openai/x", settings={"seed": 1}),
    )


def document() -> dict[str, Any]:
    return program().model_dump(mode="json")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(protocol=protocols)
def test_what_is_saved_is_what_is_loaded(protocol: CriticProtocol, tmp_path: Path) -> None:
    path = store.save(protocol, tmp_path / "p.json")
    assert store.load(path, CriticProtocol) == protocol
    jsonschema.validate(json.loads(path.read_bytes()), json_schema())
    first = path.read_bytes()
    store.save(store.load(path, CriticProtocol), path)
    assert path.read_bytes() == first


def test_the_schema_is_itself_valid_and_refuses_what_load_refuses() -> None:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for damaged in (
        {**document(), "unknown": 1},
        {**document(), "format_version": 2},
        {},
        {**document(), "mode": "other"},
    ):
        assert not jsonschema.Draft202012Validator(schema).is_valid(damaged)
        with pytest.raises(ProtocolError):
            store.parse(damaged, CriticProtocol)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_program_is_as_private_as_the_user_wants_it(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        path = store.save(program(), tmp_path / "p.json")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    store.save(program(), path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_program_is_written_behind_a_link_which_stays(tmp_path: Path) -> None:
    there, link = tmp_path / "there.json", tmp_path / "link.json"
    link.symlink_to(there)
    for one in (program(), program().model_copy(update={"task_description": "Another one."})):
        assert store.save(one, link) == link
        assert link.is_symlink()
        assert store.load(there, CriticProtocol) == one


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "null").symlink_to(os.devnull)
    for name in ("pipe.json", "null"):
        with pytest.raises(OutputError, match="it is a device, a pipe or the like; name a file"):
            store.save(program(), tmp_path / name)
    assert (tmp_path / "pipe.json").is_fifo()
    assert Path(os.devnull).is_char_device()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_program_is_readable_and_ends_with_a_newline(tmp_path: Path) -> None:
    raw = store.save(program(), tmp_path / "deep" / "er" / "p.json").read_text(encoding="utf-8")
    assert raw.startswith('{\n  "format_version": 1,\n')
    assert raw.endswith("}\n")


def refuse(path: Path, match: str) -> None:
    started = time.process_time()
    with pytest.raises(ProtocolError, match=match) as caught:
        store.load(path, CriticProtocol)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("place", "field"),
    [((), "extra"), (("scale",), "middle"), (("demos", 0), "api_key"), (("provenance",), "endpoint")],
)
def test_an_unknown_field_is_named(tmp_path: Path, place: tuple[Any, ...], field: str) -> None:
    damaged = inner = document()
    for step in place:
        inner = inner[step]
    inner[field] = "x"
    path = tmp_path / "p.json"
    path.write_text(json.dumps(damaged))
    refuse(path, ".".join(map(str, [*place, field])))


@pytest.mark.parametrize("version", [2, 99, 10**30])
def test_a_newer_version_says_to_upgrade(tmp_path: Path, version: int) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**document(), "format_version": version, "new": {"things": 1}}))
    refuse(path, f"version {version}.*upgrade")


@pytest.mark.parametrize("version", [0, -1, "1", "2", None, [1], 1.5])
def test_a_version_that_is_none_is_refused(tmp_path: Path, version: object) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**document(), "format_version": version}))
    refuse(path, "format_version")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n",
        b"not json",
        b"[]",
        b"null",
        b"4",
        b'"text"',
        b"{}",
        b'{"format_version": 1}',
        b"\xff\xfe\x00\x01\x02",
        b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94.",
        b'{"format_version": 1,' + b" " * 1000,
        b'{"format_version": ' + b"9" * 5000 + b"}",
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"format_version": 1, "a": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    ],
    ids=range(16),
)
def test_what_is_no_program_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.json"
    path.write_bytes(content)
    refuse(path, "p.json")


def test_every_prefix_of_a_program_is_refused(tmp_path: Path) -> None:
    path = store.save(program(), tmp_path / "p.json")
    whole = path.read_bytes()
    for end in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:end])
        refuse(path, "p.json")


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused(tmp_path: Path, literal: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(document()).replace('"high": 5.0', f'"high": {literal}'))
    refuse(path, "p.json")


def test_a_repeated_field_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(document()).replace('"mode": "fine"', '"mode": "fine", "mode": "coarse"'))
    refuse(path, "'mode' is there twice")


def test_repeated_criteria_are_refused(tmp_path: Path) -> None:
    damaged = document()
    damaged["criteria"] = [*damaged["criteria"], {"name": "FLUENCY", "definition": "Again."}]
    path = tmp_path / "p.json"
    path.write_text(json.dumps(damaged))
    refuse(path, "fluency")


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    with path.open("wb") as file:
        file.truncate(store.LARGEST + 1)
    refuse(path, "larger than 16 MiB")


def test_a_program_too_large_to_be_read_again_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(document()))
    program = store.load(path, CriticProtocol)
    monkeypatch.setattr(store, "LARGEST", path.stat().st_size // 2)
    with pytest.raises(OutputError, match="fit on fewer of them"):
        store.save(program, tmp_path / "q.json")
    assert not (tmp_path / "q.json").exists()


@pytest.mark.parametrize("place", [(), ("scale",), ("provenance", "report"), ("provenance", "versions")])
def test_more_fields_than_any_program_has_are_refused_unchecked(tmp_path: Path, place: tuple[str, ...]) -> None:
    damaged = inner = document()
    for step in place:
        inner = inner[step]
    inner |= {f"field {n}": 1 for n in range(store.MOST + 1)}
    path = tmp_path / "p.json"
    path.write_text(json.dumps(damaged))
    refuse(path, "more in it than in any program")


def test_what_a_program_was_fitted_on_may_be_much(tmp_path: Path) -> None:
    keys = tuple(f"{n:016x}" for n in range(200_000))
    provenance = program().provenance.model_copy(update={"fitted_on": keys, "fitted_documents": keys[:9]})
    path = store.save(program().model_copy(update={"provenance": provenance}), tmp_path / "p.json")
    assert store.load(path, CriticProtocol).provenance == provenance
    path.write_text(path.read_text().replace('"0000000000000000"', "0", 1))
    refuse(path, "more in it than in any program")


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    refuse(tmp_path, "not a file")
    refuse(tmp_path / "missing.json", "No such file")
    there = store.save(program(), tmp_path / "p.json")
    with pytest.raises(ProtocolError, match=rf"No such file or directory\); there is {there}: name that"):
        store.read(f"'{there}'")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.json")
    refuse(tmp_path / "p.json", "not a file")


def test_a_string_path_is_as_good(tmp_path: Path) -> None:
    store.save(program(), str(tmp_path / "p.json"))
    assert store.load(str(tmp_path / "p.json"), CriticProtocol) == program()


# --- saving ---------------------------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    with pytest.raises(OutputError, match="file"):
        store.save(program(), tmp_path / "file" / "p.json")
    with pytest.raises(OutputError, match=str(tmp_path)):
        store.save(program(), tmp_path)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file"]
    assert [entry for entry in tmp_path.parent.iterdir() if entry.name.endswith(".part")] == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_an_output_error_and_the_old_file_stays(tmp_path: Path) -> None:
    path = store.save(program(), tmp_path / "p.json")
    before = path.read_bytes()
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match=r"p\.json"):
        store.save(program().model_copy(update={"mode": "coarse"}), path)
    tmp_path.chmod(0o700)
    assert path.read_bytes() == before


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_failure_while_writing_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    path = store.save(program(), tmp_path / "p.json")
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full) if where == "fsync" else monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match=r"p\.json.*No space left"):
        store.save(program().model_copy(update={"mode": "coarse"}), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="no resource limits")
def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = store.save(program(), tmp_path / "p.json")
    before = path.read_bytes()
    code = (
        "import resource, sys; from active_critic import store; from active_critic.errors import OutputError\n"
        "from active_critic.protocols import CriticProtocol\n"
        "p = store.load(sys.argv[1], CriticProtocol); resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try: store.save(p, sys.argv[1])\nexcept OutputError as e: sys.exit(str(e))"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert str(path) in run.stderr
    assert "Traceback" not in run.stderr
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["p.json"]


@pytest.mark.parametrize("value", [2**70, object(), "\ud800"], ids=range(3))
def test_settings_that_json_cannot_hold_are_an_output_error(tmp_path: Path, value: object) -> None:
    provenance = Provenance.model_construct(model="x", settings={"odd": value}, report={}, versions={})
    odd = program().model_copy(update={"provenance": provenance})
    with pytest.raises(OutputError, match=r"p\.json"):
        store.save(odd, tmp_path / "p.json")
    assert list(tmp_path.iterdir()) == []


def test_a_figure_that_is_not_known_is_null_in_the_file(tmp_path: Path) -> None:
    provenance = Provenance(model="x", report={"pearson": float("nan")})
    path = store.save(program().model_copy(update={"provenance": provenance}), tmp_path / "p.json")
    assert store.load(path, CriticProtocol).provenance.report == {"pearson": None}


def test_a_tilde_is_the_user_s_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    assert store.save(program(), "~/judges/p.json") == tmp_path / "home/judges/p.json"
    assert store.load("~/judges/p.json", CriticProtocol) == program()
    assert [entry.name for entry in tmp_path.iterdir()] == ["home"]
    (tmp_path / "home/a.csv").write_text("response,score\none,1\ntwo,2\n")
    found = read_examples("~/a.csv")
    assert (len(found), found.path) == (2, str(tmp_path / "home/a.csv"))


def test_a_scale_that_is_none_is_named_in_the_error(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**document(), "scale": {"low": 5, "high": 1}}))
    with pytest.raises(ProtocolError, match=r"p\.json: not a valid program: a scale runs from low to high, not 5\.\.1"):
        store.load(path, CriticProtocol)


# --- nothing is executed --------------------------------------------------------------------------------------------


def test_loading_imports_nothing_that_executes() -> None:
    imported = {
        name.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(inspect.getsource(store)))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in node.names
    }
    assert not imported & {"pickle", "marshal", "shelve", "cloudpickle", "dill", "joblib", "yaml", "importlib", "runpy"}
    called = {
        node.func.id
        for node in ast.walk(ast.parse(inspect.getsource(store)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & {"eval", "exec", "compile", "__import__"}


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    mark = tmp_path / "executed"

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (mark,))

    path = tmp_path / "p.json"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path.write_bytes(pickle.dumps(Evil(), protocol))
        refuse(path, "p.json")
    assert not mark.exists()


def test_texts_that_look_like_code_stay_texts(tmp_path: Path) -> None:
    texts = ["__import__('os')", "!!python/object/apply:os.system", "${jndi:x}", "{{7*7}}", "cos\nsystem\n"]
    odd = program().model_copy(update={"task_description": "\n".join(texts)})
    assert store.load(store.save(odd, tmp_path / "p.json"), CriticProtocol).task_description == "\n".join(texts)

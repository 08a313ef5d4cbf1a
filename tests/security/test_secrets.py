"""Canaries in keys, headers, variables and addresses: in no artefact, log, journal, report, message or traceback."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import Fault, Loopback, Say, echoing
from test_kill import reply_to

from active_critic.cli import main
from active_critic.lm import LanguageModel, open_lm

KEY, OTHER, TOKEN = "sk-canary-key-4711", "canary-of-another-provider", "hf_canary_token_0815"
USER, PROXY, HEADER = "canary-in-the-address", "canary-in-the-proxy", "canary-in-a-header"
CANARIES = (KEY, OTHER, TOKEN, USER, PROXY, HEADER)
FORMS = {form for canary in CANARIES for form in (canary, base64.b64encode(canary.encode()).decode().rstrip("=")[4:-2])}
FORMS |= {base64.b64encode(f"user:{canary}".encode()).decode() for canary in (USER, PROXY)}

FIT = ("--candidates", "2", "--demos", "2", "--batches", "1")
RUNS: dict[str, tuple[str, ...]] = {
    "fit": ("fit", "examples.jsonl", "--out", "new.json", "--scale", "0..5", *FIT),
    "score": ("score", "p.json", "examples.jsonl", "--out", "s.jsonl"),
    "score to a table": ("score", "p.json", "examples.jsonl", "--out", "s.csv"),
    "compare": ("compare", "examples.jsonl", "--evaluators", "zero-shot,gpt-score,surface", "--scale", "0..5",
                "--out", "c.json", "--predictions", "d.csv", "--resamples", "20"),
    "check": ("lm", "check", "openai/judge"),
}  # fmt: skip


def echo(status: int) -> Fault:
    """An error that tells everything it was sent."""
    said = f"Incorrect key {KEY}; header Authorization: Bearer {KEY}; also seen: {OTHER}, {TOKEN}"
    return Fault(status=status, message=said, code=KEY, type=KEY)


FAILURES: dict[str, Callable[[Any], Any]] = {
    **{str(status): (lambda body, status=status: echo(status)) for status in (400, 401, 402, 404, 429, 500)},
    "reset": lambda body: Fault("reset"),
    "empty": lambda body: Fault("empty"),
    "broken": lambda body: Fault("broken"),
}


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", OTHER)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HTTP_PROXY", f"http://user:{PROXY}@127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("NO_PROXY", "")
    rows = [
        {"id": f"e{i}", "doc_id": f"d{i}", "source": f"q {i}", "response": "word " * (3 + 4 * i), "score": i % 6}
        for i in range(12)
    ]
    Path("examples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def answer(body: dict[str, Any]) -> Say:
    """The simulated model, which gives its reasons first."""
    reply = reply_to(body)
    document = json.loads(reply.text)
    if not isinstance(document, dict):
        return reply
    return Say(
        json.dumps({name: document[name] for name in sorted(document, key=lambda n: n in {"scores", "overall"})})
    )


def opened(name: str, **options: Any) -> LanguageModel:
    lm = open_lm(name, **options)
    lm._wait = lambda _: None
    return lm


def found(text: str) -> list[str]:
    return [form for form in FORMS if form in text]


def check_nothing_leaked(folder: Path, *said: str) -> None:
    for text in said:
        assert found(text) == []
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert found(path.read_bytes().decode("latin-1")) == [], path


def go(loopback: Loopback, run: str, *more: str) -> int:
    model = () if run.startswith("score") else ("--lm", "openai/judge") * (run != "check")
    return main([*RUNS[run], *model, "--api-base", loopback.api_base, "--api-key-env", "MY_KEY", *more], opener=opened)


@pytest.fixture(scope="module")
def fitted() -> list[str]:
    return []


@pytest.fixture
def program(loopback: Loopback, capfd: pytest.CaptureFixture[str], fitted: list[str]) -> None:
    """A program in ``p.json``, fitted once."""
    loopback.answer = answer
    loopback.complete = echoing(lambda word: -1.0)
    if not fitted:
        assert go(loopback, "fit", "--journal", "fit.sqlite") == 0, capfd.readouterr().err
        fitted.append(Path("new.json").read_text())
    Path("p.json").write_text(fitted[0])


def test_no_secret_in_what_a_good_run_leaves(
    loopback: Loopback,
    program: None,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    for run in RUNS:
        code = go(loopback, run, *() if run == "check" else ("--journal", "j.sqlite"))
        assert code in {0, 7}, (run, capfd.readouterr().err)
    assert {asked.headers["authorization"] for asked in loopback.asked} == {f"Bearer {KEY}"}  # the canary did travel
    check_nothing_leaked(tmp_path, *capfd.readouterr(), caplog.text)


@pytest.mark.parametrize("failure", FAILURES)
def test_no_secret_in_what_a_failed_run_leaves(
    loopback: Loopback,
    program: None,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    failure: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    loopback.answer = FAILURES[failure]
    loopback.complete = loopback.answer
    said = ""
    for run in RUNS:
        code = go(loopback, run, *() if run == "check" else ("--journal", "j.sqlite"))
        out, err = capfd.readouterr()
        said += out + err
        assert code != 0, run
        assert "Traceback" not in err
    check_nothing_leaked(tmp_path, said, caplog.text)


@pytest.mark.parametrize("run", ["fit", "score", "compare"])
def test_no_secret_in_a_traceback(
    loopback: Loopback, program: None, tmp_path: Path, capfd: pytest.CaptureFixture[str], run: str
) -> None:
    def broken(name: str, **options: Any) -> LanguageModel:
        lm = opened(name, **options)
        secret = lm._secrets

        def send(request: object) -> Any:
            return {}[len(secret)]  # a mistake of ours, next to the keys

        lm._send = send
        return lm

    model = () if run == "score" else ("--lm", "openai/judge")
    main(
        [*RUNS[run], *model, "--api-base", loopback.api_base, "--api-key-env", "MY_KEY", "--journal", "none"],
        opener=broken,
    )
    out, err = capfd.readouterr()
    assert "KeyError" in out + err
    check_nothing_leaked(tmp_path, out, err)


@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_password_in_an_address_is_refused_and_not_repeated(
    loopback: Loopback, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    address = loopback.api_base.replace("//", f"//user:{USER}@") + f"?key={USER}"
    more = ("--api-base", address)
    if how == "variable":
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        more = ()
    assert main([*RUNS["fit"], "--lm", "openai/judge", *more], opener=opened) == 4
    out, err = capfd.readouterr()
    assert "user name, password or query" in err
    assert loopback.calls == 0
    check_nothing_leaked(tmp_path, out, err)


def test_a_proxy_that_is_not_there_is_told_without_its_password(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    command = [*RUNS["fit"], "--lm", "openai/judge", "--api-base", "http://judge.example.invalid/v1"]
    assert main(command, opener=opened) == 4
    out, err = capfd.readouterr()
    assert "failed to connect to 127.0.0.1:9" in err  # which is the proxy
    check_nothing_leaked(tmp_path, out, err, caplog.text)


@pytest.mark.parametrize(
    "address", [f"socks5://user:{PROXY}@127.0.0.1:9", f"https://user:{PROXY}@[::1", f"http://{PROXY}:{PROXY}/9@[::1"]
)
def test_a_proxy_that_cannot_be_used_is_told_without_its_password(
    address: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", address)
    for evaluator in ("zero-shot", "gpt-score"):
        command = [*RUNS["fit"][:-6], "--evaluator", evaluator, "--api-base", "http://judge.example.invalid/v1"]
        assert main([*command, "--lm", "openai/judge"], opener=opened) == 4
    check_nothing_leaked(tmp_path, *capfd.readouterr())


@pytest.mark.filterwarnings("ignore:.*ReadOnly.*:UserWarning")  # LiteLLM's, which sends headers of one's own
@pytest.mark.parametrize("status", [200, 401, 500])
def test_the_headers_of_a_model_of_ones_own_are_in_nothing(
    loopback: Loopback, tmp_path: Path, capfd: pytest.CaptureFixture[str], status: int
) -> None:
    import dspy

    from active_critic import ZeroShot, errors

    message = f"you sent {HEADER} and {KEY}"
    loopback.answer = answer if status == 200 else lambda body: Fault(status=status, message=message)
    inner = dspy.LM("openai/x", api_base=loopback.api_base, api_key=KEY, headers={"X-Gate": HEADER})
    lm = open_lm(inner)
    lm._wait = lambda _: None
    said = repr(lm) + repr(lm.identity)
    try:
        with ZeroShot(lm, journal="own.sqlite") as judge:
            judge.fit("examples.jsonl", scale="0..5").save("own.json")
            said += repr(judge.score("a text")) + judge.signature
    except errors.ModelError as problem:
        said += str(problem)
    assert any(asked.headers.get("x-gate") == HEADER for asked in loopback.asked)
    check_nothing_leaked(tmp_path, said, *capfd.readouterr())

"""An endpoint that echoes prompts with their log-probabilities, and what goes wrong there."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from conftest_lm import KEY
from loopback import Fault, Loopback, _Handler, echoing, serving, too_many

from active_critic import errors
from active_critic.journal import Journal
from active_critic.lm import LanguageModel
from active_critic.lm.body import bounded_client
from active_critic.lm.echoing import Echoing, seconds_in
from active_critic.lm.retrying import RETRIES, WHERE_LIMITED
from active_critic.records import Usage

ASK = [("system", "Write well."), ("user", "A lake.")]
GOOD = echoing(lambda _: -1.5)


@pytest.fixture
def lm(lm: LanguageModel, loopback: Loopback) -> LanguageModel:
    loopback.complete = GOOD
    return lm


def changed(change: Callable[[Any], object]) -> Callable[[dict[str, Any]], Any]:
    """An endpoint that echoes, whose answer was changed."""

    def complete(body: dict[str, Any]) -> Any:
        answer = GOOD(body)
        change(answer)
        return answer

    return complete


def given(answer: Any, **values: Any) -> None:
    answer["choices"][0]["logprobs"].update(values)


# --- answers that are none ------------------------------------------------------------------------------------------

GARBLED: dict[str, Callable[[Any], object]] = {
    **{f"choices {v!r}": lambda a, v=v: a.update(choices=v) for v in (None, [], "abc", 5, {}, [None], ["a"])},
    **{f"text {v!r}": lambda a, v=v: a["choices"][0].update(text=v) for v in (5, ["a"])},
    **{f"logprobs {v!r}": lambda a, v=v: a["choices"][0].update(logprobs=v) for v in ("x", 5, [])},
    **{f"tokens {v!r}": lambda a, v=v: given(a, tokens=v) for v in ([5, 6], [None], "abc", 5)},
    **{f"probabilities {v!r}": lambda a, v=v: given(a, token_logprobs=v) for v in (["a"], 5, [[1]], [True], [10**400])},
    **{f"offsets {v!r}": lambda a, v=v: given(a, tokens=["x"], text_offset=v) for v in ("a", 5, [None], [1.5])},
}


@pytest.mark.parametrize("change", GARBLED.values(), ids=GARBLED)
def test_a_garbled_answer_is_asked_for_again_and_then_told(
    lm: LanguageModel, loopback: Loopback, change: Callable[[Any], object]
) -> None:
    loopback.complete = changed(change)
    with pytest.raises(errors.EndpointDown, match="openai/x: the endpoint does not answer"):
        lm.likelihood(ASK, "It lay still.")
    assert loopback.calls == 1 + RETRIES
    assert lm.usage == Usage(calls=4, prompt_tokens=4 * 10, completion_tokens=4)


@pytest.mark.parametrize("body", [b"[]", b"5", b'"x"', b"null", b"[" * 100_000])
def test_a_body_that_is_no_object_is_a_failure_of_the_endpoint(
    lm: LanguageModel, loopback: Loopback, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr("loopback._Handler._send", lambda handler, *_: handler._send_bytes(200, body))
    with pytest.raises(errors.EndpointDown, match="its answer is no"):
        lm.likelihood(ASK, "a lake")
    assert loopback.calls == 1 + RETRIES


@pytest.mark.parametrize("figures", [{"prompt_tokens": True}, {"prompt_tokens": -5}, {"prompt_tokens": "a"}, [], 5])
def test_figures_of_usage_that_are_none_are_unknown(lm: LanguageModel, loopback: Loopback, figures: Any) -> None:
    loopback.complete = changed(lambda answer: answer.update(usage=figures))
    measured = lm.likelihood(ASK, "It lay still.").usage
    assert (measured.calls, measured.prompt_tokens, measured.completion_tokens) == (1, 0, 0)
    assert not isinstance(measured.prompt_tokens, bool)


# --- failures that are sent as successes ----------------------------------------------------------------------------


def failing(code: object, message: str = "upstream overloaded") -> dict[str, Any]:
    return {"error": {"message": message, "code": code}}


@pytest.mark.parametrize(
    "passing", [failing(503), failing("429"), failing(None), {"error": "oops"}, {"id": "x", "choices": []}]
)
def test_a_passing_failure_that_comes_as_a_success_is_waited_for(
    lm: LanguageModel, loopback: Loopback, passing: dict[str, Any]
) -> None:
    left = [passing]
    loopback.complete = lambda body: left.pop() if left else GOOD(body)
    assert lm.gives_likelihood
    assert loopback.calls == 2


@pytest.mark.parametrize(
    ("reply", "kind", "calls"),
    [
        (failing(503), errors.EndpointDown, 1 + RETRIES),
        (failing(429), errors.RateLimited, 1 + WHERE_LIMITED * RETRIES),
        (failing("rate_limit_exceeded"), errors.RateLimited, 1 + WHERE_LIMITED * RETRIES),
        (failing(401, f"bad key {KEY}"), errors.AuthenticationFailed, 1),
        (failing("insufficient_quota"), errors.BillingStopped, 1),
        (failing(400, "maximum context length is 10"), errors.ContextOverflow, 1),
        (failing(400, "echo is not supported"), errors.RequestRefused, 1),
    ],
)
def test_what_failed_is_told_by_the_code(
    lm: LanguageModel, loopback: Loopback, reply: dict[str, Any], kind: type[errors.ModelError], calls: int
) -> None:
    loopback.complete = lambda _: reply
    with pytest.raises(errors.ModelError) as caught:
        lm.likelihood(ASK, "a lake")
    assert type(caught.value) is kind
    assert KEY not in str(caught.value)
    assert loopback.calls == calls


# --- how long to wait -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["nan", "inf", "-5", "1e400", "0x10", "3, 3", "", "Wed, 21 Oct 2015 07:28:00"])
def test_an_endpoint_that_says_nothing_of_use_is_waited_for_as_ever(
    lm: LanguageModel, loopback: Loopback, said: str
) -> None:
    waits: list[float] = []
    lm._wait, lm.workers = waits.append, 1
    left: list[Fault] = [too_many(said)]
    loopback.complete = lambda body: left.pop() if left else GOOD(body)
    assert lm.likelihood(ASK, "a lake").usage.calls == 2
    assert waits == [1.0]


def test_a_date_to_wait_for_is_understood() -> None:
    def at(seconds: float) -> float | None:
        return seconds_in({"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)})

    assert at(20) == pytest.approx(20, abs=2)
    assert at(-1000) == 0
    assert seconds_in({"retry-after": "7"}) == 7
    assert seconds_in({}) is None


@pytest.mark.parametrize("value", [float("inf"), 5.0, 1e308])
def test_an_impossible_probability_is_refused_and_not_kept(
    lm: LanguageModel, loopback: Loopback, tmp_path: Path, value: float
) -> None:
    loopback.complete = echoing(lambda _: value)
    with Journal(tmp_path / "j.sqlite") as journal, lm.remembering(journal):
        with pytest.raises(errors.UnreadableReply, match="or an impossible one"):
            lm.likelihood(ASK, "a lake")
        loopback.complete = GOOD
        assert lm.likelihood(ASK, "a lake").mean == -1.5


# --- connections ----------------------------------------------------------------------------------------------------


def test_all_calls_go_through_one_client_which_is_closed_with_the_model(
    lm: LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr("active_critic.lm.echoing.bounded_client", lambda: made.append(bounded_client()) or made[-1])
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: lm.likelihood(ASK, f"a lake {number}").mean, range(12)))
    assert found == [-1.5] * 12
    assert [client.is_closed for client in made] == [False]
    lm.close()
    lm.close()
    assert [client.is_closed for client in made] == [True]
    assert lm.likelihood(ASK, "a lake").mean == -1.5  # with another one
    assert len(made) == 2


def test_a_model_that_is_forgotten_leaves_no_connection_open(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr("active_critic.lm.echoing.bounded_client", lambda: made.append(bounded_client()) or made[-1])
    loopback.complete = GOOD
    weigh = Echoing("x", loopback.api_base, KEY, 20.0)
    assert weigh(ASK, "a lake").mean == -1.5
    del weigh
    until = time.monotonic() + 20
    while not made[0].is_closed:  # the thread that asked may be letting go of it just now
        assert time.monotonic() < until
        time.sleep(0.02)
        gc.collect()
    assert len(made) == 1


def test_texts_are_not_sent_on_to_another_address(
    lm: LanguageModel, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as other:
        other.complete = GOOD
        away = {"Location": f"{other.api_base}/completions"}
        send = _Handler._send_bytes
        monkeypatch.setattr(
            _Handler,
            "_send",
            lambda handler, *_: send(handler, 307, b"{}", away) if handler.loopback is loopback else None,
        )
        with pytest.raises(errors.RequestRefused, match="it points to another address"):
            lm.likelihood(ASK, "a lake")
        assert (loopback.calls, other.calls) == (1, 0)

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from conftest_lm import EVERYTHING, KEY
from loopback import LLAMA_OVERFLOW, OPENAI_OVERFLOW, Asked, Fault, Loopback, Say, refused, too_many

from active_critic import errors
from active_critic.errors import ModelError
from active_critic.lm import LanguageModel, Reply, Token, open_lm, scripted_lm
from active_critic.lm.failures import translate
from active_critic.lm.reply import as_response
from active_critic.lm.retrying import LONGEST_WAIT, RETRIES
from active_critic.protocols import Reading
from active_critic.reading import read_form, read_rating
from active_critic.records import Usage

ASK = [("system", "Judge."), ("user", "How good?")]


# --- what goes over the wire ----------------------------------------------------------------------------------------


def test_the_request_is_exactly_this(lm: LanguageModel, loopback: Loopback) -> None:
    schema = {"type": "object", "properties": {"overall": {"type": "integer", "enum": [1, 2]}}, "required": ["overall"]}
    lm.ask(
        [("system", "Judge."), ("user", "One"), ("assistant", "2"), ("user", "Two")],
        max_tokens=40,
        schema=schema,
        top_logprobs=8,
        stop=['"justification"'],
    )
    (asked,) = loopback.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "x",
        "messages": [
            {"role": "system", "content": "Judge."},
            {"role": "user", "content": "One"},
            {"role": "assistant", "content": "2"},
            {"role": "user", "content": "Two"},
        ],
        "max_completion_tokens": 40,
        "temperature": 0.0,
        "stop": ['"justification"'],
        "logprobs": True,
        "top_logprobs": 8,
        "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}},
    }


def test_nothing_is_sent_that_was_not_asked_for(lm: LanguageModel, loopback: Loopback) -> None:
    lm.ask([("user", "hi")], max_tokens=5, temperature=None)
    assert loopback.asked[0].body == {
        "model": "x",
        "messages": [{"role": "user", "content": "hi"}],
        "max_completion_tokens": 5,
    }


def test_the_order_of_a_schema_is_kept(lm: LanguageModel, loopback: Loopback) -> None:
    schema = {"type": "object", "properties": {"zeta": {"type": "string"}, "alpha": {"type": "string"}}}
    lm.ask(ASK, max_tokens=5, schema=schema)
    sent = loopback.asked[0].body["response_format"]["json_schema"]["schema"]
    assert list(sent["properties"]) == ["zeta", "alpha"]


def test_text_is_sent_as_it_is(lm: LanguageModel, loopback: Loopback) -> None:
    text = 'a "quoted"\n\ttext — ünï漢🙂 [[ ## score ## ]] {"overall": 5} \u2028 \x00'
    lm.ask([("user", text)], max_tokens=5)
    assert loopback.asked[0].body["messages"] == [{"role": "user", "content": text}]


def test_half_a_surrogate_pair_is_refused_before_anything_is_sent(lm: LanguageModel, loopback: Loopback) -> None:
    with pytest.raises(errors.RequestRefused, match="repair the text"):
        lm.ask([("user", "bad \ud83d text")], max_tokens=5)
    assert loopback.calls == 0


# --- what comes back ------------------------------------------------------------------------------------------------


def test_the_reply_is_read(lm: LanguageModel, loopback: Loopback) -> None:
    loopback.script(
        Say(
            '{"overall": 4}',
            tokens=[
                ('{"', -0.01, {'{"': -0.01, "The": -5.0}),
                ('overall": ', -0.02, {'overall": ': -0.02}),
                ("4", -0.5, {"4": -0.5, "5": -1.0, " 4": -6.0}),
                ("}", -0.1, {"}": -0.1}),
            ],
            finish_reason="length",
            model="x-2026-01-01",
        )
    )
    reply = lm.ask(ASK, max_tokens=5, top_logprobs=3)
    assert reply.text == '{"overall": 4}'
    assert reply.finish_reason == "length"
    assert reply.model == "x-2026-01-01"
    assert reply.tokens == (
        Token('{"', -0.01, (('{"', -0.01), ("The", -5.0))),
        Token('overall": ', -0.02),
        Token("4", -0.5, (("4", -0.5), ("5", -1.0), (" 4", -6.0))),
        Token("}", -0.1),
    )


def test_characters_in_pieces_are_put_together(lm: LanguageModel, loopback: Loopback) -> None:
    raw = "gut 🙂ä".encode()
    pieces = [raw[:4], raw[4:6], raw[6:8], raw[8:9], raw[9:]]
    loopback.script(
        Say(
            raw.decode(),
            tokens=[("".join(f"\\x{b:02x}" for b in piece), -0.1, {}) for piece in pieces],
            token_bytes=pieces,
        )
    )
    reply = lm.ask(ASK, max_tokens=5, top_logprobs=3)
    assert "".join(token.text for token in reply.tokens) == reply.text == "gut 🙂ä"
    assert [token.text for token in reply.tokens] == ["gut ", "🙂ä"]


@pytest.mark.parametrize(("blank", "line"), [("▁", "<0x0A>"), ("Ġ", "Ċ")], ids=["SentencePiece", "byte-level BPE"])
def test_tokens_as_a_tokeniser_writes_them_are_read_as_text(
    lm: LanguageModel, loopback: Loopback, blank: str, line: str
) -> None:
    rated = (f"{blank}4", -0.5, {f"{blank}4": -0.5, f"{blank}5": -1.0})
    tokens = [("{", 0.0, {}), (line, 0.0, {}), ('"overall":', -0.1, {}), rated, (f"{line}}}", 0.0, {})]
    text = '{\n"overall": 4\n}'
    loopback.script(Say(text, tokens=tokens))
    reply = lm.ask(ASK, max_tokens=5, top_logprobs=3)
    assert "".join(token.text for token in reply.tokens) == reply.text == text
    read = read_form(reply, first="overall")
    rating = read_rating(reply, read, ("overall",), Reading(low=1, high=5, source="probabilities"))
    assert (rating.read_from, round(rating.value, 3)) == ("probabilities", round(4 + 1 / (1 + math.e**0.5), 3))


def test_a_text_that_holds_such_letters_is_left_as_it_is(lm: LanguageModel, loopback: Loopback) -> None:
    text = "Ġimgħa ▁ <0x0A>"
    loopback.script(Say(text, tokens=[("Ġimgħa", -0.1, {}), (" ▁ <0x0A>", -0.1, {})]))
    reply = lm.ask(ASK, max_tokens=5, top_logprobs=3)
    assert "".join(token.text for token in reply.tokens) == reply.text == text


def test_usage_is_counted(lm: LanguageModel, loopback: Loopback) -> None:
    loopback.script(
        Fault(), Say("a", prompt_tokens=100, cached_tokens=90, completion_tokens=5), Say("b", prompt_tokens=10)
    )
    first, second = lm.ask(ASK, max_tokens=5), lm.ask(ASK, max_tokens=6)
    assert first.usage.calls == 2
    assert (first.usage.prompt_tokens, first.usage.cached_tokens, first.usage.completion_tokens) == (100, 90, 5)
    assert (second.usage.calls, second.usage.cached_tokens) == (1, 0)
    assert lm.usage.calls == loopback.calls == 3
    assert (lm.usage.prompt_tokens, lm.usage.cached_tokens, lm.usage.completion_tokens) == (110, 90, 8)
    assert lm.usage.seconds == pytest.approx(first.usage.seconds + second.usage.seconds)
    assert lm.usage.cost is None


def test_calls_that_failed_are_counted(lm: LanguageModel, loopback: Loopback) -> None:
    loopback.script(Fault())
    with pytest.raises(errors.EndpointDown):
        lm.ask(ASK, max_tokens=5)
    assert lm.usage == Usage(calls=4)


def test_a_reply_survives_json() -> None:
    reply = Reply("täxt", "length", (Token("4", -0.1, (("4", -0.1), ("5", -2.5))), Token("x", -1e9)), Usage(1), "m")
    assert Reply.from_json(reply.to_json()) == reply


def test_probabilities_of_zero_do_not_spoil_a_reply() -> None:
    lm = scripted_lm(lambda _: "4", levels=lambda _: {"4": 1.0, "5": 0.0})
    reply = lm.ask(ASK, max_tokens=1, top_logprobs=5)
    assert reply.tokens[0].top == (("4", 0.0),)
    assert Reply.from_json(reply.to_json()).tokens == reply.tokens


# --- faults ---------------------------------------------------------------------------------------------------------

RETRYABLE = [
    (too_many(), errors.RateLimited),
    (Fault(status=500), errors.EndpointDown),
    (Fault(status=502), errors.EndpointDown),
    (Fault(status=503), errors.EndpointDown),
    (Fault(status=504), errors.EndpointDown),
    (Fault(status=529), errors.EndpointDown),
    (Fault(status=408), errors.EndpointDown),
    (Fault("reset"), errors.EndpointDown),
    (Fault("empty"), errors.EndpointDown),
    (Fault("broken"), errors.EndpointDown),
]
FINAL = [
    (Fault(status=401, message="bad key", code="invalid_api_key"), errors.AuthenticationFailed),
    (Fault(status=403, message="not allowed"), errors.AuthenticationFailed),
    (Fault(status=402, message="pay first"), errors.BillingStopped),
    (Fault(status=429, message="quota", type="insufficient_quota", code="insufficient_quota"), errors.BillingStopped),
    (refused("logprobs is not supported"), errors.RequestRefused),
    (refused("response_format is not supported"), errors.RequestRefused),
    (refused("temperature does not support 0"), errors.RequestRefused),
    (Fault(status=422, message="bad field"), errors.RequestRefused),
    (LLAMA_OVERFLOW, errors.ContextOverflow),
    (OPENAI_OVERFLOW, errors.ContextOverflow),
]


@pytest.mark.parametrize(("fault", "error"), RETRYABLE, ids=lambda x: getattr(x, "how", None))
def test_what_may_pass_is_tried_again(
    lm: LanguageModel, loopback: Loopback, waits: list[float], fault: Fault, error: type[ModelError]
) -> None:
    loopback.script(fault)
    with pytest.raises(error, match="openai/x"):
        lm.ask(ASK, max_tokens=5)
    assert RETRIES == 3
    expected = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0] if error is errors.RateLimited else [1.0, 2.0, 4.0]
    assert waits == expected
    assert loopback.calls == 1 + len(expected)
    loopback.script(fault, fault, Say("at last"))
    assert lm.ask(ASK, max_tokens=5).text == "at last"
    assert loopback.calls == 1 + len(expected) + 3


@pytest.mark.parametrize(("chance", "waited"), [(0.0, 8.0), (0.5, 9.0), (1.0, 10.0)])
def test_calls_that_are_limited_together_wait_up_to_a_quarter_longer_and_do_not_all_come_again_at_once(
    lm: LanguageModel,
    loopback: Loopback,
    waits: list[float],
    monkeypatch: pytest.MonkeyPatch,
    chance: float,
    waited: float,
) -> None:
    monkeypatch.setattr("active_critic.lm.retrying.chance", lambda: chance)
    assert lm.workers > 1
    loopback.script(too_many("8"), Fault(status=500), Say("ok"))
    assert lm.ask(ASK, max_tokens=5).text == "ok"
    assert waits == [waited, 2.0]
    lm.workers = 1
    loopback.script(too_many("8"), Say("ok"))
    lm.ask([("user", "something else")], max_tokens=5)
    assert waits[2:] == [8.0]


@pytest.mark.parametrize(("fault", "error"), FINAL, ids=lambda x: str(getattr(x, "status", "")))
def test_what_will_not_pass_is_tried_once(
    lm: LanguageModel, loopback: Loopback, waits: list[float], fault: Fault, error: type[ModelError]
) -> None:
    loopback.script(fault)
    with pytest.raises(error) as caught:
        lm.ask(ASK, max_tokens=5)
    assert type(caught.value) is error
    assert fault.message in str(caught.value)
    assert "RouterConfig" not in str(caught.value)
    assert loopback.calls == 1
    assert waits == []


@pytest.mark.parametrize(
    "message",
    [
        'model "x" not found, try pulling it first',
        "The API deployment for this resource does not exist",
        "No endpoints found for x.",
        "models/x is not found for API version v1beta",
    ],
)
def test_a_404_that_speaks_of_the_model_is_an_unknown_model(
    lm: LanguageModel, loopback: Loopback, message: str
) -> None:
    loopback.script(Fault(status=404, message=message))
    with pytest.raises(errors.UnknownModel, match="no such model") as caught:
        lm.ask(ASK, max_tokens=5)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "page", ["<html><h1>404 Not Found</h1><hr>nginx</html>" + " " * 9 + "pad " * 99, "", "Not Found"]
)
def test_any_other_404_is_a_wrong_address(lm: LanguageModel, loopback: Loopback, page: str) -> None:
    loopback.script(Fault(status=404, message=page))
    with pytest.raises(errors.UnknownModel, match="404: nothing answers at this address") as caught:
        lm.ask(ASK, max_tokens=5)
    assert "an OpenAI-compatible address usually ends in /v1" in str(caught.value)
    assert "no such model" not in str(caught.value)
    assert page[:20] in str(caught.value)
    assert len(str(caught.value)) < 250
    assert loopback.calls == 2  # by the whole name, too


def test_a_final_fault_after_a_passing_one_ends_it(lm: LanguageModel, loopback: Loopback, waits: list[float]) -> None:
    loopback.script(Fault(), Fault(status=401))
    with pytest.raises(errors.AuthenticationFailed):
        lm.ask(ASK, max_tokens=5)
    assert loopback.calls == 2
    assert waits == [1.0]


@pytest.mark.parametrize(
    ("header", "waited"),
    [("7", 7.0), ("0", 1.0), ("0.5", 1.0), ("500", LONGEST_WAIT), ("Wed, 21 Oct 2099 07:28:00 GMT", LONGEST_WAIT)],
)
def test_retry_after_is_honoured(
    lm: LanguageModel, loopback: Loopback, waits: list[float], header: str, waited: float
) -> None:
    loopback.script(too_many(header), Say("ok"))
    assert lm.ask(ASK, max_tokens=5).text == "ok"
    assert waits == [waited]


@pytest.mark.parametrize("header", ["soon", "-5", "nan", "inf", ""])
def test_a_retry_after_that_is_none_is_passed_over(
    lm: LanguageModel, loopback: Loopback, waits: list[float], header: str
) -> None:
    loopback.script(too_many(header), Say("ok"))
    assert lm.ask(ASK, max_tokens=5).text == "ok"
    assert waits == [1.0]


def test_a_503_may_say_when_to_come_back(lm: LanguageModel, loopback: Loopback, waits: list[float]) -> None:
    loopback.script(Fault(status=503, retry_after="9"), Say("ok"))
    lm.ask(ASK, max_tokens=5)
    assert waits == [9.0]


def test_nothing_there_is_tried_again(waits: list[float]) -> None:
    lm = open_lm("openai/x", api_base="http://127.0.0.1:9/v1")
    lm._wait = waits.append
    with pytest.raises(errors.EndpointDown, match=r"127\.0\.0\.1:9"):
        lm.ask(ASK, max_tokens=5)
    assert waits == [1.0, 2.0, 4.0]


def test_an_endpoint_that_is_too_slow_is_down(loopback: Loopback) -> None:
    loopback.script(Say("late", slow=0.2))
    lm = open_lm("openai/x", api_base=loopback.api_base, timeout=0.05)
    lm._wait = lambda _: None
    with pytest.raises(errors.EndpointDown):
        lm.ask(ASK, max_tokens=5)
    assert loopback.calls == 4


def test_an_interrupt_is_not_swallowed() -> None:
    def interrupt(_: object) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scripted_lm(interrupt).ask(ASK, max_tokens=5)


# --- secrets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_no_message_shows_the_key(lm: LanguageModel, loopback: Loopback, status: int) -> None:
    loopback.script(Fault(status=status, message=f"Incorrect API key provided: {KEY}. Header: Bearer {KEY}", code=KEY))
    with pytest.raises(ModelError) as caught:
        lm.ask(ASK, max_tokens=5)
    assert KEY not in str(caught.value)
    assert "***" in str(caught.value)
    assert KEY not in repr(lm) + repr(lm.identity)
    if status == 401:
        assert "OPENAI_API_KEY" in str(caught.value)


# --- translation ----------------------------------------------------------------------------------------------------


def theirs() -> Any:
    from dspy.utils import exceptions

    return exceptions


@pytest.mark.parametrize(
    ("make", "error", "retryable"),
    [
        (lambda: theirs().LMTransportError("x"), errors.EndpointDown, True),
        (lambda: theirs().LMTimeoutError("x"), errors.EndpointDown, True),
        (lambda: theirs().LMServerError("x"), errors.EndpointDown, True),
        (lambda: theirs().LMRateLimitError("x", retry_after=3.0), errors.RateLimited, True),
        (lambda: theirs().LMAuthError("x"), errors.AuthenticationFailed, False),
        (lambda: theirs().LMNotConfiguredError("x"), errors.AuthenticationFailed, False),
        (lambda: theirs().LMBillingError("x"), errors.BillingStopped, False),
        (lambda: theirs().ContextWindowExceededError(message="x"), errors.ContextOverflow, False),
        (lambda: theirs().LMUnsupportedModelError("x"), errors.UnknownModel, False),
        (lambda: theirs().LMInvalidRequestError("x", status=404), errors.UnknownModel, False),
        (lambda: theirs().LMInvalidRequestError("x", status=400), errors.RequestRefused, False),
        (lambda: theirs().LMUnsupportedFeatureError("x", feature="logprobs"), errors.RequestRefused, False),
        (lambda: theirs().LMConfigurationError("x"), errors.UnknownModel, False),
        (lambda: theirs().LMProviderError("x", status=200), errors.EndpointDown, True),
        (lambda: theirs().LMProviderError("x", status=418), errors.RequestRefused, False),
        (lambda: theirs().LMUnexpectedError("x"), errors.EndpointDown, True),
        (lambda: ConnectionRefusedError("x"), errors.EndpointDown, True),
        (lambda: TimeoutError("x"), errors.EndpointDown, True),
    ],
)
def test_every_failure_of_a_provider_has_one_of_ours(
    make: Callable[[], Exception], error: type[ModelError], retryable: bool
) -> None:
    translated = translate(make(), "openai/x")
    assert type(translated) is error
    assert translated.retryable is retryable
    assert "openai/x" in str(translated)


def test_what_is_no_failure_of_a_provider_is_left_alone() -> None:
    assert translate(ValueError("a bug"), "openai/x") is None
    ours = errors.RateLimited("x", retry_after=2.0)
    assert translate(ours, "openai/x") is ours


@pytest.mark.parametrize(
    ("said", "reason", "note"),
    [
        ("failed to connect to 10.0.0.7:80: refused", "failed to connect: refused", "failed to connect to 10.0.0.7:80"),
        ("timed out connecting to [::1]:80", "timed out connecting", "timed out connecting to [::1]:80"),
    ],
)
def test_the_address_of_an_endpoint_is_told_beside_the_reason(said: str, reason: str, note: str) -> None:
    translated = translate(theirs().LMTransportError(said), "openai/x")
    assert str(translated) == f"openai/x: the endpoint does not answer ({reason})"
    assert translated.__notes__ == [f"It {note}."]


def test_a_message_keeps_what_was_said_and_drops_the_advice_of_a_library() -> None:
    message = "first line\n\nsecond paragraph\n\n  To fix:\n    - pass RouterConfig(...)"
    said = str(translate(theirs().LMInvalidRequestError(message, model="other/name"), "openai/x"))
    assert said == "openai/x: the endpoint refused the request (first line\n\nsecond paragraph)"


def test_prompts_are_not_heaped_up_in_memory(loopback: Loopback) -> None:
    import dspy

    inner = dspy.LM("openai/x", api_base=loopback.api_base, api_key="k")
    lm = open_lm(inner)
    lm.ask(ASK, max_tokens=5)
    cells = [cell.cell_contents for cell in lm._send.__closure__ or ()]
    sent_through = [cell for cell in cells if isinstance(cell, dspy.LM)]
    assert sent_through
    assert all(model.history == [] for model in [inner, *sent_through])


def test_a_short_answer_is_no_noise_on_the_terminal(
    lm: LanguageModel, loopback: Loopback, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    loopback.script(Say("4", finish_reason="length"))
    assert lm.ask(ASK, max_tokens=1).finish_reason == "length"
    assert caplog.records == []
    assert capfd.readouterr() == ("", "")


def test_a_priced_model_has_a_cost(loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    from dspy.lm15 import Message, Response
    from dspy.lm15 import Usage as Theirs

    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def send(request: Any) -> Any:
        used = Theirs(input_tokens=1_000_000, output_tokens=1_000_000)
        return Response(id=None, model="gpt-4.1-mini", message=Message.assistant("4"), finish_reason="stop", usage=used)

    lm = open_lm("openai/gpt-4.1-mini")
    lm._send = send
    assert lm.ask(ASK, max_tokens=5).usage.cost == pytest.approx(0.40 + 1.60)
    lm.ask(ASK, max_tokens=5)
    assert lm.usage.cost == pytest.approx(2 * (0.40 + 1.60))
    assert lm.identity == {"name": "openai/gpt-4.1-mini", "endpoint": "the provider's own"}

    unpriced = open_lm("openai/no-such-model-at-all")
    unpriced._send = lambda request: Response(
        id=None,
        model="no-such-model-at-all",
        message=Message.assistant("4"),
        finish_reason="stop",
        usage=Theirs(input_tokens=1, output_tokens=1),
    )
    assert unpriced.ask(ASK, max_tokens=5).usage.cost is None


def test_the_fixture_records_what_was_asked(loopback: Loopback, lm: LanguageModel) -> None:
    lm.ask(ASK, max_tokens=5)
    assert isinstance(loopback.asked[0], Asked)


FLAT = {"type": "object", "properties": {"overall": {"type": "integer"}, "advice": {"type": "string"}}}
NESTED = {"type": "object", "properties": {"scores": {"type": "object", "properties": {"Tact": {"type": "integer"}}}}}


@pytest.mark.parametrize(
    ("came", "ending", "text"),
    [
        ('{"overall": 4', "stop", '{"overall": 4}'),
        ('{"overall": 4}', "stop", '{"overall": 4}'),
        ('{"over', "length", '{"over'),
    ],
)
def test_an_embedded_model_writes_no_blanks_behind_a_form(came: str, ending: str, text: str) -> None:
    asked: list[Any] = []

    def send(request: Any) -> Any:
        asked.append(request.config)
        return replace(as_response("m", Usage(prompt_tokens=9, completion_tokens=4), came), finish_reason=ending)

    def filled(schema: Any, identity: dict[str, str]) -> str:
        lm = LanguageModel("m", send, identity=identity, capabilities=EVERYTHING)
        return lm.fill([("user", "?")], schema, max_tokens=9, stop=('"advice"',)).text

    assert filled(FLAT, {"name": "m", "weights": "abc"}) == text
    assert filled(NESTED, {"name": "m", "weights": "abc"}) == came
    assert filled(FLAT, {"name": "m", "endpoint": "http://x/v1"}) == came
    assert [config.stop for config in asked] == [("}\n",), (), ()]

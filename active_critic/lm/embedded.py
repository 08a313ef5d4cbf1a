"""Open an embedded model: weights from the catalogue or a GGUF file, behind a server of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from active_critic.lm.client import LanguageModel
from active_critic.lm.environment import spare_loopback_the_proxy
from active_critic.lm.likelihood import forcing, templated
from active_critic.lm.sending import directly, import_dspy
from active_critic.lm.stepping import stepping

LOCAL_TIMEOUT = 900.0
"""Seconds to wait for a reply; an embedded model on two cores may need minutes for a long text."""


def open_embedded(name: str, context: int, strict: bool, timeout: float) -> LanguageModel:
    """Open an embedded model; arguments and errors: see ``opening.open_lm``."""
    from active_critic.lm.server import LocalServer
    from active_critic.lm.weights import open_weights

    path, sha256, model = open_weights(name)
    label = model.name if model else Path(path).stem
    if model is not None:
        context = min(context, model.context)
    spare_loopback_the_proxy("127.0.0.1")
    server = LocalServer(path, alias=label, context=context)
    server.start()
    import_dspy()

    def post(path: str, body: dict[str, Any]) -> Any:
        return server.post(path, body, timeout)

    send, hang_up = directly(f"openai/{label}", server.api_key, server.api_base, timeout)

    def at_once() -> bool:
        can = lm.known_capabilities
        return can is not None and not can.thinks

    def close() -> None:
        hang_up()
        server.close()

    lm = LanguageModel(
        label,
        send if strict else stepping(send, post, label, timeout, at_once),
        identity={"name": label, "weights": sha256, "context": str(context)},
        context=min(context, server.context),  # it takes less where the model was trained for less
        workers=1,
        extensions={"cache_prompt": not strict},
        secrets=(server.api_key,),
        close=close,
        count_tokens=lambda text: len(post("/tokenize", {"content": text, "parse_special": True})["tokens"]),
        render=lambda turns: templated(post, turns),
        weigh=forcing(post, label, context=server.context, cached=not strict),
    )
    return lm

"""What the name of a model says, before anything is opened: what cannot be one, and where it leads."""

from __future__ import annotations

from active_critic.errors import ModelError, UnknownModel
from active_critic.lm.catalogue import find
from active_critic.lm.connection import base_in_environment, without_userinfo


def check_name(
    name: str, api_base: str | None = None, api_key_env: str | None = None, workers: int | None = None
) -> None:
    """Refuse what no model can be opened by, before anything is fetched or started.

    Arguments: see ``opening.open_lm``.

    Raises:
        UnknownModel: The name is empty.
        ModelError: The name is or holds an address that belongs elsewhere, or the model has no use for an option.
    """
    if not name.strip():
        raise UnknownModel("the model's name is empty; give for example local or openai/gpt-4.1-mini")
    before, marks, after = name.strip().partition("://")
    provider, _, scheme = before.rpartition("/")  # "huggingface/https://..." is a name
    if marks:
        address = f"{scheme}://{after}"
        try:
            shown = without_userinfo(address)
        except ValueError:
            shown = f"{scheme}://..."
        if shown != address or (not provider and api_base is None):  # a server may call its model by an address
            raise ModelError(
                f"{shown} stands where the name of a model belongs; give the address with api_base (--api-base), and "
                "keys in environment variables"
            )
    if is_embedded(name, api_base):
        if (workers or 1) > 1:
            raise ModelError(f"{name} is embedded, and answers one call at a time; leave workers (--workers) out")
        if api_key_env is not None:
            raise ModelError(f"{name} is embedded, and asks for no key; leave api_key_env (--api-key-env) out")


def is_embedded(name: str, api_base: str | None) -> bool:
    """Whether a name, with the address that is given beside it, is that of a model which runs here."""
    return api_base is None and ("/" not in name or name.lower().endswith(".gguf"))


def found_by_name(name: str) -> bool:
    """Whether a model that was once at an address of the user's own is found without saying that address again.

    It is where the name is one of the catalogue, or where a variable of its provider's says an address.
    """
    if "/" in name and not name.lower().endswith(".gguf"):
        return base_in_environment(name.split("/", 1)[0]) is not None
    try:
        find(name)
    except UnknownModel:
        return False
    return True


def names_a_place(name: str, api_base: str | None = None) -> bool:
    """Whether a name says where texts go, or which file is opened, so that only the user may say it.

    Args:
        name: The name of a model.
        api_base: The address that is given beside it, if one is: then nothing but an address in the name says so.
    """
    name = name.strip()
    if "://" in name:
        return True
    return api_base is None and (name.lower().endswith(".gguf") or "\\" in name or name.startswith(("/", ".")))

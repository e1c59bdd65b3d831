"""Where a trained head goes: a checkpoint in the public format, and a model folder that can be run at once."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from engine.errors import ConfigError
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.models.eagle_export import write_eagle_checkpoint
from engine.models.folder import CONFIG, read_config, write_config
from engine.models.head_files import convert_head, written_files
from engine.models.model_card import CARD_FILE
from engine.models.mtp_checkpoint import write_mtp_checkpoint


def write_head(folder: Path, head: EagleCheckpoint) -> None:
    """Write the checkpoint so that `folder` holds either the old head or the new one, and never half of one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        write = write_mtp_checkpoint if head.kind == "mtp" else write_eagle_checkpoint
        write(scratch / "new", head)
        if folder.exists():
            folder.rename(scratch / "old")
        (scratch / "new").rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def model_with_head(model: Path, out: Path, head: EagleCheckpoint) -> None:
    """Make `out` a model folder: that of `model` with the head in int8. Other heads that `out` has stay.

    `model` itself is never changed: setup keeps account of its files. Raises `ConfigError` if `out` holds something
    else.
    """
    if out.resolve() == model.resolve():
        raise ConfigError(f"{out} is the model folder itself: give another folder to write the model with its head to.")
    if out.exists() and any(out.iterdir()) and not (out / CONFIG).is_file():
        raise ConfigError(f"{out} holds something that is no model folder: give another --out folder.")
    dims = read_config(model).dims
    out.mkdir(parents=True, exist_ok=True)
    for path in sorted(p for p in model.iterdir() if p.is_file()):
        if path.name not in (*written_files(head.kind), CARD_FILE, CONFIG):
            _place(path, out / path.name)
    with tempfile.TemporaryDirectory(prefix=".head-", dir=out) as name:
        made = Path(name)
        convert_head(head, made, dims)
        for path in made.iterdir():
            path.replace(out / path.name)
    write_config(out, read_config(model))


def _place(source: Path, target: Path) -> None:
    """Copy a file unless an equal one is there. No links: ONNX's loader refuses data files with several names."""
    there, wanted = target.stat() if target.exists() else None, source.stat()
    if there is None or (there.st_size, there.st_mtime_ns) != (wanted.st_size, wanted.st_mtime_ns):
        shutil.copy2(source, target)

"""`model_card.json`: where a model folder came from, and the size and SHA-256 of each of its files."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from engine import progress as steps
from engine.models.fetch import sha256

CARD_FILE = "model_card.json"


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What is known about a folder. `source` says where the model came from, and its `gguf_sha256`."""

    name: str
    precision: str
    converter_version: int
    licence: str
    source: dict[str, Any]
    draft_head: dict[str, Any] | None
    files: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The card of a folder; None where there is none, or none that can be read."""
        try:
            values = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
            card = cls(**{name: values[name] for name in cls.__slots__})
            numbers = [card.converter_version, *(entry["bytes"] for entry in card.files.values())]
            digest = card.source["gguf_sha256"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return card if all(isinstance(n, int) for n in numbers) and isinstance(digest, str) else None

    def write(self, folder: Path) -> None:
        """Write the card, with the time."""
        values = {**asdict(self), "made": datetime.now(UTC).isoformat(timespec="seconds")}
        text = json.dumps(values, indent=1, ensure_ascii=False)
        (folder / CARD_FILE).write_text(text + "\n", encoding="utf-8")

    def is_whole(self, folder: Path) -> bool:
        """Whether every file of the card is there in its size. `doctor` compares the hashes."""
        try:
            return all((folder / name).stat().st_size == entry["bytes"] for name, entry in self.files.items())
        except OSError:
            return False


def describe_files(
    folder: Path,
    progress: steps.ProgressCallback,
    cancel: threading.Event | None,
    known: Mapping[str, dict[str, Any]] | None = None,
) -> dict[str, dict[str, Any]]:
    """Size, SHA-256 and origin of every file in a folder that is being made; what is `known` is not read again."""
    files = dict(known or {})
    for path in sorted(p for p in folder.iterdir() if p.is_file() and p.name not in files):
        files[path.name] = {
            "bytes": path.stat().st_size,
            "sha256": sha256(path, progress, cancel, "Recording the files"),
            "from": "draft_head" if path.name.startswith(("eagle", "mtp")) else "source",
        }
    return dict(sorted(files.items()))


def cards_in(root: Path) -> list[tuple[Path, ModelCard]]:
    """Every folder in `root` that has a card, by name; unfinished ones are not looked at."""
    folders = sorted(p for p in root.iterdir() if not p.name.startswith(".")) if root.is_dir() else []
    return [(folder, card) for folder in folders if (card := ModelCard.read(folder)) is not None]

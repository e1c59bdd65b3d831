"""Makes a folder under assets/heads/ from a draft-head checkpoint: converted, int8, with a card.

    python -m engine.models.ship_head CHECKPOINT_FOLDER MODEL_FOLDER OUT

Knows files; the conversion itself is `head_files.convert_head`. MODEL_FOLDER gives the target's dimensions.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

from engine.models.eagle_checkpoint import read_eagle_checkpoint
from engine.models.folder import read_config
from engine.models.head_files import CARD, convert_head, written_files
from engine.models.mtp_checkpoint import is_mtp_checkpoint, read_mtp_checkpoint

LIMIT = 15_000_000  # bytes a shipped head may take


def ship(checkpoint: Path, model: Path, out: Path) -> int:
    """Convert into `out`, write the card, return the bytes it takes. Facts a card already holds are kept."""
    config = read_config(model)
    read = read_mtp_checkpoint if is_mtp_checkpoint(checkpoint) else read_eagle_checkpoint
    head = read(checkpoint, config.dims)
    for warning in head.warnings:
        print(warning)
    out.mkdir(parents=True, exist_ok=True)
    convert_head(head, out, config.dims)
    files = sorted(p for p in out.iterdir() if p.name in written_files(head.kind))
    card_path = out / CARD
    card = json.loads(card_path.read_text(encoding="utf-8")) if card_path.is_file() else {}
    card |= {
        "target": config.model_name,
        "precision": "int8",
        "reading": str(head.config),
        "taps": list(head.config.taps),
        "draft_vocab_size": head.config.draft_vocab_size,
        "checkpoint_sha256": hashlib.sha256((checkpoint / "model.safetensors").read_bytes()).hexdigest(),
        "files": {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in files},
    }
    card_path.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return sum(p.stat().st_size for p in files)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name in ("checkpoint", "model", "out"):
        parser.add_argument(name, type=Path)
    args = parser.parse_args()
    size = ship(args.checkpoint, args.model, args.out)
    print(f"{args.out}: {size / 1e6:.1f} MB{'' if size <= LIMIT else ', too large to ship'}")


if __name__ == "__main__":
    main()

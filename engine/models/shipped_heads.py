"""The draft heads that ship with Eyrie under assets/heads: where each lies, and what tells one edition from another."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).resolve().parents[2] / "assets"


def head_folder(name: str | None) -> Path | None:
    """The shipped head of that name, if there is one."""
    folder = ASSETS / "heads" / name if name else None
    return folder if folder is not None and folder.is_dir() else None


def describe_heads(head: str | None, mtp: str | None) -> dict[str, Any] | None:
    """What a model card says of an EAGLE-3 head and an MTP head; another answer makes a folder out of date."""
    eagle, last = _describe(head), _describe(mtp)
    return {**(eagle or {}), "mtp": last} if last else eagle


def _describe(name: str | None) -> dict[str, Any] | None:
    """Name and SHA-256 over all files of a head."""
    folder = head_folder(name)
    if folder is None:
        return None
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return {"name": name, "sha256": digest.hexdigest()}

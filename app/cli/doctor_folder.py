"""What `doctor FOLDER` finds in a model folder: files, hashes, whether it loads, and whether drafts change the text."""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.cli.checks import Check, size
from app.cli.doctor_machine import folder_size
from app.engine_api import EngineApi, LoadedModel
from engine import EngineConfig, EyrieError, SamplingConfig, Turn

REQUIRED = ("config.json", "llm.onnx", "embeddings.npy", "tokenizer.json", "chat_template.jinja", "model_card.json")
AGAIN = "make the folder again with setup"
PROMPT = "Count from one to twenty in words."
TOKENS = 24


def folder_checks(engine: EngineApi, folder: Path) -> Iterator[Check]:
    """Everything, stopping where nothing further can be learnt."""
    if not folder.is_dir():
        yield Check(False, f"{folder} is not a folder", "give a model folder; plain 'doctor' lists those there are")
        return
    missing = [name for name in REQUIRED if not (folder / name).is_file()]
    if missing:
        yield Check(False, f"{folder} lacks {', '.join(missing)}", AGAIN)
    else:
        yield Check(True, f"{folder.name}: all files there, {size(folder_size(folder))}")
    yield from hash_checks(folder)
    try:
        began = time.perf_counter()
        model = engine.Model.load(folder)
    except EyrieError as error:
        yield Check(False, "It does not load", str(error))
        return
    try:
        took = time.perf_counter() - began
        head = "with a draft head" if model.has_draft else "without a draft head, so it decodes plainly"
        yield Check(True, f"{model.name}, {model.precision}, loads in {took:.1f} s {head}")
        yield from _decoding_checks(engine, model)
    finally:
        model.close()


def hash_checks(folder: Path) -> Iterator[Check]:
    """SHA-256 of every file that model_card.json names."""
    try:
        known = card_hashes(json.loads((folder / "model_card.json").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return  # already said
    except (OSError, ValueError) as error:
        yield Check(False, f"model_card.json cannot be read ({error})", AGAIN)
        return
    there = {name: digest for name, digest in known.items() if (folder / name).is_file()}
    for name in known.keys() - there.keys():
        yield Check(False, f"{name} is missing", AGAIN)
    wrong = [name for name, digest in there.items() if sha256(folder / name) != digest]
    for name in wrong:
        yield Check(False, f"{name} is damaged (its SHA-256 is not the one in model_card.json)", AGAIN)
    if not known:
        yield Check(None, "model_card.json lists no hashes, so none were checked")
    elif not wrong:
        yield Check(True, f"{len(there)} files have the SHA-256 that model_card.json says")


def card_hashes(card: Any) -> dict[str, str]:
    """File name to SHA-256, from the card's "files": {name: {"sha256": ...}}."""
    files = card.get("files") if isinstance(card, dict) else None
    if not isinstance(files, dict):
        return {}
    found = {name: entry.get("sha256") if isinstance(entry, dict) else entry for name, entry in files.items()}
    return {name: digest for name, digest in found.items() if isinstance(digest, str)}


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _decoding_checks(engine: EngineApi, model: LoadedModel) -> Iterator[Check]:
    """A few greedy tokens, plainly and with a chain of drafts; both passes have several rows, so they must agree."""
    plain = _decode(engine, model, EngineConfig("", plain_rows=2, max_new_tokens=TOKENS))
    if plain.text.strip():
        yield Check(True, f"Plain decoding: {len(plain.tokens)} tokens, {_pass_ms(plain)} ms per pass")
    else:
        yield Check(False, "Plain decoding gives no text", AGAIN)
    if not model.has_draft:
        return
    chain = _decode(engine, model, EngineConfig("eagle", 1, 3, 3, max_new_tokens=TOKENS))
    tau = chain.stats().tau
    if [t.id for t in chain.tokens] == [t.id for t in plain.tokens]:
        yield Check(True, f"EAGLE-3 chain: the same tokens, τ {tau:.2f}, {_pass_ms(chain)} ms per pass of 4 rows")
    else:
        yield Check(False, "EAGLE-3 decoding gives other tokens than plain decoding", AGAIN)
    if tau <= 1.02:
        yield Check(False, "Hardly any drafted token is accepted", "the draft head is not for this model; " + AGAIN)


def _decode(engine: EngineApi, model: LoadedModel, config: EngineConfig) -> Turn:
    turn = Turn()
    for event in engine.ChatSession(model, config).generate([{"role": "user", "content": PROMPT}], SamplingConfig()):
        turn.add(event)
    return turn


def _pass_ms(turn: Turn) -> str:
    times = [r.timings.verify for r in turn.rounds]
    return f"{statistics.median(times):.1f}" if times else "?"

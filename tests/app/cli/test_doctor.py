from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli import doctor_machine, machine
from app.cli.checks import Check, size
from app.cli.doctor_folder import REQUIRED, TOKENS, card_hashes
from engine import ModelFolderError
from tests.app.cli.conftest import Cli
from tests.fake_engine import FakeSession
from tests.fake_turn import fake_turn

ORIGINAL = FakeSession.generate


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Every file of a model folder, and a card with their hashes."""
    out = tmp_path / "recorded-135m"
    out.mkdir()
    files = {}
    for name in REQUIRED:
        (out / name).write_text(name)
        files[name] = {"sha256": hashlib.sha256(name.encode()).hexdigest()}
    del files["model_card.json"]
    (out / "model_card.json").write_text(json.dumps({"files": files}))
    return out


@pytest.fixture(autouse=True)
def _same_text(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain rounds for plain decoding, trees for eagle, one text."""
    eagle = fake_turn(1, topk=1, depth=3, length=3, accept=0.9)
    answers(monkeypatch, eagle, fake_turn(1, strategy="plain", rounds=len(eagle.tokens) - 1))


def answers(monkeypatch: pytest.MonkeyPatch, eagle: object, plain: object) -> None:
    """What sessions reply, by strategy."""

    def generate(self: FakeSession, *args: object, **more: object) -> Iterator[object]:
        assert self.config.max_new_tokens == TOKENS
        self._next = iter([eagle if self.config.speculative_type else plain])  # type: ignore[list-item]
        return ORIGINAL(self, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(FakeSession, "generate", generate)


def test_a_sound_machine(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions, providers, processor, folders, disk: one line each, nothing broken."""
    cli.engine.folder.mkdir()
    monkeypatch.setattr(cli.engine, "installed_models", lambda: [cli.engine.folder])
    result = cli("doctor")
    assert result.code == 0
    for word in ("Python 3.", "onnxruntime ", "CPUExecutionProvider", "threads", "Qt starts", str(cli.engine.folder)):
        assert word in result.out
    assert "✗" not in result.out


def test_a_missing_package_is_broken_and_says_how_to_mend(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1, so that a script sees it."""
    monkeypatch.setattr(machine, "PACKAGES", ("no-such-package-anywhere",))
    result = cli("doctor")
    assert result.code == 1
    assert "✗ no-such-package-anywhere is not installed: run 'pip install -e .'" in result.out


def test_too_little_disk_matters_only_before_the_model_is_there(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk with the model on it is fine."""
    monkeypatch.setattr(doctor_machine, "LEAST_DISK", 10**18)
    assert cli("doctor").code == 0
    cli.engine.installed = False
    result = cli("doctor")
    assert result.code == 1
    assert "No model yet" in result.out
    assert "disk free: free" in result.out


def test_a_sound_folder(cli: Cli, folder: Path) -> None:
    """Files, hashes, load, the same tokens both ways, milliseconds."""
    result = cli("doctor", str(folder))
    assert result.code == 0, result.out
    assert "5 files have the SHA-256" in result.out
    assert "the same tokens" in result.out
    assert result.out.count("ms per pass") == 2


def test_a_changed_file_is_named(cli: Cli, folder: Path) -> None:
    """A flipped bit in the weights gives wrong words, not an error."""
    (folder / "llm.onnx").write_text("other")
    result = cli("doctor", str(folder))
    assert result.code == 1
    assert "✗ llm.onnx is damaged" in result.out


def test_missing_files_are_named(cli: Cli, folder: Path) -> None:
    """By the list of files and by the card."""
    (folder / "embeddings.npy").unlink()
    result = cli("doctor", str(folder))
    assert result.code == 1
    assert "lacks embeddings.npy" in result.out
    assert "embeddings.npy is missing" in result.out


def test_a_broken_card_is_said(cli: Cli, folder: Path) -> None:
    """And the rest is still tested."""
    (folder / "model_card.json").write_text("{")
    result = cli("doctor", str(folder))
    assert "✗ model_card.json cannot be read" in result.out
    assert "the same tokens" in result.out


def test_a_folder_that_does_not_load_says_why(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine's own sentence; nothing after it."""

    def refuse(*_: object, **__: object) -> None:
        raise ModelFolderError("config.json: eagle_topk is 99.")

    monkeypatch.setattr(cli.engine, "_load", refuse)
    result = cli("doctor", str(folder))
    assert result.code == 1
    assert result.out.splitlines()[-1] == "✗ It does not load: config.json: eagle_topk is 99."


def test_no_folder_at_all(cli: Cli, tmp_path: Path) -> None:
    """A typo in the path."""
    result = cli("doctor", str(tmp_path / "nowhere"))
    assert result.code == 1
    assert "is not a folder" in result.out


def test_different_texts_are_a_fault(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain must not change a single token."""
    other = fake_turn(2, strategy="plain", tokens=(" something", " else"))
    answers(monkeypatch, fake_turn(1), other)
    result = cli("doctor", str(folder))
    assert result.code == 1
    assert "✗ EAGLE-3 decoding gives other tokens" in result.out


def test_a_head_that_never_helps_is_a_fault(cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to another model: the text is right and the speed is not."""
    turn = fake_turn(1, topk=1, depth=1, length=1, accept=0.0)
    answers(monkeypatch, turn, fake_turn(1, strategy="plain", rounds=len(turn.tokens) - 1))
    assert "✗ Hardly any drafted token is accepted" in cli("doctor", str(folder)).out


@pytest.mark.parametrize("card", [[], {}, {"files": 3}, {"files": {"a": {}}}, {"files": {"a": 5}}])
def test_a_card_without_hashes_checks_nothing(card: object) -> None:
    """Cards come from other people's tools too."""
    assert card_hashes(card) == {}


def test_a_card_may_give_hashes_plainly() -> None:
    """{"files": {name: hash}} is the same."""
    assert card_hashes({"files": {"a": "12", "b": {"sha256": "34"}}}) == {"a": "12", "b": "34"}


def test_sizes_are_readable() -> None:
    """One unit, as file managers show it."""
    assert [size(n) for n in (0, 999, 145_000_000, 2_340_000_000)] == ["0 B", "999 B", "145 MB", "2.3 GB"]


def test_a_mend_shows_only_where_something_is_broken() -> None:
    """Advice after a ✓ would look like a fault."""
    assert str(Check(True, "fine", "do this")) == "✓ fine"
    assert str(Check(False, "bad", "do this")) == "✗ bad: do this"


def test_the_processor_s_abilities_are_read(tmp_path: Path) -> None:
    """8-bit speed depends on them; unknown systems say what they can."""
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nmodel name\t: Tester 9000\nflags\t\t: fpu avx2 avx512_vnni\n\nprocessor\t: 1\n")
    assert machine.processor(info) == ("Tester 9000", ["avx2", "avx512_vnni"])
    assert machine.processor(tmp_path / "none")[1] == []

"""Which reading of a checkpoint is chosen, and what the target is built for."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import CheckpointError
from engine.models.convert import build_folder, open_head
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.models.eagle_export import write_eagle_checkpoint
from engine.models.folder import read_config
from engine.models.head_choice import choose
from engine.models.head_files import ReadyHead, convert_head
from engine.progress import Progress
from tests.tiny import DIMS, TinySource, random_head, teacher_head

SOURCE = TinySource()
TEXT = np.random.default_rng(1).integers(3, DIMS.vocab_size, 300).tolist()


@pytest.mark.parametrize("right_first", [True, False])
def test_the_reading_that_agrees_with_the_target_wins(right_first: bool) -> None:
    """A head read the wrong way drafts badly without any error: only measuring tells."""
    right, wrong = teacher_head(), random_head()
    readings = [right, wrong] if right_first else [wrong, right]
    assert choose(readings, DIMS, SOURCE.tensor, TEXT) is right


def test_one_reading_needs_no_target() -> None:
    """Nothing is built where nothing is open."""

    def fail(name: str) -> np.ndarray:
        raise AssertionError(name)

    head = teacher_head()
    assert choose([head], DIMS, fail, TEXT) is head


def test_target_gives_the_streams_the_head_reads(tmp_path: Path) -> None:
    """A head trained on other layers than the default ones must get those: a mismatch would be silent."""
    head = teacher_head()
    other = replace(head, config=replace(head.config, taps=(0, 1, 3)))
    write_eagle_checkpoint(tmp_path / "head", other)
    (tmp_path / "out").mkdir()
    build_folder(SOURCE, tmp_path / "out", name="tiny", precision="float32", head=tmp_path / "head")
    assert read_config(tmp_path / "out").dims.hidden_taps == (0, 1, 3)


@pytest.mark.parametrize("tokens", [TEXT, []], ids=["measured", "first"])
def test_what_is_doubtful_about_a_head_is_told(tmp_path: Path, tokens: list[int]) -> None:
    """A base that had to be guessed may halve what the head accepts; whoever gave the head should know."""
    made = teacher_head()
    write_eagle_checkpoint(tmp_path / "head", replace(made, config=replace(made.config, taps=(0, 1, 3))))
    config = tmp_path / "head" / "config.json"
    fields = json.loads(config.read_text(encoding="utf-8"))
    del fields["rope_theta"]
    config.write_text(json.dumps(fields), encoding="utf-8")
    told: list[Progress] = []
    head = open_head(tmp_path / "head", SOURCE, tokens, progress=told.append)
    assert isinstance(head, EagleCheckpoint)
    sentences = [report.warning for report in told if report.warning]
    assert sentences == [f"Draft head head: {warning}" for warning in head.warnings]
    assert any("rope_theta" in sentence for sentence in sentences)


def test_converted_head_needs_its_card(tmp_path: Path) -> None:
    """Without the card nobody knows which streams the files read."""
    convert_head(teacher_head(), tmp_path, DIMS)
    with pytest.raises(CheckpointError, match=r"card\.json"):
        ReadyHead.open(tmp_path, DIMS)
    (tmp_path / "card.json").write_text('{"taps": [1, 2, 99]}', encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"card\.json"):
        ReadyHead.open(tmp_path, DIMS)
    (tmp_path / "card.json").write_text('{"taps": [1, 2, 3]}', encoding="utf-8")
    assert ReadyHead.open(tmp_path, DIMS) == ReadyHead(tmp_path, (1, 2, 3))


def test_own_embeddings_are_refused(tmp_path: Path) -> None:
    """Such a head would read the target's embeddings as its own."""
    head = teacher_head()
    head.tensors["embed_tokens.weight"] = np.zeros((4, 4), np.float32)
    with pytest.raises(CheckpointError, match="embeddings of its own"):
        convert_head(head, tmp_path, DIMS)

"""A model folder from a source of weights and a draft head: complete, right, or not there."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.config import EngineConfig, SamplingConfig
from engine.errors import Cancelled, CheckpointError, ConfigError
from engine.model import Model
from engine.models.convert import build_folder, calibration_tokens
from engine.models.eagle_export import write_eagle_checkpoint
from engine.models.folder import read_config
from engine.progress import Progress
from engine.tokenizer import Tokenizer
from tests.tiny import DIMS, VOCAB, TinySource, embeddings, teacher_head, write_tokenizer
from tests.turns import PLAIN, TREE, ids, reply

SOURCE = TinySource()
TOKENS = np.random.default_rng(0).integers(3, VOCAB, 100).tolist()


def public_head(folder: Path, taps: tuple[int, int, int] = (1, 2, 3)) -> Path:
    """The teacher in the format that others train and publish."""
    head = teacher_head()
    write_eagle_checkpoint(folder, replace(head, config=replace(head.config, taps=taps)))
    return folder


def built(out: Path, precision: str = "float32", source: TinySource = SOURCE, **options: object) -> Model:
    """A folder built and loaded."""
    out.mkdir()
    build_folder(source, out, name="tiny", precision=precision, **options)  # type: ignore[arg-type]
    write_tokenizer(out)
    return Model.load(out, threads=1)


def test_a_public_checkpoint_becomes_a_head_that_drafts(tmp_path: Path) -> None:
    """From safetensors and config.json to accepted drafts; the target gives the streams that the head reads."""
    engine = EngineConfig(eagle_topk=2)
    warm = SamplingConfig(temperature=0.9)
    model = built(tmp_path / "m", head=public_head(tmp_path / "h"), engine=engine, sampling=warm)
    assert model.dims.hidden_taps == (1, 2, 3)
    assert (model.defaults, model.sampling) == (engine, warm)
    turn = reply(model, TREE)
    assert turn.stats().tau > 1.5
    assert ids(turn) == ids(reply(model, PLAIN))
    names = {path.name for path in (tmp_path / "m").iterdir()}
    assert {"llm.onnx", "llm.onnx.data", "embeddings.npy", "eagle.onnx", "eagle_fc.onnx", "eagle_d2t.npy"} <= names


def test_the_embedding_table_is_float16(tmp_path: Path) -> None:
    """Half the memory, mapped from the file; what is looked up is what the checkpoint held, rounded."""
    model = built(tmp_path / "m")
    table = np.load(tmp_path / "m" / "embeddings.npy")
    assert table.dtype == np.float16
    assert np.array_equal(table.astype(np.float32), embeddings(DIMS, 0))
    assert np.array_equal(model.target.embed([5, 9]), embeddings(DIMS, 0)[[5, 9]])
    assert not model.has_draft


def test_calibration_is_for_row_wise_integers(tmp_path: Path) -> None:
    """With a text, the model of outlier channels comes closer to its real self; other precisions ignore the text."""
    source = TinySource(outliers=40.0)
    runs = [("float32", None), ("float32", TOKENS), ("int8-rowwise", None), ("int8-rowwise", TOKENS)]
    logits = []
    for number, (precision, text) in enumerate(runs):
        model = built(tmp_path / str(number), precision, source, calibration=text)
        logits.append(model.target.forward(TOKENS, np.arange(100)).logits.copy())
    assert np.array_equal(logits[0], logits[1])
    plain, folded = (np.abs(found - logits[0]).mean() for found in logits[2:])
    assert folded < 0.7 * plain


def test_an_unknown_precision_writes_nothing(tmp_path: Path) -> None:
    """Found before minutes of work."""
    with pytest.raises(ConfigError, match="int4"):
        build_folder(SOURCE, tmp_path, name="tiny", precision="int4")
    assert list(tmp_path.iterdir()) == []


def test_a_broken_head_is_found_first(tmp_path: Path) -> None:
    """The target's conversion takes longest; a head that cannot be used must not wait for it."""
    head = public_head(tmp_path / "h")
    (head / "model.safetensors").write_bytes(b"no weights")
    (tmp_path / "m").mkdir()
    with pytest.raises(CheckpointError, match="Draft head h"):
        build_folder(SOURCE, tmp_path / "m", name="tiny", precision="float32", head=head)
    assert list((tmp_path / "m").iterdir()) == []


@pytest.mark.parametrize("precision", ["int8", "int8-rowwise", "int8-mixed"])
def test_it_can_be_stopped_at_every_step(tmp_path: Path, precision: str) -> None:
    """Cancelled at the n-th report of progress, for every n: never a config.json, which would mean a whole folder."""
    head = public_head(tmp_path / "h")
    steps: list[Progress] = []
    built(tmp_path / "whole", precision, head=head, calibration=TOKENS, progress=steps.append)
    assert len(steps) > 5
    for n in range(1, len(steps) + 1):
        out, cancel, left = tmp_path / str(n), threading.Event(), [n]

        def count(_: Progress, left: list[int] = left, cancel: threading.Event = cancel) -> None:
            left[0] -= 1
            if left[0] == 0:
                cancel.set()

        out.mkdir()
        with pytest.raises(Cancelled):
            build_folder(
                *(SOURCE, out),
                name="t",
                precision=precision,
                head=head,
                calibration=TOKENS,
                progress=count,
                cancel=cancel,
            )
        assert not (out / "config.json").exists()


def test_the_folder_says_how_it_was_made(tmp_path: Path) -> None:
    """Name, precision and flavour are read back."""
    built(tmp_path / "m", "int8")
    config = read_config(tmp_path / "m")
    assert (config.model_name, config.precision, config.flavour) == ("tiny", "int8", "cpu")


def test_calibration_text_is_a_conversation(tmp_path: Path) -> None:
    """Paragraphs between "%%" lines are user and assistant by turns, in the model's own format."""
    write_tokenizer(tmp_path)
    (tmp_path / "config.json").write_text('{"stop_token_ids": [2]}')
    tokenizer = Tokenizer.load(tmp_path)
    tokens = calibration_tokens(tokenizer, "hello\nthere\n%%\nan apple\n%%\nfoo\n")
    talk = [("user", "hello\nthere"), ("assistant", "an apple"), ("user", "foo")]
    want = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in talk)
    assert tokens == tokenizer.encode(want)

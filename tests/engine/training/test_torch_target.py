"""The target in PyTorch is the model: its streams equal the reference, and batched decoding equals whole passes."""

# ruff: noqa: E402
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the train extra)")

from engine.training.batch_decoder import BatchDecoder, sample
from engine.training.folder_weights import FolderWeights
from engine.training.torch_target import TorchTarget
from tests.engine.training.tiny_run import SOURCE, build, weight_names
from tests.reference.layers_numpy import causal_mask
from tests.reference.llama_numpy import LlamaReference

LENGTHS = (9, 4, 13)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> TorchTarget:
    """The tiny target in float32."""
    return TorchTarget(FolderWeights(build(tmp_path_factory.mktemp("m"))), "cpu", torch.float32)


@pytest.fixture(scope="module")
def reference() -> LlamaReference:
    """The same in numpy."""
    return LlamaReference({name: SOURCE.tensor(name) for name in weight_names()}, SOURCE.dims)


def ids(row: int) -> np.ndarray:
    """A text of its own for each row."""
    return np.random.default_rng(row).integers(3, SOURCE.dims.vocab_size, LENGTHS[row])


def test_streams_of_a_ragged_batch(target: TorchTarget, reference: LlamaReference) -> None:
    """Padding behind a conversation must not reach it; float16 is the only difference."""
    padded = np.zeros((3, max(LENGTHS)), np.int64)
    for row, length in enumerate(LENGTHS):
        padded[row, :length] = ids(row)
    found = target.hidden(torch.from_numpy(padded))
    for row, length in enumerate(LENGTHS):
        logits, taps = reference.forward(
            reference.embed(ids(row)), np.arange(length), causal_mask(length), reference.cache()
        )
        assert np.allclose(found.taps[row, :length].numpy(), taps, atol=2e-2, rtol=2e-3)
        chosen = logits[np.arange(length), found.top[row, :length].numpy()]
        assert (chosen > logits.max(axis=1) - 3e-2).all()
        drafted = target.final(found.last[row, :length]) @ target.lm_head.T
        assert np.allclose(drafted.numpy(), logits, atol=3e-2)


def test_decoding_in_a_batch_equals_whole_passes(target: TorchTarget, reference: LlamaReference) -> None:
    """Slots of different lengths, read in pieces of different sizes, and a slot that is used again."""
    decoder = BatchDecoder(target, 3, 40)
    decoder.forward([1], [[5, 6, 7, 8, 9]])
    decoder.lengths[1] = 0
    texts = [ids(row).tolist() for row in range(3)]
    decoder.forward([0, 2], [texts[0][:3], texts[2][:7]])
    decoder.forward([1], [texts[1][:2]])
    decoder.forward([0, 1, 2], [texts[0][3:4], texts[1][2:3], texts[2][7:8]])
    found = decoder.forward([0, 1, 2], [texts[0][4:], texts[1][3:], texts[2][8:]])
    assert decoder.lengths.tolist() == list(LENGTHS)
    for row, length in enumerate(LENGTHS):
        logits, _ = reference.forward(
            reference.embed(ids(row)), np.arange(length), causal_mask(length), reference.cache()
        )
        assert np.allclose(found[row].numpy(), logits[-1], atol=1e-3)


def test_sampling_keeps_to_top_k_and_top_p() -> None:
    """And draws what it keeps in proportion."""
    logits = torch.tensor([[4.0, 3.0, 2.0, 1.0, -9.0]]).repeat(4000, 1)
    made = torch.Generator().manual_seed(1)
    drawn = torch.bincount(sample(logits, 1.0, 3, 1.0, made), minlength=5) / 4000
    wanted = torch.tensor([4.0, 3.0, 2.0]).softmax(dim=0)
    assert torch.allclose(drawn[:3], wanted, atol=0.03)
    assert not drawn[3:].any()
    kept = torch.bincount(sample(logits, 1.0, 5, 0.7, made), minlength=5)
    assert kept[:2].all()
    assert not kept[2:].any()


def test_the_folder_s_graph_gives_the_same_streams(target: TorchTarget, tmp_path: Path) -> None:
    """Training and decoding must see the same hidden states."""
    from engine.model import Model

    model = Model.load(build(tmp_path / "m"), threads=1)
    found = model.target.forward(ids(2), np.arange(LENGTHS[2]))
    mine = target.hidden(torch.from_numpy(ids(2))[None])
    assert np.allclose(mine.taps[0].numpy(), found.hidden, atol=2e-2, rtol=2e-3)
    model.close()

"""SmoothQuant scales: the function stays, outlier channels lose their harm."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import Cancelled
from engine.models.convert import activation_peaks, calibrate
from engine.models.decoder_graph import CALIBRATED, write_decoder
from engine.models.linear import Precision
from engine.models.smooth import SmoothScales, balance, find_scales
from engine.progress import Progress
from engine.target import TargetModel
from tests.tiny import DIMS, VOCAB, TinySource, embeddings

SOURCE = TinySource(outliers=40.0)
TOKENS = np.random.default_rng(0).integers(3, VOCAB, 300).tolist()


@pytest.fixture(scope="module")
def scales() -> SmoothScales:
    """Found on the first half of the text."""
    return calibrate(SOURCE, TOKENS[:150])


def logits(folder: Path, precision: Precision, scales: SmoothScales | None) -> np.ndarray:
    """Of the second half of the text."""
    folder.mkdir()
    np.save(folder / "embeddings.npy", embeddings(DIMS, 0).astype(np.float16))
    write_decoder(folder / "llm.onnx", DIMS, SOURCE.tensor, precision, scales=scales)
    return TargetModel(folder, DIMS, 1).forward(TOKENS[150:], np.arange(150)).logits.copy()


def test_folding_leaves_the_function_as_it_is(tmp_path: Path, scales: SmoothScales) -> None:
    """What activations are divided by, weights are multiplied with: in float32 nothing but rounding changes."""
    plain, folded = (logits(tmp_path / name, "float32", s) for name, s in (("a", None), ("b", scales)))
    assert np.abs(plain - folded).max() < 1e-4 * max(1.0, float(np.abs(plain).max()))


def test_it_lowers_the_error_of_row_wise_integers(tmp_path: Path, scales: SmoothScales) -> None:
    """A row with a channel 40 times larger leaves 3 steps for the others; scales give them back."""
    want = logits(tmp_path / "f", "float32", None)
    plain, folded = (
        np.abs(logits(tmp_path / name, "int8-rowwise", s) - want).mean() for name, s in (("a", None), ("b", scales))
    )
    assert folded < 0.7 * plain


def test_scales_are_sound(scales: SmoothScales) -> None:
    """Positive, finite, of geometric mean 1, and one per value head where query heads share it."""
    assert len(scales.layers) == DIMS.layer_nums
    for layer in scales.layers:
        for scale, width in ((layer.attn_in, 64), (layer.attn_out, 64), (layer.mlp_in, 64), (layer.mlp_mid, 128)):
            assert scale.shape == (width,)
            assert scale.dtype == np.float32
            assert (scale > 0).all()
            assert np.isfinite(scale).all()
            assert abs(np.log(scale).mean()) < 1e-3
        groups = layer.attn_out.reshape(2, 2, 16)  # key-value heads, query heads of each, channels
        assert np.array_equal(groups[:, 0], groups[:, 1])
        assert np.array_equal(layer.v_rows(DIMS), groups[:, 0].reshape(-1))


def test_outlier_channels_get_the_largest_scales(scales: SmoothScales) -> None:
    """The three channels whose gain is 40 times larger are the ones divided most."""
    for i, layer in enumerate(scales.layers):
        gain = SOURCE.tensor(f"model.layers.{i}.input_layernorm.weight")
        assert set(np.argsort(gain)[-3:]) == set(np.argsort(layer.attn_in)[-3:])


def test_balance_by_hand() -> None:
    """Equation 4 with α 0.5: sqrt(activation / weight), divided by its geometric mean; dead channels do not explode."""
    found = balance(np.array([16.0, 1.0], np.float32), np.array([1.0, 1.0], np.float32), 0.5)
    assert np.allclose(found, [2, 0.5])
    assert np.allclose(balance(np.full(4, 3.0, np.float32), np.full(4, 3.0, np.float32)), 1)
    dead = balance(np.array([0.0, 1.0], np.float32), np.array([0.0, 1.0], np.float32))
    assert np.isfinite(dead).all()
    assert (dead > 0).all()


def test_peaks_are_the_largest_over_all_chunks(tmp_path: Path) -> None:
    """Calibration text is read in chunks of 128 on their own; every channel's largest value over them counts."""
    write_decoder(tmp_path / "llm.onnx", DIMS, SOURCE.tensor, "float32", probe=True)
    whole = activation_peaks(tmp_path / "llm.onnx", SOURCE, TOKENS)
    assert whole.keys() == {f"{i}.{name}" for i in range(DIMS.layer_nums) for name in CALIBRATED}
    parts = [activation_peaks(tmp_path / "llm.onnx", SOURCE, TOKENS[at : at + 128]) for at in (0, 128, 256)]
    for name, peak in whole.items():
        assert np.array_equal(peak, np.max([part[name] for part in parts], axis=0))
    table = embeddings(DIMS, 0)[TOKENS]  # the first norm's output, by hand
    rows = table / np.sqrt((table**2).mean(axis=1, keepdims=True) + DIMS.rms_norm_eps)
    want = np.abs(rows * SOURCE.tensor("model.layers.0.input_layernorm.weight")).max(axis=0)
    assert np.allclose(whole["0.attn_in"], want, rtol=1e-4)


def test_scales_suit_models_without_groups() -> None:
    """One value head per query head: every channel has a scale of its own."""
    dims = replace(DIMS, num_key_value_heads=4)
    source = TinySource(dims=dims)
    rng = np.random.default_rng(1)
    widths = {"attn_in": 64, "attn_out": 64, "mlp_in": 64, "mlp_mid": 128}
    peaks = {f"{i}.{name}": rng.uniform(1, 9, n).astype(np.float32) for i in range(4) for name, n in widths.items()}
    layer = find_scales(dims, peaks, source.tensor).layer(2)
    assert np.array_equal(layer.v_rows(dims), layer.attn_out)


def test_calibration_can_be_stopped_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its float32 copy of the model is large: stopped or not, it is gone afterwards."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seen: list[Progress] = []
    calibrate(SOURCE, TOKENS[:20], progress=seen.append)
    assert {p.step for p in seen} == {"Calibrating"}
    cancel = threading.Event()
    with pytest.raises(Cancelled):
        calibrate(SOURCE, TOKENS[:20], progress=lambda p: cancel.set() if p.done == p.total else None, cancel=cancel)
    assert list(tmp_path.iterdir()) == []

"""A run that continues a head begins with what the optimizer of that head's run knew."""

# ruff: noqa: E402
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the train extra)")

from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.training import batches, head_init
from engine.training.folder_weights import FolderWeights
from engine.training.hidden_store import HiddenStore
from engine.training.moments import hand_on
from engine.training.plan import TrainingPlan
from engine.training.torch_target import TorchTarget
from engine.training.trainer import Trainer
from tests.engine.training.tiny_run import build, text

PLAN = TrainingPlan(steps=10_000_000, batch_tokens=256, held_out=0.2, warmup=0, ema=0)  # a rate that stays


@pytest.fixture
def weights(tmp_path: Path) -> FolderWeights:
    """Of the tiny target."""
    return FolderWeights(build(tmp_path / "m"))


def trainer(weights: FolderWeights, head: EagleCheckpoint) -> Trainer:
    """One that has done nothing yet."""
    target = TorchTarget(weights, "cpu", torch.float32)
    return Trainer(PLAN, text(), HiddenStore(text(), target, None), target, head)


def head_of(weights: FolderWeights, ids: np.ndarray) -> EagleCheckpoint:
    """A new head that knows these tokens."""
    return head_init.from_target(weights, (ids - np.arange(len(ids))).astype(np.int32))


def trained(weights: FolderWeights, ids: np.ndarray, path: Path, updates: int = 30) -> Trainer:
    """A run of some updates, saved."""
    made = trainer(weights, head_of(weights, ids))
    for _ in zip(range(updates), made.updates(), strict=False):
        pass
    made.save(path)
    return made


def test_moments_follow_their_tokens(tmp_path: Path, weights: FolderWeights) -> None:
    """Row by row in the projection; a token that is new has the usual size of step and no direction."""
    old, new = np.arange(3, 203), np.arange(23, 223)
    first = trained(weights, old, tmp_path / "state.pt")
    second = trainer(weights, head_of(weights, new))
    rows = np.where(new <= 202, new - 3, -1)
    assert hand_on(second, tmp_path / "state.pt", rows)
    was, now = ({name: run.optimizer.state[weight] for name, weight in run.weights.items()} for run in (first, second))
    for key in ("exp_avg", "exp_avg_sq"):
        assert torch.equal(now["fc.weight"][key], was["fc.weight"][key])
        assert torch.equal(now["lm_head.weight"][key][:180], was["lm_head.weight"][key][20:])
    assert not now["lm_head.weight"]["exp_avg"][180:].any()
    assert torch.allclose(now["lm_head.weight"]["exp_avg_sq"][190], was["lm_head.weight"]["exp_avg_sq"].mean(dim=0))


def test_the_next_update_is_that_of_a_run_that_went_on(tmp_path: Path, weights: FolderWeights) -> None:
    """What it is for: a fresh optimizer takes its first steps blindly, and makes a trained head worse."""
    ids = np.arange(3, 203)
    first = trained(weights, ids, tmp_path / "state.pt")
    blind, handed = (trainer(weights, first.checkpoint()) for _ in range(2))
    hand_on(handed, tmp_path / "state.pt", np.arange(len(ids)))
    batch = batches.make_batch(first.data, first.training[:8])
    for run in (first, blind, handed):
        run.update(batch)
    wanted, *found = (run.weights["layers.0.mlp.up_proj.weight"] for run in (first, blind, handed))
    assert not torch.allclose(found[0], wanted, atol=1e-5)
    assert torch.allclose(found[1], wanted, atol=1e-6)


def test_what_does_not_fit_begins_anew(tmp_path: Path, weights: FolderWeights) -> None:
    """A wider MLP has other weights; a damaged file has none."""
    ids = np.arange(3, 203)
    first = trained(weights, ids, tmp_path / "state.pt", updates=3)
    wide = trainer(weights, head_init.widened(first.checkpoint(), 200))
    assert hand_on(wide, tmp_path / "state.pt", np.arange(len(ids)))
    assert wide.weights["layers.0.mlp.up_proj.weight"] not in wide.optimizer.state
    assert wide.weights["fc.weight"] in wide.optimizer.state
    next(wide.updates())
    (tmp_path / "damaged.pt").write_bytes((tmp_path / "state.pt").read_bytes()[:5000])
    fresh = trainer(weights, head_of(weights, ids))
    assert not hand_on(fresh, tmp_path / "damaged.pt", np.arange(len(ids)))
    assert not hand_on(fresh, tmp_path / "missing.pt", np.arange(len(ids)))
    next(fresh.updates())

"""What the optimizer of a head's run knew, handed on to a run that continues the head.

An optimizer that begins anew takes its first steps blindly and undoes part of what was learnt (docs/log.md).
"""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.training.trainer import Trainer

_LM_HEAD = "lm_head.weight"
_MOMENTS = ("exp_avg", "exp_avg_sq")  # AdamW's names


def hand_on(trainer: Trainer, state: Path, rows: NDArray[np.int64]) -> bool:
    """Give the trainer's optimizer the moments in a run's saved state; False where there are none that fit.

    rows [Vd]: where the earlier head had each draft token, -1 where it did not know it: such a row gets no direction
    and the usual size of step. A weight of another size begins anew.
    """
    try:
        saved = torch.load(state, map_location="cpu", weights_only=True)
        names, known = list(saved["weights"]), saved["optimizer"]["state"]
        found = {name: known[number] for number, name in enumerate(names)}
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, EOFError, pickle.UnpicklingError):
        return False
    optimizer = trainer.optimizer.state_dict()
    for number, (name, weight) in enumerate(trainer.weights.items()):
        moments = dict(found.get(name, {}))
        if name == _LM_HEAD and moments:
            moments |= _by_row({key: moments[key] for key in _MOMENTS}, torch.from_numpy(rows))
        if moments and all(moments[key].shape == weight.shape for key in _MOMENTS):
            optimizer["state"][number] = moments
    trainer.optimizer.load_state_dict(optimizer)
    return bool(optimizer["state"])


def _by_row(moments: dict[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    """Moments [old Vd, hidden] in the order of the new rows; unknown ones have none yet, and the usual size of step."""
    known = (rows >= 0)[:, None]
    still = torch.zeros_like(moments["exp_avg"][:1])
    usual = moments["exp_avg_sq"].mean(dim=0, keepdim=True)
    return {
        key: torch.where(known, moments[key][rows.clamp(min=0)], other)
        for key, other in zip(_MOMENTS, (still, usual), strict=True)
    }

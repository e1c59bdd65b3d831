"""The training loop of a draft head: updates, averaging, scores, early stop; saved and continued exactly.

Knows tensors, batches and the plan; writes nothing but its state. `loop.py` decides when.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from engine.errors import ConfigError
from engine.models.eagle_checkpoint import EagleCheckpoint
from engine.progress import check
from engine.training import batches
from engine.training.batches import Batch
from engine.training.conversations import DataSet
from engine.training.head_net import HeadNet
from engine.training.hidden_store import HiddenStore
from engine.training.plan import TrainingPlan
from engine.training.score import Score, walk
from engine.training.soft_loss import soft_loss, teacher_probabilities
from engine.training.torch_target import TorchTarget


@dataclass(frozen=True, slots=True)
class Update:
    """What one update did."""

    step: int  # updates done
    losses: list[float]  # mean cross-entropy by unrolled step, nats
    score: Score  # on the batch itself, before the update
    tokens: int  # of the batch, without padding
    seconds: float


@dataclass(slots=True)
class _Place:
    """Where a run is."""

    step: int = 0
    epoch: int = 0
    index: int = 0
    best_tau: float = 0.0
    worse: int = 0  # scores since the best one
    scores: list[list[float]] = field(default_factory=list)  # [step, τ, accuracies …]


class Trainer:
    """One run over one data set. `head`: what it starts from."""

    def __init__(
        self, plan: TrainingPlan, data: DataSet, store: HiddenStore, target: TorchTarget, head: EagleCheckpoint
    ) -> None:
        self.plan, self.data, self.head = plan, data, head
        self._store, self._target = store, target
        self.training, self._held = batches.split(data, plan.held_out, plan.held_out_from)
        if len(self.training) == 0 or len(self._held) == 0:
            raise ConfigError(
                f"{len(data)} conversations are too few to train on {len(self.training)} and validate on "
                f"{len(self._held)}: add data, or change the held-out share."
            )
        longest = int(data.lengths.max())
        self._net = HeadNet(head.config, target.embed, longest + plan.unroll + plan.score_steps)
        device = target.device
        self.weights = {n: torch.from_numpy(v.copy()).to(device).requires_grad_() for n, v in head.tensors.items()}
        self.average = {n: v.detach().clone() for n, v in self.weights.items()}
        groups = [{"params": list(self.weights.values()), "weight_decay": plan.weight_decay}]
        self.optimizer = torch.optim.AdamW(groups, lr=plan.learning_rate, betas=(0.9, 0.95), fused=True)
        ids = torch.arange(len(head.d2t)) + torch.from_numpy(head.d2t).long()
        self._target_ids = ids.to(device)  # [Vd] target id of each draft token
        self._known = torch.zeros(head.config.vocab_size, dtype=torch.bool, device=device)
        self._known[self._target_ids] = True
        self._lm_head = target.lm_head[self._target_ids]  # [Vd, hidden], the teacher's
        self._place = _Place()
        self._epoch: list[Any] = []

    @property
    def step(self) -> int:
        """Updates done."""
        return self._place.step

    @property
    def best_tau(self) -> float:
        """Best chain τ so far; 0 before the first score."""
        return self._place.best_tau

    @property
    def scored(self) -> bool:
        """Whether the weights as they are have been scored."""
        return bool(self._place.scores) and self._place.scores[-1][0] == self.step

    @property
    def counts(self) -> tuple[int, int]:
        """Conversations for training and held out."""
        return len(self.training), len(self._held)

    @property
    def finished(self) -> bool:
        """Whether all updates are done, or scores stopped getting better."""
        return self.step >= self.plan.steps or self._place.worse >= self.plan.patience

    @property
    def training_tokens(self) -> int:
        """Tokens of one pass over the training conversations."""
        return int(self.data.lengths[self.training].sum())

    def updates(self) -> Iterator[Update]:
        """Train until the plan is done; one item per update."""
        while self.step < self.plan.steps:
            batch = batches.make_batch(self.data, self._next())
            yield self.update(batch)

    def update(self, batch: Batch) -> Update:
        """One forward pass, backward pass and change of the weights."""
        began, plan, step = perf_counter(), self.plan, self._place.step
        for group in self.optimizer.param_groups:
            group["lr"] = plan.rate_at(step)
        loss, losses, score = self.loss(batch, plan.unroll_at(step))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.weights.values(), plan.clip)
        self.optimizer.step()
        keep = plan.ema_at(step) if plan.ema else 0.0
        with torch.no_grad():
            for name, weight in self.weights.items():
                self.average[name].lerp_(weight, 1 - keep)
        self._place.step += 1
        tokens = sum(int(self.data.lengths[i]) for i in batch.which)
        return Update(self.step, [float(x) for x in losses], score, tokens, perf_counter() - began)

    def try_out(self, batch: Batch, steps: int) -> None:
        """The work of an update without the update: for measuring."""
        self.loss(batch, steps)[0].backward()
        self.optimizer.zero_grad()

    def loss(
        self, batch: Batch, steps: int, weights: dict[str, Tensor] | None = None
    ) -> tuple[Tensor, list[Tensor], Score]:
        """Weighted loss over unrolled steps, its parts, and the score of the batch."""
        hidden, device = self._store.batch(batch), self._target.device
        weights = weights or self.weights
        left = torch.from_numpy(batch.steps_left).to(device)
        streams = hidden.taps if self.plan.kind == "eagle3" else hidden.last
        teaching = (left > 0).flatten().nonzero().squeeze(1) + 1  # [M] positions whose next token is predicted
        teacher = teacher_probabilities(self._target.final(hidden.last.flatten(0, 1)[teaching]), self._lm_head)
        place = torch.zeros(left.numel(), dtype=torch.int64, device=device)
        place[teaching] = torch.arange(len(teaching), device=device)
        top = hidden.top.flatten().long()
        # Of each row, the steps before its first wrong one.
        accepted = torch.zeros(left.numel(), dtype=torch.int64, device=device)
        lm_head = weights["lm_head.weight"].to(self._target.dtype)
        total, parts, score = torch.zeros((), device=device), [], Score()
        ids = torch.from_numpy(batch.ids).to(device)
        later = math.ceil(self.plan.later_share * len(ids)) if torch.is_grad_enabled() else None
        for number, step in enumerate(self._net.unroll(weights, ids, streams, left, steps, later)):
            at = step.rows + 1 + number
            known = self._known[top[at]].float()
            share = known / known.sum().clamp(min=1)
            found = soft_loss(step.normed, lm_head, teacher, place[at], share)
            total = total + self.plan.step_weight**number * found.loss
            parts.append(found.loss.detach())
            right = self._target_ids[found.guess] == top[at]
            accepted[step.rows] += right & (accepted[step.rows] == number)
            score.add(number, len(right), int(right.sum()))
        if later is None:  # every row goes all steps
            for i, chains in zip(batch.which, accepted.view(left.shape).cpu().numpy(), strict=True):
                score.add_walk(*walk(chains, self.data[i].spans))
        return total, parts, score

    @torch.no_grad()
    def evaluate(self, cancel: threading.Event | None = None) -> Score:
        """Score the averaged weights on the held-out conversations. Raises `Cancelled`."""
        total = Score()
        for which in batches.in_order(self.data, self._held, self.plan.batch_tokens):
            check(cancel)
            _, _, found = self.loss(batches.make_batch(self.data, which), self.plan.score_steps, self.average)
            total.join(found)
        return total

    def note(self, score: Score) -> bool:
        """Remember a score; True if it is the best so far."""
        place, tau = self._place, score.tau
        place.scores.append([place.step, tau, *score.accuracy])
        better = tau > place.best_tau
        place.best_tau, place.worse = (tau, 0) if better else (place.best_tau, place.worse + 1)
        return better

    def checkpoint(self) -> EagleCheckpoint:
        """The averaged weights as a head."""
        return checkpoint_of(self.head, self.average)

    def save(self, path: Path) -> None:
        """Write the whole state, whole or not at all; hidden states reach the disk first."""
        self._store.flush()
        place = {name: getattr(self._place, name) for name in _Place.__slots__}
        state = {
            "place": place,
            "weights": {name: value.detach() for name, value in self.weights.items()},
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
        }
        part = path.with_name(path.name + ".part")
        torch.save(state, part)
        part.replace(path)

    def load(self, path: Path) -> None:
        """Continue from a saved state. Raises `ConfigError` where it cannot be read."""
        try:
            state = torch.load(path, map_location=self._target.device, weights_only=True)
            self._place = _Place(**state["place"])
            with torch.no_grad():
                for name, value in self.weights.items():
                    value.copy_(state["weights"][name])
                    self.average[name].copy_(state["average"][name])
            self.optimizer.load_state_dict(state["optimizer"])
        except Exception as error:  # pickle, zip and torch raise errors of many kinds
            raise ConfigError(f"{path} is damaged: start the run again with --fresh.") from error
        self._epoch = []

    def _next(self) -> Any:
        """The conversations of the next batch."""
        place = self._place
        if not self._epoch:
            self._epoch = self._batches(place.epoch)
        if place.index == len(self._epoch):
            place.epoch, place.index = place.epoch + 1, 0
            self._epoch = self._batches(place.epoch)
        place.index += 1
        return self._epoch[place.index - 1]

    def _batches(self, epoch: int) -> list[Any]:
        plan = self.plan
        return batches.epoch(self.data, self.training, plan.batch_tokens, plan.seed, epoch)


def checkpoint_of(head: EagleCheckpoint, weights: dict[str, Tensor]) -> EagleCheckpoint:
    """`head` with other weights."""
    tensors = {name: weights[name].detach().cpu().numpy() for name in head.tensors}
    return EagleCheckpoint(head.config, tensors, head.d2t)

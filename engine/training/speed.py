"""How many updates fit into the hours that a person gives: measured on the first batches, before training."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from engine.training import batches

if TYPE_CHECKING:
    from engine.training.hidden_store import HiddenStore
    from engine.training.trainer import Trainer

_OVERHEAD = 0.93  # of the time goes into updates; scores and checkpoints take the rest
FEWEST = 20


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds; `first` and `last` of an update at the plan's shortest and longest unroll, hidden states aside."""

    tokens: float  # of an update
    first: float
    last: float
    hidden: float  # per token whose states are not stored yet

    def updates_in(self, hours: float, missing: int, *, stored: bool) -> int:
        """Updates in that time. `missing`: tokens without stored states; `stored` False: made anew every time."""
        budget, update = hours * 3600 * _OVERHEAD, (self.first + self.last) / 2
        making = self.tokens * self.hidden
        if not stored:
            return max(FEWEST, int(budget / (update + making)))
        if budget < missing / self.tokens * (update + making):  # not even one pass over the data
            return max(FEWEST, int(budget / (update + making)))
        return max(FEWEST, int((budget - missing * self.hidden) / update))


def measure(trainer: Trainer, store: HiddenStore) -> Speed:
    """Run the first two batches at both unrolls without changing a weight."""
    first = batches.epoch(trainer.data, trainer.training, trainer.plan.batch_tokens, trainer.plan.seed, 0)[:2]
    found = [batches.make_batch(trainer.data, which) for which in first]
    sizes = [sum(int(trainer.data.lengths[i]) for i in batch.which) for batch in found]
    began, missing = perf_counter(), 0
    for batch, size in zip(found, sizes, strict=True):
        missing += 0 if store.holds(batch) else size
        store.batch(batch)
    hidden = (perf_counter() - began) / missing if missing else 0.0
    seconds = []
    for unroll in (trainer.plan.unroll_from, trainer.plan.unroll):
        trainer.try_out(found[0], unroll)  # warms up
        began = perf_counter()
        for batch in found:
            trainer.try_out(batch, unroll)
        spent = perf_counter() - began - (0 if store.keeps else hidden * sum(sizes))
        seconds.append(max(1e-4, spent / len(found)))
    return Speed(sum(sizes) / len(sizes), seconds[0], seconds[1], hidden)

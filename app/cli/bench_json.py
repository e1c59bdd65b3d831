"""The file that `bench --json` writes: JSON Lines, the machine first, then one object per prompt and setting."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from app.cli import bench_stats as stats
from app.cli.bench_run import PLAIN_ONE, PLAIN_TWO, Setting
from app.cli.bench_stats import Run
from app.cli.machine import facts
from app.engine_api import LoadedModel
from engine import EyrieError, SamplingConfig


class ResultFileError(EyrieError):
    """The file for the figures cannot be written."""


class JsonLines:
    """Writes as the measurement goes, so that an interrupted one is not lost."""

    def __init__(self, path: Path) -> None:
        try:
            self._file: TextIO = path.open("w", encoding="utf-8")
        except OSError as error:
            raise ResultFileError(f"{path} cannot be written: {error.strerror}.") from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def machine(self, model: LoadedModel, settings: Sequence[Setting], sampling: SamplingConfig) -> None:
        """What was measured, and where."""
        self._write(
            kind="machine",
            time=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            **facts(),
            model=model.name,
            precision=model.precision,
            settings={s.name: asdict(s.config) for s in settings},
            sampling=asdict(sampling),
        )

    def group(self, runs: Sequence[Run]) -> None:
        """All settings' runs of one prompt."""
        base = [r for r in runs if r.setting == PLAIN_ONE]
        reference = next((r for r in runs if r.setting == PLAIN_TWO), None)
        for run in runs:
            found = stats.first_difference(run, reference) if reference is not None else None
            ratio = stats.speedups([run], base).get(run.prompt, math.nan)
            self._write(
                kind="run",
                **asdict(run),
                host_ms=run.host_ms,
                tau=stats.acceptance_length([run]),
                tokens_per_second=stats.rate([run]),
                speedup=ratio,
                same_text=found is None,
                first_difference=None if found is None else found._asdict(),
            )

    def summary(self, runs: dict[str, list[Run]]) -> None:
        """The figures of the printed tables."""
        base, reference = runs[PLAIN_ONE], runs[PLAIN_TWO]
        for name, ours in runs.items():
            found = stats.differences(ours, reference)
            phases = stats.phases(ours)
            self._write(
                kind="summary",
                setting=name,
                tau=stats.acceptance_length(ours),
                tokens_per_second=stats.rate(ours),
                speedup=stats.spread(stats.speedups(ours, base).values())._asdict(),
                mean_speedup=stats.mean_rate(ours) / stats.mean_rate(base),
                total_speedup=stats.rate(ours) / stats.rate(base),
                round_ms=None if phases is None else asdict(phases),
                accepted_by_depth=stats.depth_rates(ours),
                **stats.waits(ours)._asdict(),
                same_text=sum(d is None for d in found.values()),
                compared=len(found),
            )

    def _write(self, **values: object) -> None:
        self._file.write(json.dumps(_without_nan(values), ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()


def _without_nan(value: Any) -> Any:
    """NaN as null: NaN is not JSON."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): _without_nan(v) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_without_nan(v) for v in value]
    return value

"""Trains a draft head from start to finish: data, hidden states, updates, checkpoints, export. Continues what it finds.

Knows the order of steps and what is on the disk; each step lives in its own file. Imports PyTorch.
"""

from __future__ import annotations

import hashlib
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import torch

from engine import progress as steps
from engine.errors import ConfigError
from engine.tokenizer import Tokenizer
from engine.training import export, head_init, speed
from engine.training.conversations import DataSet, load_data
from engine.training.folder_weights import FolderWeights
from engine.training.hidden_store import HiddenStore, check_space, store_bytes
from engine.training.loop import HEAD, STATE, TrainingLoop
from engine.training.moments import hand_on
from engine.training.needs_torch import pick_device, pick_format
from engine.training.plan import RunRecord, TrainingPlan
from engine.training.prompts import read_prompts
from engine.training.request import TrainingRequest
from engine.training.specforge import write_conversations
from engine.training.starting_head import StartingHead, starting_head
from engine.training.state_rows import known_rows, row_type
from engine.training.synthesize import Writer, WritingPlan
from engine.training.text_parts import have_tokens, parts_of
from engine.training.torch_target import TorchTarget
from engine.training.trainer import Trainer

Say = Callable[[str], None]
RECORD = "run.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run."""

    head: Path  # checkpoint folder in the public format
    model: Path  # model folder with the head
    tau: float  # chain τ of the head, on held-out conversations
    updates: int


class Run:
    """One training run in its work folder."""

    def __init__(
        self, request: TrainingRequest, progress: steps.ProgressCallback, say: Say, cancel: threading.Event | None
    ) -> None:
        self.request, self._progress, self._say, self._cancel = request, progress, say, cancel
        self.device = pick_device(request.device)
        if request.threads:
            torch.set_num_threads(request.threads)
        self.folder = request.run_folder
        if request.fresh:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.known = RunRecord.read(self.folder / RECORD)

    def data(self) -> DataSet:
        """All conversations to train on; writes what is missing. Raises `Cancelled`, `ConfigError`."""
        request = self.request
        if request.wanted_tokens and have_tokens(request.text_folder) < request.wanted_tokens:
            self._write_text()
        return load_data(self._files, self.weights.dims.vocab_size, request.max_length)

    def train(self, data: DataSet) -> Outcome:
        """Train to the end of the plan. Raises `Cancelled` with the state saved, `ConfigError`, `CheckpointError`."""
        plan, target, weights = self.plan, self.target, self.weights
        store = self._store(data, target)
        start = starting_head(self.request, weights, data)
        trainer = Trainer(plan, data, store, target, start.head)
        self._introduce(trainer, start)
        self._settle(trainer, store, data, start.name)
        before = self.request.init.parent / STATE if self.request.init else None
        if before is not None and before.is_file() and hand_on(trainer, before, start.rows):
            self._say(f"The optimizer goes on as {before.parent} left it.")
        minutes = self.request.checkpoint_minutes
        TrainingLoop(trainer, self.folder, minutes, self._progress, self._say, self._cancel).run()
        return self._finish(trainer)

    @cached_property
    def plan(self) -> TrainingPlan:
        """The plan of the run that is continued, or a new one whose number of updates may still be open."""
        if self.known is not None:
            asked = TrainingPlan.from_mapping(
                {"steps": self.known.plan.steps, **self._settings(self.known.plan.compute)}
            )
            if asked != self.known.plan:
                was, now = self.known.plan.to_mapping(), asked.to_mapping()
                key = next(k for k in was if was[k] != now[k])
                raise ConfigError(
                    f"{self.folder} holds a run with {key} {was[key]}, and {now[key]} was asked for: repeat the old "
                    "settings to continue it, or use --fresh to discard it, or give another --work folder."
                )
            return self.known.plan
        return TrainingPlan.from_mapping({"steps": 10_000_000, **self._settings("")})

    @cached_property
    def weights(self) -> FolderWeights:
        """The target's weights."""
        self._progress(steps.Progress("Loading the model", 0, 0))
        return FolderWeights(self.request.model)

    @cached_property
    def target(self) -> TorchTarget:
        """The target."""
        return TorchTarget(self.weights, self.device, getattr(torch, self.plan.compute))

    @property
    def _files(self) -> list[Path]:
        """Of text."""
        request = self.request
        return [*request.data, *(parts_of(request.text_folder) if request.wanted_tokens else ())]

    @property
    def _recompute(self) -> bool:
        asked = self.request.recompute
        return self.device != "cpu" if asked is None else asked

    @cached_property
    def _states_name(self) -> str:
        """What hidden states depend on besides the text."""
        return f"{self.target.dtype} {_model_key(self.request.model)}"

    def _write_text(self) -> None:
        request = self.request
        plan = WritingPlan(
            request.wanted_tokens,
            request.batch,
            longest=request.text_length,
            prompts_share=request.prompts_share,
            seed=self.plan.seed,
        )
        prompts = read_prompts(request.prompts) if request.prompts else ()
        tokenizer = Tokenizer.load(request.model)
        states, size = "" if self._recompute else self._states_name, ""
        if states:
            needed = store_bytes(request.wanted_tokens - have_tokens(request.text_folder), self.weights.dims)
            request.text_folder.mkdir(parents=True, exist_ok=True)
            check_space(request.text_folder, needed)
            size = f", with hidden states of {needed / 1e9:.1f} GB"
        writer = Writer(self.target, tokenizer, request.text_folder, plan, prompts, states)
        self._say(f"The model writes text to learn from, into {request.text_folder}{size}.")
        tokens = writer.write(self._progress, self._cancel)
        self._say(f"{tokens / 1e6:.2f} M tokens of text: {writer.kept} new conversations, {writer.dropped} dropped.")

    def _settings(self, known: str) -> dict[str, object]:
        compute = known if known and self.request.compute == "auto" else pick_format(self.request.compute, self.device)
        return {**self.request.plan, "compute": compute}

    def _store(self, data: DataSet, target: TorchTarget) -> HiddenStore:
        size = store_bytes(data.tokens, target.dims) / 1e9
        if self._recompute:
            self._say(f"Hidden states are computed for every batch; storing them would take {size:.1f} GB.")
            return HiddenStore(data, target, None)
        folder = self.request.work / "hidden"
        folder.mkdir(parents=True, exist_ok=True)
        known = known_rows(self._files, data, self._states_name, row_type(target.dims))
        there = sum(len(rows) for rows in known.values()) / max(1, data.tokens)
        free = shutil.disk_usage(folder).free / 1e9
        self._say(
            f"Hidden states: {size:.1f} GB, {there:.0%} of them there; the rest is filled into {folder} in the first "
            f"pass ({free:.0f} GB are free)."
        )
        return HiddenStore(data, target, folder, self._states_name, known)

    def _introduce(self, trainer: Trainer, start: StartingHead) -> None:
        for warning in start.head.warnings:
            self._say(warning)
        known, coverage = len(start.vocabulary.ids), start.vocabulary.coverage
        self._say(f"Draft vocabulary: {known} of {self.weights.dims.vocab_size} tokens, {coverage:.1%} of the replies.")
        training, held = trainer.counts
        self._say(
            f"{training} conversations to train on ({trainer.training_tokens / 1e6:.2f} M tokens), {held} held out; "
            f"{self.device}, {trainer.plan.compute}."
        )

    def _settle(self, trainer: Trainer, store: HiddenStore, data: DataSet, start: str) -> None:
        """Fix the number of updates and note the run, or make sure that it is the same run."""
        if self.known is not None:
            for what, was, now in (("data", self.known.data, data.key()), ("start", self.known.start, start)):
                if was != now:
                    raise ConfigError(
                        f"{self.folder} holds a run with another {what}: repeat the old command to continue it, use "
                        "--fresh to discard it, or give another --work folder."
                    )
            return
        if self.request.hours is not None:
            self._progress(steps.Progress("Measuring the speed", 0, 0))
            found = speed.measure(trainer, store)
            updates = found.updates_in(self.request.hours, store.missing, stored=store.keeps)
            trainer.plan = replace(trainer.plan, steps=updates)
            self._say(
                f"{updates} updates of about {found.tokens:.0f} tokens, {found.first:.2f} to {found.last:.2f} s each, "
                f"fit into {self.request.hours:g} hours: {updates * found.tokens / trainer.training_tokens:.1f} "
                "passes over the data."
            )
        elif "steps" not in self.request.plan:
            raise ConfigError("How long? Give --hours or --steps.")
        RunRecord(trainer.plan, data.key(), start).write(self.folder / RECORD)

    def _finish(self, trainer: Trainer) -> Outcome:
        why = "all updates are done" if trainer.step >= trainer.plan.steps else "scores no longer get better"
        self._say(f"Finished after {trainer.step} updates: {why}.")
        self._progress(steps.Progress("Writing the model", 0, 0))
        best = head_init.from_head(self.folder / HEAD, self.weights.dims)
        export.model_with_head(self.request.model, self.request.out_folder, best)
        return Outcome(self.folder / HEAD, self.request.out_folder, trainer.best_tau, trainer.step)


def train_head(
    request: TrainingRequest,
    *,
    progress: steps.ProgressCallback = steps.ignore,
    say: Say = lambda line: None,
    cancel: threading.Event | None = None,
) -> Outcome:
    """Train a draft head. Raises `Cancelled` with everything saved, and `EyrieError`s of other kinds."""
    run = Run(request, progress, say, cancel)
    return run.train(run.data())


def export_data(
    request: TrainingRequest,
    path: Path,
    *,
    progress: steps.ProgressCallback = steps.ignore,
    say: Say = lambda line: None,
    cancel: threading.Event | None = None,
) -> int:
    """Write the conversations as SpecForge takes them, writing the text first where it is missing; their number."""
    return write_conversations(path, Run(request, progress, say, cancel).data(), Tokenizer.load(request.model))


def _model_key(model: Path) -> str:
    """Changes when the target's weights change."""
    path = model / "llm.onnx.data"
    with (path if path.exists() else model / "llm.onnx").open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]

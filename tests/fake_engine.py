"""An engine that plays recorded turns: the same interface as `engine`, no model, its own pace or as fast as possible.

Shows what a real session does that a window must cope with: progress, stop, stepping, failures. Text, counts and
settings are those of the recording; a change of `config` is kept but changes nothing.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

from engine.config import CHAT_SAMPLING, EngineConfig, SamplingConfig
from engine.errors import EyrieError
from engine.progress import Progress, ProgressCallback, check, ignore
from engine.trace import Event, Phase, PrefillProgress, Round, Turn, TurnEnd

FOLDER = Path("recorded-135m")


@dataclass
class FakeEngine:
    """Stands for the module `engine`.

    Attributes:
        turns: played one after the other, over and over.
        speed: 1 plays at the recorded pace, 2 twice as fast, inf without waiting.
        installed: whether the model is there at the start; `ensure_model` makes it so.
        fetch_error: raised by the next `ensure_model`, half way, then forgotten.
        newer: folder that `update_model` brings every other one up to; None: nothing is out of date.
        update_error: raised by every `update_model` that has something to do, half way.
        fetch_seconds, load_seconds: how long these take; both can be cancelled. An update takes as long as a fetch.
        generate_error: raised by the next turn after its second round, then forgotten.
        plain_ms: what `calibrate_plain` returns.
    """

    turns: Sequence[Turn]
    speed: float = math.inf
    installed: bool = True
    fetch_error: EyrieError | None = None
    newer: Path | None = None
    update_error: Exception | None = None
    fetch_seconds: float = 0.0
    load_seconds: float = 0.0
    generate_error: Exception | None = None
    plain_ms: float = 8.0
    sessions: list[FakeSession] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)  # idents of the threads that used a model
    loaders: set[int] = field(default_factory=set)  # idents of the threads that fetched or loaded one

    def strategies(self) -> dict[str, str]:
        """As the factory would."""
        return {"plain": "One token per pass of the target.", "eagle": "EAGLE-3 draft tree, verified in one pass."}

    def installed_models(self) -> list[Path]:
        """The recorded model, once it is installed."""
        return [FOLDER] if self.installed else []

    def ensure_model(
        self,
        name: str = FOLDER.name,
        *,
        progress: ProgressCallback = ignore,
        cancel: threading.Event | None = None,
        precision: str | None = None,
    ) -> Path:
        """Pretend to download and convert."""
        self.loaders.add(threading.get_ident())
        if not self.installed:
            self._pretend("Downloading recorded-135m", 145_000_000, "B", self.fetch_seconds, progress, cancel)
            self._pretend("Converting recorded-135m", 30, "", self.fetch_seconds, progress, cancel)
            self.installed = True
        return FOLDER

    def update_model(
        self, folder: Path, *, progress: ProgressCallback = ignore, cancel: threading.Event | None = None
    ) -> Path:
        """Pretend that another head ships now, if there is one."""
        self.loaders.add(threading.get_ident())
        if self.newer in (None, folder):
            return folder
        self._pretend("Bringing the model up to date", 5, "", self.fetch_seconds, progress, cancel)
        if self.update_error is not None:
            raise self.update_error
        assert self.newer is not None
        return self.newer

    def calibrate_plain(self, model: object) -> float:
        """Milliseconds of a plain pass."""
        return self.plain_ms

    @property
    def Model(self) -> SimpleNamespace:  # noqa: N802
        """Has `load`."""
        return SimpleNamespace(load=self._load)

    @property
    def ChatSession(self) -> Callable[..., FakeSession]:  # noqa: N802
        """Makes sessions."""
        return self._session

    def _load(
        self, folder: Path, *, progress: ProgressCallback = ignore, cancel: threading.Event | None = None
    ) -> SimpleNamespace:
        self.loaders.add(threading.get_ident())
        self._pretend("Loading", 4, "", self.load_seconds, progress, cancel)
        return SimpleNamespace(
            name="recorded-135m",
            folder=folder,
            precision="int8",
            has_draft=True,
            dims=SimpleNamespace(context_length=2048),
            defaults=EngineConfig(eagle_topk=4, eagle_depth=5, draft_predict_length=10),
            sampling=CHAT_SAMPLING,
            tokenizer=None,
            close=lambda: None,
        )

    def _session(self, model: object, config: EngineConfig | None = None) -> FakeSession:
        session = FakeSession(self, config or EngineConfig())
        self.sessions.append(session)
        return session

    def _pretend(
        self,
        step: str,
        total: int,
        unit: str,
        seconds: float,
        progress: ProgressCallback,
        cancel: threading.Event | None,
    ) -> None:
        parts = 20
        for i in range(parts + 1):
            check(cancel)
            progress(Progress(step, total * i // parts, total, unit))
            if i == parts // 2 and self.fetch_error is not None and step.startswith("Down"):
                error, self.fetch_error = self.fetch_error, None
                raise error
            if seconds and cancel is not None:
                cancel.wait(seconds / parts)


class FakeSession:
    """Plays the engine's turns."""

    def __init__(self, engine: FakeEngine, config: EngineConfig) -> None:
        self.engine = engine
        self.config = config
        self.sampling = SamplingConfig()
        self.stepping = False
        self.asked: list[list[Mapping[str, str]]] = []  # messages of every turn
        self._stop = threading.Event()
        self._next = itertools.cycle(engine.turns)

    def stop(self) -> None:
        """End the running turn at once."""
        self._stop.set()

    def count_tokens(self, messages: Sequence[Mapping[str, str]]) -> int:
        """A token per word and four per message: no recording holds a tokenizer."""
        self.engine.threads.add(threading.get_ident())
        return sum(4 + len(m["content"].split()) for m in messages)

    def generate(
        self, messages: Sequence[Mapping[str, str]], sampling: SamplingConfig | None = None, *, prefix: str = ""
    ) -> Iterator[Event]:
        """The next recorded turn."""
        self.engine.threads.add(threading.get_ident())
        self.asked.append(list(messages))
        self.sampling = sampling or SamplingConfig()
        self._stop.clear()
        turn = next(self._next)
        played = Turn()
        for event in self._events(turn):
            if self._stop.is_set():
                break
            played.add(event)
            yield event
            self._maybe_fail(played)
        if played.end is None:
            text = played.text
            yield TurnEnd("cancelled", text, tuple(t.id for t in played.tokens), 0.0)

    def _events(self, turn: Turn) -> Iterator[Event]:
        assert turn.start
        assert turn.prefill
        assert turn.end
        yield turn.start
        total = turn.prefill.tokens
        for done in range(0, total, 64):
            self._wait(turn.prefill.ms * 64 / max(total, 1))
            yield PrefillProgress(min(done + 64, total), total)
        yield turn.prefill
        for round_ in turn.rounds:
            self._wait(round_.timings.total)
            if self.stepping:
                yield from phases(round_)
            yield round_
        yield turn.end

    def _wait(self, ms: float) -> None:
        if math.isfinite(self.engine.speed) and not self.stepping:
            self._stop.wait(ms / 1000 / self.engine.speed)

    def _maybe_fail(self, played: Turn) -> None:
        if self.engine.generate_error is not None and len(played.rounds) == 2:
            error, self.engine.generate_error = self.engine.generate_error, None
            raise error


def phases(round_: Round) -> Iterator[Phase]:
    """The phases a stepping engine yields before it yields the round."""
    bare = tuple(
        replace_node(n, kept=n.id == 0, row=-1, target_token=-1, target_text="", accepted=n.id == 0)
        for n in round_.nodes
    )
    yield Phase(round_.index, "root", 0, bare[:1])
    for level in range(1, max(n.depth for n in bare) + 1):
        yield Phase(round_.index, "level", level, tuple(n for n in bare if n.depth <= level))
    pruned = tuple(replace_node(b, kept=n.kept, row=n.row) for b, n in zip(bare, round_.nodes, strict=True))
    yield Phase(round_.index, "prune", 0, pruned)
    yield Phase(round_.index, "verify", 0, pruned)
    yield Phase(round_.index, "accept", 0, round_.nodes)
    yield Phase(round_.index, "commit", 0, round_.nodes)


def replace_node(node: tuple, **changes: object) -> tuple:
    """`node` with some fields changed."""
    return node._replace(**changes)  # type: ignore[attr-defined]


def long_turn(turn: Turn, rounds: int) -> Turn:
    """`turn` repeated until it has this many rounds, with indices and times that go on."""
    out = Turn(start=turn.start, prefill=turn.prefill)
    now = turn.prefill.ms if turn.prefill else 0.0
    for i in range(rounds):
        source = turn.rounds[i % len(turn.rounds)]
        out.add(replace(source, index=i, timings=replace(source.timings, start=now)))
        now += source.timings.total
    text = out.text
    out.add(TurnEnd("length", text, tuple(t.id for t in out.tokens), now))
    return out

"""Whole runs on a tiny target: they learn, stop, continue exactly, and leave a model that can be run."""

# ruff: noqa: E402
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (the train extra)")

from engine import ChatSession, EngineConfig, SamplingConfig
from engine.errors import Cancelled, CheckpointError, ConfigError
from engine.model import Model
from engine.trace import TurnEnd
from engine.training import TrainingRequest, train_head
from engine.training.loop import LOG, STATE
from engine.training.pipeline import RECORD
from tests.engine.training.tiny_run import request

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys
from pathlib import Path
from engine.training import train_head
from tests.engine.training.tiny_run import request
train_head(request(Path(sys.argv[1]), checkpoint_minutes=0.002, plan={"steps": int(sys.argv[2])}))
"""


def logged(folder: Path, kind: str = "eagle3") -> list[dict[str, object]]:
    """What a run wrote down, without times."""
    lines = (folder / "work" / kind / LOG).read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "tokens_per_s"} for line in lines]


def accuracies(folder: Path, kind: str = "eagle3") -> list[float]:
    """Validation accuracy of the first step, from the start on."""
    return [entry["accuracy"][0] for entry in logged(folder, kind) if "accuracy" in entry]  # type: ignore[index]


@pytest.mark.parametrize("kind", ["eagle3", "mtp"])
def test_training_learns(tmp_path: Path, kind: str) -> None:
    """Validation accuracy rises well above its start, in each kind of head; the outcome runs."""
    said: list[str] = []
    asked = request(tmp_path, plan={"kind": kind, "steps": 60, "learning_rate": 3e-3, "ema": 0.8})
    found = train_head(asked, say=said.append)
    scores = accuracies(tmp_path, kind)
    assert max(scores) > scores[0] + 0.1
    assert found.tau > 1.1
    assert any("of the replies" in line for line in said)
    model = Model.load(found.model, threads=1)
    session = ChatSession(
        model, EngineConfig(speculative_type="eagle" if kind == "eagle3" else "mtp", max_new_tokens=40)
    )
    events = list(session.generate([{"role": "user", "content": "on the"}], SamplingConfig()))
    end = next(event for event in events if isinstance(event, TurnEnd))
    assert len(end.token_ids) > 0
    model.close()


def test_a_finished_run_is_only_written_out_again(tmp_path: Path) -> None:
    """The same command, once more, must not train further."""
    first = train_head(request(tmp_path))
    before = logged(tmp_path)
    assert train_head(request(tmp_path)) == first
    assert logged(tmp_path) == before


@pytest.mark.parametrize("at", [6, 7])  # 6: before a score
def test_stopping_and_continuing_gives_the_same_losses(tmp_path: Path, at: int) -> None:
    """Ctrl+C in the middle costs nothing but the time."""
    train_head(request(tmp_path / "whole", plan={"steps": 20}))
    stop = threading.Event()
    asked = request(tmp_path / "parts", plan={"steps": 20})
    with pytest.raises(Cancelled):
        train_head(asked, progress=lambda p: stop.set() if p.step == "Training" and p.done == at else None, cancel=stop)
    train_head(asked)
    assert logged(tmp_path / "parts") == logged(tmp_path / "whole")


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")
def test_a_killed_run_gives_the_same_losses(tmp_path: Path) -> None:
    """`kill -9` at any moment: the last saved state is continued, its losses repeat to the last bit."""
    steps = 120
    train_head(request(tmp_path / "whole", plan={"steps": steps}))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "parts"), str(steps)]
    request(tmp_path / "parts")
    with subprocess.Popen(command, cwd=ROOT) as child:
        state, deadline = tmp_path / "parts" / "work" / "eagle3" / STATE, time.monotonic() + 120
        while not state.exists() and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL, "the run ended before it could be killed"
    train_head(request(tmp_path / "parts", plan={"steps": steps}))
    assert logged(tmp_path / "parts") == logged(tmp_path / "whole")


def test_stored_and_recomputed_states_train_alike(tmp_path: Path) -> None:
    """A GPU computes them anew, a laptop reads them from the disk: the same head."""
    train_head(request(tmp_path / "a", recompute=True))
    train_head(request(tmp_path / "b", recompute=False))
    assert logged(tmp_path / "a") == logged(tmp_path / "b")
    assert not (tmp_path / "a" / "work" / "hidden").exists()
    assert (tmp_path / "b" / "work" / "hidden" / "rows.npy").stat().st_size > 60 * 28 * 4 * 64 * 2


def test_another_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    """Mixing two runs would give a head that nobody can explain; --fresh is the way out."""
    train_head(request(tmp_path))
    with pytest.raises(ConfigError, match="unroll 3, and 2 was asked for"):
        train_head(request(tmp_path, plan={"unroll": 2}))
    with pytest.raises(ConfigError, match="another data"):
        train_head(request(tmp_path, max_length=20))
    with pytest.raises(ConfigError, match="another start"):
        train_head(request(tmp_path, draft_vocab=150))
    found = train_head(request(tmp_path, draft_vocab=150, fresh=True))
    assert found.updates == 12


def test_a_head_is_continued(tmp_path: Path) -> None:
    """`--init`: it starts as good as it was, with a wider MLP and more tokens, too; and the optimizer goes on."""
    first = train_head(request(tmp_path, plan={"steps": 60, "learning_rate": 3e-3, "ema": 0.8}))
    more = request(
        tmp_path, work=tmp_path / "more", init=first.head, draft_vocab=250, mlp_width=160, plan={"learning_rate": 1e-4}
    )
    said: list[str] = []
    train_head(more, say=said.append)
    start = next(line for line in said if line.startswith("Update 0"))
    assert float(start.split("τ ")[1].split()[0]) > 0.9 * first.tau
    assert sum(line.startswith("The optimizer goes on") for line in said) == 1


def test_what_is_doubtful_about_a_given_head_is_said(tmp_path: Path) -> None:
    """Such sentences were collected while it was read, and never shown to anyone."""
    first = train_head(request(tmp_path, plan={"steps": 1}))
    config = json.loads((first.head / "config.json").read_text(encoding="utf-8"))
    (first.head / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 8}), encoding="utf-8")
    said: list[str] = []
    train_head(request(tmp_path, work=tmp_path / "more", init=first.head, plan={"steps": 1}), say=said.append)
    assert any("8 positions" in line for line in said), said


def test_hours_become_updates(tmp_path: Path) -> None:
    """Measured once and noted, so that a continued run keeps its schedule."""
    said: list[str] = []
    asked = request(tmp_path, hours=0.0005, plan={})
    asked.plan.pop("steps")
    train_head(asked, say=said.append)
    steps = json.loads((tmp_path / "work" / "eagle3" / RECORD).read_text(encoding="utf-8"))["plan"]["steps"]
    assert any(line.startswith(f"{steps} updates of about") for line in said)


def test_damage_is_named(tmp_path: Path) -> None:
    """A state or a head that cannot be read: one sentence, and what to do."""
    train_head(request(tmp_path))
    state = tmp_path / "work" / "eagle3" / STATE
    state.write_bytes(state.read_bytes()[:500])
    with pytest.raises(ConfigError, match="--fresh"):
        train_head(request(tmp_path))
    (tmp_path / "nohead").mkdir()
    with pytest.raises(CheckpointError, match=r"config\.json"):
        train_head(request(tmp_path, init=tmp_path / "nohead", fresh=True))


def test_too_little_data_is_named(tmp_path: Path) -> None:
    """Nothing to validate on."""
    with pytest.raises(ConfigError, match="too few"):
        train_head(request(tmp_path, plan={"held_out_from": 1000}))


def test_a_full_disk_is_told_before_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours of training must not end in a half-written file."""
    import shutil
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**12, 10**12, 10**9))
    with pytest.raises(ConfigError, match=r"1\.0 GB free"):
        train_head(request(tmp_path))


def test_the_model_folder_itself_is_never_written_to(tmp_path: Path) -> None:
    """Setup keeps account of its files and would make them again."""
    asked = request(tmp_path)
    with pytest.raises(ConfigError, match="give another folder"):
        train_head(TrainingRequest(**{**vars_of(asked), "out": tmp_path / "model"}))


def vars_of(asked: TrainingRequest) -> dict[str, object]:
    """The fields of a request."""
    return {name: getattr(asked, name) for name in TrainingRequest.__slots__}

"""Several setups at once, and what killed ones leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from engine.errors import Cancelled
from engine.models.setup import ensure_model, installed_models
from engine.progress import Progress
from tests.engine.models.setup_help import Builder, names_in

pytestmark = pytest.mark.usefixtures("root")


ROOT = Path(__file__).resolve().parents[3]


def test_leftovers_of_killed_setups_go(builder: Builder, gguf: Path, root: Path) -> None:
    """They may be large, and their owner is dead: it had the lock, and we have it now."""
    for name in ("models/.building-abc", "models/.discarded-def", "downloads/.fetching-ghi"):
        (root / name).mkdir(parents=True)
        (root / name / "big").write_text("x")
    ensure_model(str(gguf))
    assert names_in(root) == {"models", "downloads", "setup.lock"}
    assert len(names_in(root / "models")) == 1
    assert names_in(root / "downloads") == set()


CHILD = """
    import sys, time
    from pathlib import Path
    sys.path.insert(0, sys.argv[1])
    from engine.models import convert
    from engine.models.folder import FolderConfig, write_config
    from engine.models.setup import ensure_model

    def build(source, out, **options):
        (out / "llm.onnx").write_text("x")
        engine, sampling = options["engine"], options["sampling"]
        write_config(out, FolderConfig(options["name"], options["precision"], "cpu", source.dims, engine, sampling))
        print("building", flush=True)
        time.sleep(float(sys.argv[3]))

    convert.build_folder = build
    print(ensure_model(sys.argv[2]), flush=True)
"""


def _start(gguf: Path, seconds: float) -> subprocess.Popen[str]:
    """Another process that sets the same model up and takes its time."""
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(ROOT), str(gguf), str(seconds)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "building\n"
    return child


def test_two_processes_make_it_once(builder: Builder, gguf: Path) -> None:
    """The window and the command line started at the same time: the second waits, says so, and uses the result."""
    seen: list[Progress] = []
    with _start(gguf, 1.0) as child:
        folder = ensure_model(str(gguf), progress=seen.append)
        assert child.stdout is not None
        assert child.stdout.readline().strip() == str(folder)
    assert builder.calls == []
    assert any(p.step.startswith("Waiting for another") for p in seen)


@pytest.mark.alone
def test_waiting_can_be_stopped(builder: Builder, gguf: Path) -> None:
    """The other process may take minutes."""
    cancel = threading.Event()
    with _start(gguf, 1.5):
        began = time.monotonic()
        threading.Timer(0.3, cancel.set).start()
        with pytest.raises(Cancelled):
            ensure_model(str(gguf), cancel=cancel)
        assert time.monotonic() - began < 1.2


@pytest.mark.skipif(os.name == "nt", reason="no signals there")
def test_a_killed_process_blocks_nobody(builder: Builder, gguf: Path, root: Path) -> None:
    """Its lock dies with it, its half-made folder goes, and nobody ever saw it under its name."""
    with _start(gguf, 60) as child:
        assert installed_models() == []
        assert len(list((root / "models").glob(".building-*"))) == 1
        child.send_signal(signal.SIGKILL)
    folder = ensure_model(str(gguf))
    assert len(builder.calls) == 1
    assert names_in(root / "models") == {folder.name}


def test_threads_of_one_process_make_it_once(builder: Builder, gguf: Path) -> None:
    """The window's worker and a second window in the same process."""
    builder.before = lambda _: time.sleep(0.2)
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(ensure_model(str(gguf)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    assert len(builder.calls) == 1

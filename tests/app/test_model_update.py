"""A model folder made before an update of Eyrie: brought up to date when it is loaded, and used as it is where not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from engine import DownloadError, Progress
from tests.fake_engine import FOLDER, FakeEngine
from tests.fake_turn import fake_turn

NEWER = Path("recorded-135m-v4")
OFFLINE = DownloadError("The package index cannot be reached: connect to the internet.")


def test_an_old_folder_is_brought_up_to_date_at_the_start(make, qtbot):
    """By itself, in the engine's thread, shown as loading is; the next start takes the newer folder at once."""
    engine = FakeEngine([fake_turn(1)], newer=NEWER, fetch_seconds=1)
    window = make(engine)
    status = window.panels.status
    qtbot.waitUntil(lambda: "Bringing the model up to date" in status.state.text(), timeout=5000)
    assert window.models.state == "loading"
    assert status.cancel.isVisible()
    assert window.panels.pane.composer.input.isEnabled()
    qtbot.waitUntil(lambda: window.models.state == "ready" and not window.link.busy, timeout=5000)
    assert window.models.info.folder == NEWER
    assert window.store.settings.get("model.last") == str(NEWER)
    assert not window.panels.messages.messages


@pytest.mark.logs
@pytest.mark.parametrize("error", [OFFLINE, RuntimeError("oops")], ids=["foreseen", "unforeseen"])
def test_a_failed_update_loads_what_is_there(make, qtbot, error):
    """Somebody on a train must not lose the model over a better one; one sentence says why it is the old one."""
    window = make(FakeEngine([fake_turn(1)], newer=NEWER, update_error=error))
    qtbot.waitUntil(lambda: window.models.state == "ready" and not window.link.busy, timeout=5000)
    assert window.models.info.folder == FOLDER
    (message,) = window.panels.messages.messages
    assert message.kind == "warning"
    assert message.text.startswith("The model could not be brought up to date and is used as it was.")
    assert str(error) in message.text
    assert bool(message.detail) == (error is not OFFLINE)


@pytest.mark.alone
def test_cancel_of_an_update_loads_what_is_there(make, qtbot):
    """Whoever has no time now chats at once; the second Cancel is for the loading."""
    engine = FakeEngine([fake_turn(1)], newer=NEWER, fetch_seconds=20, load_seconds=20)
    window = make(engine)
    status = window.panels.status
    qtbot.waitUntil(lambda: "Bringing the model up to date" in status.state.text(), timeout=5000)
    began = time.perf_counter()
    qtbot.mouseClick(status.cancel, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: status.state.text().startswith("Loading"), timeout=5000)
    assert time.perf_counter() - began < 0.5
    engine.load_seconds = 0
    qtbot.mouseClick(status.cancel, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.models.state == "missing", timeout=5000)


@pytest.mark.alone
def test_closing_during_an_update_ends_at_once(make, qtbot):
    """And does not begin to load instead."""
    window = make(FakeEngine([fake_turn(1)], newer=NEWER, fetch_seconds=20, load_seconds=20))
    qtbot.waitUntil(lambda: "Bringing the model up to date" in window.panels.status.state.text(), timeout=5000)
    began = time.perf_counter()
    window.close()
    assert time.perf_counter() - began < 1
    assert window.clean


def test_a_folder_that_is_gone_leaves_the_list_of_models(make, qtbot, tmp_path):
    """A newer converter makes another folder and removes the old one: the menu must not offer it."""
    old, new = tmp_path / "tiny-v3", tmp_path / "tiny-v4"
    old.mkdir()

    class Moving(FakeEngine):
        def installed_models(self):
            return [old]

        def update_model(self, folder, **options):
            old.rename(new)
            return new

    window = make(Moving([fake_turn(1)]))
    qtbot.waitUntil(lambda: window.models.state == "ready" and not window.link.busy, timeout=5000)
    assert window.models.models == [new]


class Doubtful(FakeEngine):
    """Finds something about the draft head while it converts."""

    def ensure_model(self, *names, progress, cancel):
        progress(Progress("Converting the draft head", 0, 1))
        progress(Progress("Reading the draft head", 0, 0, warning="Draft head x: it is old."))
        progress(Progress("Converting the draft head", 1, 1))
        return super().ensure_model(*names, progress=progress, cancel=cancel)


def test_what_is_doubtful_about_a_head_is_said_once(make, qtbot):
    """It was found out while the model was prepared, and told to nobody."""
    window = make(Doubtful([fake_turn(1)], installed=False))
    qtbot.waitUntil(lambda: window.models.state == "missing")
    steps = []
    window.models.progressed.connect(steps.append)
    window.models.get()
    qtbot.waitUntil(lambda: window.models.state == "ready" and not window.link.busy, timeout=5000)
    (message,) = window.panels.messages.messages
    assert (message.kind, message.text) == ("warning", "Draft head x: it is old.")
    assert not any(step.warning for step in steps)

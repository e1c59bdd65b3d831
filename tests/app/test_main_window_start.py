"""First starts of the whole window over a fake engine: models found, fetched and loaded, a recording without any."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.store import open_store
from engine import DownloadError
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn


def test_window_is_there_before_the_engine(qtbot, tmp_path, engine):
    """Nothing of the engine runs until `start`, and the page says what this is."""
    window = MainWindow(open_store(tmp_path / "data"), EngineLink(lambda: engine), [])
    qtbot.addWidget(window)
    window.show()
    assert window.panels.page is window.panels.welcome
    assert not engine.threads | engine.loaders
    assert not window.link.thread_.isRunning()
    window.close()


def test_first_start_offers_model_and_recording(make, qtbot):
    """No model: the welcome page with both ways on."""
    window = make(FakeEngine([fake_turn(1)], installed=False))
    welcome = window.panels.welcome
    qtbot.waitUntil(lambda: window.models.state == "missing")
    assert window.panels.page is welcome
    assert welcome.get_button.isVisible()
    assert [b.text() for b in welcome.trace_buttons] == ["Many drafts accepted"]


def test_recording_opens_without_a_model(make, qtbot):
    """The first lesson needs no download."""
    window = make(FakeEngine([fake_turn(1)], installed=False))
    qtbot.mouseClick(window.panels.welcome.trace_buttons[0], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.panels.page is window.panels.recording)
    qtbot.waitUntil(lambda: window.selection.count == 9)
    assert (window.selection.round_index, window.selection.live) == (0, False)
    assert "9" in window.panels.tree.header.title.text()
    recording = window.panels.recording
    assert recording.title.text().endswith("Many drafts accepted")  # the words that were pressed, not a file's name
    recording.view.flow.place()
    assert recording.view.flow.verticalScrollBar().value() == 0  # the first round's words are at the top
    headers = [view.header for view in recording.view.views()]
    assert headers
    assert not any(h.edit_button.isVisible() or h.again_button.isVisible() for h in headers)  # neither can be asked
    window.resize(700, 800)
    qtbot.waitUntil(lambda: recording.title.text().startswith("Many"))  # cut at the end if anywhere
    qtbot.mouseClick(window.panels.recording.close_button, Qt.MouseButton.LeftButton)
    assert window.panels.page is window.panels.welcome


def test_first_of_several_models_is_loaded_and_the_last_one_remembered(make, qtbot):
    """The engine lists the default model first; what the user took instead stays theirs."""

    class Several(FakeEngine):
        def installed_models(self) -> list[Path]:
            return [Path("usual"), Path("a-precision-that-sorts-before")]

    window = make(Several([fake_turn(1)]))
    qtbot.waitUntil(lambda: window.models.state == "ready")
    assert window.models.info.folder == Path("usual")
    window.models.load(Path("a-precision-that-sorts-before"))
    qtbot.waitUntil(lambda: window.models.state == "ready" and not window.link.busy)
    window.close()
    window = make(Several([fake_turn(1)]))
    qtbot.waitUntil(lambda: window.models.state == "ready")
    assert window.models.info.folder == Path("a-precision-that-sorts-before")


def test_download_fails_is_retried_and_leads_to_a_chat(make, qtbot):
    """What went wrong is said on the page; the retry works; the chat is ready by itself."""
    error = DownloadError("The server answered 503: try again later.")
    window = make(FakeEngine([fake_turn(1)], installed=False, fetch_error=error))
    welcome = window.panels.welcome
    qtbot.waitUntil(lambda: window.models.state == "missing")
    qtbot.mouseClick(welcome.get_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.models.state == "failed")
    assert welcome.error.text() == str(error)
    assert welcome.get_button.text() == "Try again"
    qtbot.mouseClick(welcome.get_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.models.state == "ready")
    assert window.panels.page is window.panels.pane
    assert window.panels.pane.composer._blocked == ""


@pytest.mark.alone
def test_download_can_be_cancelled(make, qtbot):
    """Progress is real, Cancel stops it, and the page is as before."""
    window = make(FakeEngine([fake_turn(1)], installed=False, fetch_seconds=20))
    welcome = window.panels.welcome
    qtbot.waitUntil(lambda: window.models.state == "missing")
    qtbot.mouseClick(welcome.get_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: welcome.bar.value() > 0)
    assert "of 145 MB" in welcome.step.text()
    assert window.panels.status.cancel.isVisible()
    began = time.perf_counter()
    qtbot.mouseClick(welcome.cancel_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.models.state == "missing")
    assert time.perf_counter() - began < 0.5
    assert welcome.get_button.text() == "Get the model"
    assert not window.panels.messages.messages


def test_cancelled_loading_can_be_taken_up_again(make, qtbot):
    """The model is on the disk: nothing may say that it has to be fetched, and the button loads it."""
    window = make(FakeEngine([fake_turn(1)], load_seconds=20))
    welcome = window.panels.welcome
    qtbot.waitUntil(lambda: window.models.state == "loading")
    qtbot.waitUntil(welcome.bar.isVisible)
    qtbot.mouseClick(welcome.cancel_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.models.state == "missing")
    assert welcome.get_button.text() == "Load the model"
    assert welcome.model_text.text() == "recorded-135m is on this computer already."
    assert window.panels.status.state.text() == "No model is loaded."
    assert window.panels.pane.composer._blocked == "No model is loaded: choose one in the menu Model."
    qtbot.mouseClick(welcome.get_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.models.state == "loading")
    window.models.cancel()
    qtbot.waitUntil(lambda: window.models.state == "missing")

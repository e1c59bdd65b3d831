"""The whole window over a fake engine: first start, chat, recordings, stepping, files, closing, coming back."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QFileDialog,
    QLineEdit,
    QMenu,
    QScrollBar,
)

from app import file_commands
from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.shortcut_sheet import ShortcutSheet
from app.store import Store, open_store
from app.theme import theme
from app.watchdog import Watchdog
from engine import CHAT_SAMPLING, DownloadError, load_trace, save_trace, trace_from_json
from tests.fake_engine import FakeEngine, long_turn
from tests.fake_turn import fake_turn


@pytest.fixture
def engine():
    """Two recorded turns."""
    return FakeEngine([fake_turn(1, rounds=12), fake_turn(2, rounds=5)])


@pytest.fixture
def traces(tmp_path):
    """A recording that ships."""
    return [save_trace(tmp_path / "1-high.json", fake_turn(7, rounds=9, accept=0.9))]


@pytest.fixture
def make(qtbot, traces, tmp_path):
    """Makes windows over one data folder; closes those that are open."""
    made: list[MainWindow] = []

    def build(engine: FakeEngine) -> MainWindow:
        window = MainWindow(open_store(tmp_path / "data"), EngineLink(lambda: engine), traces)
        made.append(window)
        qtbot.addWidget(window)
        window.resize(1280, 800)
        window.show()
        window.start()
        return window

    yield build
    for window in made:
        window.close()
        assert window.clean


@pytest.fixture
def window(make, engine, qtbot):
    """A window whose model is loaded, on an empty chat."""
    window = make(engine)
    qtbot.waitUntil(lambda: window.models.state == "ready" and window.panels.pane.chat > 0, timeout=5000)
    return window


def send(window, text="Tell me a story"):
    """Type and send."""
    window.panels.pane.composer.set_text(text)
    window.panels.pane.composer.send()


def ended(window):
    """Whether nothing runs."""
    return not window.turns.running and not window.link.busy


def shown_texts(window):
    """What the conversation holds."""
    store = window.store
    return [m.content for m in store.messages.path(window.panels.pane.chat)]


# First start


def test_window_is_there_before_the_engine(qtbot, tmp_path, engine):
    """Nothing of the engine runs until `start`, and the page says what this is."""
    window = MainWindow(open_store(tmp_path / "data"), EngineLink(lambda: engine), [])
    qtbot.addWidget(window)
    window.show()
    assert window.panels.page is window.panels.welcome
    assert not engine.threads
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
    assert window.selection.count == 9
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
    assert window.panels.status.state.text() == "No model is loaded."
    assert window.panels.pane.composer._blocked == "No model is loaded: choose one in the menu Model."
    qtbot.mouseClick(welcome.get_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.models.state == "loading")
    window.models.cancel()
    qtbot.waitUntil(lambda: window.models.state == "missing")


# Chat


def test_reply_streams_is_kept_and_is_linked(window, engine, qtbot):
    """The main road: prompt, reply, store, tree, plots, status: one record everywhere."""
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    turn = engine.turns[0]
    assert shown_texts(window) == ["Tell me a story", turn.text]
    reply = window.store.messages.path(window.panels.pane.chat)[-1]
    assert reply.finish_reason == turn.end.finish_reason
    assert trace_from_json(window.store.traces.load(reply.id)) == turn
    assert window.selection.turn == turn
    assert window.selection.round_index == 11
    assert window.panels.status.tau.text() == f"τ {turn.stats().tau:.2f}"
    assert window.panels.status.gain.text().endswith("× plain")
    plots = window.panels.plots.panel()
    qtbot.waitUntil(lambda: plots.series.count == 12)
    assert engine.sessions[-1].asked == [[{"role": "user", "content": "Tell me a story"}]]


def test_everything_follows_one_selection(window, qtbot):
    """Plot, tree, timeline and sliders show the same round."""
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    plots = window.panels.plots.panel()
    qtbot.waitUntil(lambda: plots.series.count == 12)
    plots.charts["acceptance"].clicked(4.0)
    assert window.selection.round_index == 3
    assert "4" in window.panels.tree.header.title.text()
    assert window.panels.tree.timeline.current == 3
    assert window.panels.sliders.fields["eagle_topk"].used_note.text() == "used 4"
    assert window.actions_["hold"].isChecked()
    window.actions_["live"].trigger()
    assert window.selection.round_index == 11
    assert window.selection.live


def test_stop_button_stops(window, engine, qtbot):
    """The computation ends, and what was written stays."""
    engine.speed = 0.2
    send(window)
    qtbot.waitUntil(lambda: window.selection.count >= 2, timeout=8000)
    began = time.perf_counter()
    window.actions_["stop"].trigger()
    qtbot.waitUntil(lambda: ended(window))
    assert time.perf_counter() - began < 0.5
    reply = window.store.messages.path(window.panels.pane.chat)[-1]
    assert reply.finish_reason == "cancelled"
    assert reply.content


def test_stopping_before_the_first_round_promises_none(window, engine, qtbot):
    """ "The first round is on its way" must not stand there for ever; the rounds of the reply before come back."""
    for earlier in (0, 5):
        engine.speed = 0.0001
        send(window)
        qtbot.waitUntil(lambda: "Reading" in window.panels.pane.composer._state.text(), timeout=8000)
        assert window.selection.count == 0
        window.panels.pane.composer.button.click()
        qtbot.waitUntil(lambda: ended(window))
        qtbot.waitUntil(lambda count=earlier: window.selection.count == count)
        assert (window.selection.turn is None) == (earlier == 0)
        engine.speed = 50
        send(window)
        qtbot.waitUntil(lambda: ended(window) and window.selection.count > 0, timeout=8000)


@pytest.mark.logs
def test_unexpected_error_is_one_sentence_with_a_retry(window, engine, qtbot):
    """The window lives, the reply says so, the next try works."""
    engine.generate_error = ZeroDivisionError("oops")
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    (message,) = window.panels.messages.messages
    assert "Something unexpected" in message.text
    assert "ZeroDivisionError" in message.detail.toPlainText()
    qtbot.mouseClick(message.buttons["Try again"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: ended(window) and window.selection.count == 5, timeout=8000)


def test_settings_reach_the_engine(window, engine, qtbot):
    """Sliders and strategy act on the session that is there; the reply limit belongs to the conversation."""
    session = engine.sessions[-1]
    window.panels.sliders.fields["eagle_topk"].slider.setValue(1)
    assert session.config.eagle_topk == 2
    window.toolbar.strategy.setCurrentIndex(0)
    window.toolbar.strategy.activated.emit(0)
    assert session.config.speculative_type == "plain"
    assert not window.panels.sliders.fields["eagle_topk"].isEnabled()


def test_sliders_and_conversation_fields_are_one(window, qtbot):
    """Two places, one temperature; and another chat has its own."""
    window.panels.sliders.fields["temperature"].number.setValue(0.8)
    assert window.panels.pane.settings.fields["temperature"].value() == pytest.approx(0.8)
    window.panels.pane.settings.fields["top_k"].set_value(7)
    assert window.panels.sliders.fields["top_k"].number.value() == 7
    window.panels.pane.settings.flush()
    send(window, "Warm")
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    first = window.panels.pane.chat
    window.actions_["new_chat"].trigger()
    assert window.settings.sampling.temperature == CHAT_SAMPLING.temperature
    window.pages.open_chat(first)
    assert (window.settings.sampling.temperature, window.settings.sampling.top_k) == (pytest.approx(0.8), 7)


def test_sliders_act_on_the_running_reply_of_the_shown_chat_only(window, engine, qtbot):
    """Temperature and longest reply belong to a conversation: looking at another one changes no running reply."""
    window.panels.sliders.fields["temperature"].number.setValue(0.3)
    send(window, "First")
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    first, fields = window.panels.pane.chat, window.panels.sliders.fields
    window.actions_["new_chat"].trigger()
    engine.speed = 0.1
    send(window, "Second")
    qtbot.waitUntil(lambda: window.selection.count >= 1, timeout=8000)
    second, session = window.panels.pane.chat, engine.sessions[-1]
    seed = session.sampling.seed
    assert session.sampling == CHAT_SAMPLING.with_(seed=seed)
    fields["temperature"].slider.setValue(fields["temperature"].slider.value() + 6)
    fields["max_new_tokens"].number.setValue(500)
    assert (session.sampling.temperature, session.sampling.seed) == (pytest.approx(0.7), seed)
    assert session.config.max_new_tokens == 500
    window.pages.open_chat(first)
    assert window.settings.sampling.temperature == pytest.approx(0.3)
    assert session.sampling.temperature == pytest.approx(0.7)
    fields["max_new_tokens"].number.setValue(900)
    fields["eagle_depth"].number.setValue(7)
    assert (session.config.max_new_tokens, session.config.eagle_depth) == (500, 7)
    window.pages.open_chat(second)
    assert session.sampling.temperature == pytest.approx(0.7)
    assert session.config.max_new_tokens == 500
    window.turns.stop()
    qtbot.waitUntil(lambda: ended(window), timeout=8000)


def test_switching_chats_shows_their_own_rounds(window, engine, qtbot):
    """And a reply that runs in the background goes where it belongs."""
    send(window, "First")
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    first = window.panels.pane.chat
    window.actions_["new_chat"].trigger()
    assert window.selection.turn is None
    engine.speed = 0.5
    send(window, "Second")
    qtbot.waitUntil(lambda: window.selection.count >= 1, timeout=8000)
    window.pages.open_chat(first)
    assert window.selection.count == 12
    qtbot.waitUntil(lambda: ended(window), timeout=15000)
    assert window.selection.count == 12
    assert window.panels.pane.chat == first
    second = next(c for c in window.store.chats.list() if c.title.startswith("Second"))
    assert window.store.messages.path(second.id)[-1].content == engine.turns[1].text


def test_context_meter_counts_the_draft(window, qtbot):
    """While typing, not only after sending: four tokens for the message, one per word."""
    window.panels.pane.composer.set_text("one two three")
    qtbot.waitUntil(lambda: window.panels.pane.composer.meter.used == 7, timeout=3000)


# Stepping and playing


def test_engine_is_stepped_from_the_tree(window, qtbot):
    """The engine waits; Space lets it go on; the chat says why it stands still; Stop works."""
    window.actions_["step_engine"].trigger()
    send(window)
    qtbot.waitUntil(lambda: window.panels.tree.stepper.waiting is not None, timeout=8000)
    assert "waits" in window.panels.tree.header.title.text()
    assert "waits" in window.panels.pane.composer._state.text()
    window.panels.tree.next_step()
    qtbot.waitUntil(lambda: window.panels.tree.stepper.waiting.name == "level")
    window.actions_["engine_round"].trigger()
    qtbot.waitUntil(lambda: window.selection.count == 1)
    window.actions_["stop"].trigger()
    qtbot.waitUntil(lambda: ended(window))
    assert window.panels.tree.stepper.waiting is None
    window.actions_["step_engine"].trigger()
    send(window, "Again")
    qtbot.waitUntil(lambda: ended(window) and window.selection.count == 5, timeout=8000)


def test_play_says_how_slow_and_ends(window, traces, qtbot):
    """Slow motion with an honest banner."""
    window.files.open_trace(traces[0])
    qtbot.waitUntil(lambda: window.panels.page is window.panels.recording)
    window.player.set_pace(5)
    window.actions_["play"].trigger()
    assert "slowed 5×" in window.toolbar.banner.text()
    assert window.panels.recording.play.text() == "Hold"
    window.actions_["hold"].trigger()
    assert window.toolbar.banner.text() == ""
    assert window.actions_["hold"].isChecked()


# Files


def answer(monkeypatch, kind, path):
    """The next file dialog returns this."""
    monkeypatch.setattr(QFileDialog, kind, lambda *args, **kw: (str(path), ""))


def test_trace_saved_and_opened_again(window, tmp_path, monkeypatch, qtbot):
    """The file another person would get, extension added."""
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    turn = window.selection.turn
    answer(monkeypatch, "getSaveFileName", tmp_path / "mine")
    window.actions_["save_trace"].trigger()
    qtbot.waitUntil((tmp_path / "mine.json").exists)
    assert load_trace(tmp_path / "mine.json") == turn
    answer(monkeypatch, "getOpenFileName", tmp_path / "mine.json")
    window.actions_["open_trace"].trigger()
    qtbot.waitUntil(lambda: window.panels.page is window.panels.recording)
    assert window.selection.turn == turn
    assert window.panels.status.gain.isHidden()


@pytest.mark.parametrize(
    ("action", "name"), [("save_rounds", "r.csv"), ("tree_png", "t.png"), ("tree_svg", "t.svg"), ("export_md", "c.md")]
)
def test_exports_write_a_file(window, tmp_path, monkeypatch, qtbot, action, name):
    """Each leaves something that is not empty, and says where."""
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    answer(monkeypatch, "getSaveFileName", tmp_path / name)
    window.actions_[action].trigger()
    qtbot.waitUntil(lambda: (tmp_path / name).exists() and (tmp_path / name).stat().st_size > 50)
    qtbot.waitUntil(lambda: any("Saved" in m.text for m in window.panels.messages.messages))


@pytest.mark.parametrize("action", ["save_trace", "save_rounds", "tree_png"])
def test_exports_of_nothing_are_a_sentence(window, tmp_path, monkeypatch, action):
    """No dialog for nothing, no traceback."""
    answer(monkeypatch, "getSaveFileName", tmp_path / "x.png")
    window.actions_[action].trigger()
    assert len(window.panels.messages.messages) == 1
    assert not (tmp_path / "x.png").exists()


def drop(window, path):
    """Drop a file on the window."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    event = QDropEvent(
        QPoint(600, 300), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    )
    window.dropEvent(event)


def test_dropped_recording_opens(window, traces, qtbot):
    """The quickest way to look at somebody else's run."""
    drop(window, traces[0])
    qtbot.waitUntil(lambda: window.panels.page is window.panels.recording)


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02", b"{}", b'{"a": 1}', "{…".encode()])
def test_dropped_nonsense_is_one_sentence(window, tmp_path, qtbot, content):
    """Any file can be dropped."""
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    drop(window, path)
    qtbot.waitUntil(lambda: len(window.panels.messages.messages) == 1)
    (message,) = window.panels.messages.messages
    assert "odd.json" in message.text
    assert "\n" not in message.text
    assert window.panels.page is window.panels.pane


def test_dropped_conversation_is_imported(window, tmp_path, monkeypatch, qtbot):
    """Out as JSON, in again by dropping."""
    send(window, "Keep me")
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    answer(monkeypatch, "getSaveFileName", tmp_path / "chat.json")
    window.actions_["export_json"].trigger()
    qtbot.waitUntil((tmp_path / "chat.json").exists)
    before = window.panels.pane.chat
    drop(window, tmp_path / "chat.json")
    qtbot.waitUntil(lambda: window.panels.pane.chat != before)
    assert shown_texts(window)[0] == "Keep me"


def test_conversation_files_do_not_hold_the_window(window, tmp_path, monkeypatch, qtbot):
    """A file of many megabytes is read and written in the engine's thread."""
    threads = []

    def noted(call):
        def called(*args):
            threads.append(threading.get_ident())
            return call(*args)

        return called

    monkeypatch.setattr(file_commands, "import_chat", noted(file_commands.import_chat))
    monkeypatch.setattr(file_commands, "export_chat", noted(file_commands.export_chat))
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    answer(monkeypatch, "getSaveFileName", tmp_path / "chat")
    window.actions_["export_json"].trigger()
    qtbot.waitUntil((tmp_path / "chat.json").exists)
    answer(monkeypatch, "getOpenFileName", tmp_path / "chat.json")
    window.actions_["import_chat"].trigger()
    qtbot.waitUntil(lambda: len(window.store.chats.list()) == 2)
    assert len(threads) == 2
    assert threading.get_ident() not in threads


# Around it


def test_closing_during_a_reply_is_quick_and_loses_nothing(make, engine, qtbot, tmp_path):
    """Under a second, thread ended, text kept."""
    engine.speed = 0.1
    window = make(engine)
    qtbot.waitUntil(lambda: window.models.state == "ready" and window.panels.pane.chat > 0)
    send(window)
    qtbot.waitUntil(lambda: window.selection.count >= 2, timeout=15000)
    text = window.selection.turn.text
    began = time.perf_counter()
    window.close()
    assert time.perf_counter() - began < 1
    assert window.clean
    store = Store(tmp_path / "data")
    reply = store.messages.path(store.chats.list()[0].id)[-1]
    store.close()
    assert reply.content.startswith(text)
    assert reply.finish_reason == "cancelled"


def test_next_start_is_as_this_one_ended(make, engine, qtbot):
    """Parts, colours, font, sliders, model and chat come back."""
    window = make(engine)
    qtbot.waitUntil(lambda: window.models.state == "ready" and window.panels.pane.chat > 0)
    send(window)
    qtbot.waitUntil(lambda: ended(window), timeout=8000)
    chat = window.panels.pane.chat
    window.actions_["show_plots"].trigger()
    window.actions_["provenance"].trigger()
    window.view_menu._set_mode("dark")
    theme().set_font_size(12)
    window.settings.set_value("eagle_depth", 7)
    window.player.set_pace(50)
    header = window.panels.tree.header
    for button in (header.ghosts_button, header.table_button, header.kv_button):
        button.click()
    window.panels.tree.across.setSizes([200, 400])
    shares = window.panels.tree.across.sizes()
    window.close()
    theme().set_mode("system")
    theme().set_font_size(10)
    again = make(engine)
    qtbot.waitUntil(lambda: again.models.state == "ready")
    assert theme().dark
    assert theme().font_size == 12
    assert not again.panels.is_shown("show_plots")
    assert not again.actions_["show_plots"].isChecked()
    assert again.panels.pane.view.provenance
    assert again.settings.config.eagle_depth == 7
    assert again.toolbar.pace.currentData() == 50
    assert again.panels.pane.chat == chat
    tree = again.panels.tree
    assert tree.header.options() == {"pruned": True, "table": True, "mask": False, "kv": True, "top_down": False}
    assert tree.view.ghosts
    assert (tree.table.isVisible(), tree.kv_strip.isVisible(), tree.mask_pane.isVisible()) == (True, True, False)
    assert tree.across.sizes() == pytest.approx(shares, abs=10)
    qtbot.waitUntil(lambda: again.selection.count == 12)


def test_damaged_layout_is_ignored(make, engine, qtbot, tmp_path):
    """A file edited by hand must not keep the window from opening."""
    store = open_store(tmp_path / "data")
    store.settings.set("window.layout", {"geometry": "%%%", "shown": 3, "tree": [], "plots": {"a": 1}, "font": "x"})
    store.close()
    window = make(engine)
    assert window.isVisible()
    window.close()
    store = open_store(tmp_path / "data")
    store.settings.set("window.layout", {"tree": {"table": "yes", "kv": 1, "nonsense": True}, "pace": []})
    store.close()
    window = make(engine)
    assert window.isVisible()
    assert not any(window.panels.tree.header.options().values())


def test_fits_a_small_screen(window):
    """1280×720 is the least that laptops have."""
    hint = window.minimumSizeHint()
    assert hint.width() <= 1280
    assert hint.height() <= 740
    window.panels.sliders.more_button.click()
    assert window.minimumSizeHint().height() <= 800


def test_every_control_has_a_name(window):
    """For screen readers; children of Qt's own widgets are Qt's business."""
    kinds = (QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit)
    nameless = [
        f"{w} in {w.parent()}"
        for kind in kinds
        for w in window.findChildren(kind)
        if not w.accessibleName()
        and not (isinstance(w, QAbstractButton) and len(w.text()) > 1)
        and not isinstance(w.parent(), QAbstractSpinBox | QComboBox | QLineEdit)
        and not isinstance(w, QScrollBar)
        and not w.objectName().startswith("qt_")
        and not isinstance(w.window(), QMenu)  # pyqtgraph's own, never shown
    ]
    assert not nameless


def test_shortcut_keys_are_unambiguous(window):
    """Two commands on one key: neither would work."""
    keys = [window.actions_[name].shortcut().toString() for name in window.actions_.names()]
    keys = [key for key in keys if key]
    assert len(keys) == len(set(keys))


def test_shortcut_sheet_opens_and_closes(window, qtbot, qapp):
    """? shows it, Esc closes it."""
    window.show_shortcuts()
    (sheet,) = [w for w in qapp.topLevelWidgets() if isinstance(w, ShortcutSheet)]
    assert sheet.isVisible()
    qtbot.keyClick(sheet, Qt.Key.Key_Escape)
    assert not sheet.isVisible()


def test_main_thread_never_works_long_at_a_stretch(window, engine, qtbot):
    """50 ms is the promise while a reply streams. What the machine's other programs take is not ours to test."""
    engine.speed = 1.0
    engine.sessions[-1]._next = iter([long_turn(fake_turn(3, rounds=40), 120)])
    window.panels.plots.panel()
    qtbot.wait(300)
    dog = Watchdog()
    send(window)
    qtbot.waitUntil(lambda: window.selection.count >= 1, timeout=8000)
    dog.start()
    qtbot.waitUntil(lambda: window.selection.count >= 115, timeout=20000)
    dog.stop()
    assert dog.longest_cpu_ms < 50, dog.report()
    qtbot.waitUntil(lambda: ended(window), timeout=20000)


def test_open_file_of_the_command_line(window, traces, qtbot):
    """`replay FILE` uses the same road as the menu."""
    window.files.open_trace(Path(traces[0]))
    qtbot.waitUntil(lambda: window.panels.page is window.panels.recording)
    assert "1 high" in window.panels.recording.title.text() or "1-high" in window.panels.recording.title.text()

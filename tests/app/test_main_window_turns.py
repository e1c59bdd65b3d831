"""Replies in the whole window over a fake engine: streaming, stopping, settings, chats, stepping, playing."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from app.chat.chat_delegate import SECOND
from engine import CHAT_SAMPLING, trace_from_json
from tests.app.window_help import ended, send, shown_texts


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


def test_a_chat_names_the_model_that_answered_last(window, qtbot):
    """Whoever comes back to a chat after another model was loaded sees whose words these are."""
    chat, chats = window.panels.pane.chat, window.panels.chats
    for name in ("recorded-135m", "another"):
        window.models.info = replace(window.models.info, name=name)
        send(window)
        qtbot.waitUntil(lambda: ended(window), timeout=8000)
        qtbot.waitUntil(lambda name=name: window.store.chats.get(chat).model == name)
        qtbot.waitUntil(lambda name=name: chats.list.currentItem().data(SECOND).endswith(f" · {name}"))


def test_a_reply_that_begins_is_told_before_its_first_rounds(window, qtbot):
    """Also where both come in one go: else tree and plots are drawn at once, while the engine needs the processors."""
    began: list[int] = []
    window.turns.started.connect(lambda turn: began.append(len(turn.rounds)))
    send(window)
    window.link._timer.stop()
    qtbot.wait(400)
    assert began == []
    window.link.drain()
    assert began == [0]
    assert window.turns.turn.rounds
    qtbot.waitUntil(lambda: ended(window), timeout=8000)


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
    assert window.panels.sliders.fields["max_new_tokens"].used_note.text() == "used 1024"
    assert window.panels.sliders.fields["prefill_chunk"].used_note.text() == "used 128"
    assert window.actions_["hold"].isChecked()
    window.actions_["live"].trigger()
    assert window.selection.round_index == 11
    assert window.selection.live


@pytest.mark.alone
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
    qtbot.waitUntil(lambda: window.selection.count == 0)  # the first reply's rounds leave in a turn of their own
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
    qtbot.waitUntil(lambda: window.selection.turn is None)
    engine.speed = 0.5
    send(window, "Second")
    qtbot.waitUntil(lambda: window.selection.count >= 1, timeout=8000)
    window.pages.open_chat(first)
    qtbot.waitUntil(lambda: window.selection.count == 12)
    qtbot.waitUntil(lambda: ended(window), timeout=15000)
    assert window.selection.count == 12
    assert window.panels.pane.chat == first
    second = next(c for c in window.store.chats.list() if c.title.startswith("Second"))
    assert window.store.messages.path(second.id)[-1].content == engine.turns[1].text


def test_context_meter_counts_the_draft(window, qtbot):
    """While typing, not only after sending: four tokens for the message, one per word."""
    window.panels.pane.composer.set_text("one two three")
    qtbot.waitUntil(lambda: window.panels.pane.composer.meter.used == 7, timeout=3000)


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

"""The panel: all parts show the same round, linked both ways, also while a reply streams."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.selection import NONE, Selection
from app.theme import theme
from app.tree.drawing import OWN
from app.tree.panel import TreePanel
from app.tree.view import COMING, NO_ROUNDS, NOTHING
from engine.trace import Phase, Turn
from tests.fake_turn import fake_turn


@pytest.fixture
def selection(qapp):
    """Nothing shown yet."""
    return Selection()


@pytest.fixture
def panel(selection, on_screen):
    """A shown, empty panel."""
    return on_screen(TreePanel(selection), 900, 700)


@pytest.fixture
def looking(panel, selection, turn, shown):
    """The panel at a recorded round."""
    selection.show_turn(turn)
    selection.go(shown.index)
    return panel


def spot(panel, key):
    """Middle of a card in viewport pixels."""
    return panel.view.mapFromScene(panel.view.tree.nodes[key].pos())


def test_an_empty_panel_explains_itself(panel):
    """Legend and hint are there before the first round."""
    assert panel.view.nothing.isVisible()
    assert panel.legend.isVisible()
    assert panel.timeline.readout() == "No rounds yet"
    assert panel.header.title.toolTip() == "Draft tree"


def test_the_time_before_the_first_round_is_explained(panel, selection, turn):
    """Reading a long prompt takes seconds: the pane must not ask for a message meanwhile."""
    selection.show_turn(Turn())
    assert panel.view.nothing.text() == COMING
    assert panel.view.accessibleDescription() == COMING
    selection.show_turn(Turn(end=turn.end))
    assert panel.view.nothing.text() == NO_ROUNDS
    selection.show_turn(None)
    assert panel.view.nothing.text() == NOTHING


def test_what_is_open_can_be_kept(looking):
    """The window stores the toggles and gives them back."""
    assert set(looking.header.options().values()) == {False}
    looking.header.set_options({"pruned": True, "kv": True, "top_down": True, "unknown": True})
    assert looking.header.options() == {"pruned": True, "table": False, "mask": False, "kv": True, "top_down": True}
    assert looking.kv_strip.isVisible()
    assert (looking.view.ghosts, looking.view.sideways) == (True, False)
    looking.header.set_options({"kv": False})
    assert not looking.kv_strip.isVisible()


def test_all_parts_show_the_selected_round(looking, shown):
    """One selection, one round everywhere."""
    for button in (looking.header.table_button, looking.header.mask_button, looking.header.kv_button):
        button.click()
    assert looking.view.shown is shown
    assert looking.table.shown is shown
    assert len(looking.mask_grid.rows) == len(looking.kv_strip.rows) == 25
    assert looking.timeline.current == shown.index
    assert looking.phase_bar.labels[-1] == "commit"
    assert looking.phase_bar.index == len(looking.phase_bar.labels) - 1


def test_panes_open_and_close(looking, selection):
    """What is closed is not drawn, and the tree gets the room back."""
    assert not looking.side.isVisible()
    looking.header.mask_button.click()
    assert looking.side.isVisible()
    assert looking.view.width() > 0.4 * looking.width()
    looking.header.mask_button.click()
    assert not looking.side.isVisible()
    selection.step(1)
    looking.header.kv_button.click()
    assert looking.kv_strip.isVisible()
    assert looking.kv_strip.counts.before == selection.current().kv.before


def test_hover_goes_both_ways(looking, selection, shown, qtbot):
    """Node to word and word to node."""
    key = shown.accepted[0]
    qtbot.mouseMove(looking.view.viewport(), spot(looking, key))
    assert selection.hovered == (shown.index, key)
    qtbot.mouseMove(looking.view.viewport(), QPoint(1, 1))
    assert selection.hovered == NONE
    selection.hover(shown.index, len(shown.nodes))
    assert looking.view.tree.nodes[OWN].hovered
    selection.hover(shown.index + 3)
    assert looking.timeline.hovered == shown.index + 3
    assert looking.view.tree.marked("hovered") is None


def test_click_pins_and_unpins(looking, selection, shown, qtbot):
    """Also on the own token; empty ground lets go."""
    for key, node in ((shown.accepted[0], shown.accepted[0]), (OWN, len(shown.nodes))):
        qtbot.mouseClick(looking.view.viewport(), Qt.MouseButton.LeftButton, pos=spot(looking, key))
        assert selection.pinned == (shown.index, node)
        assert looking.view.tree.nodes[key].pinned
        assert looking.timeline.pinned == shown.index
    qtbot.mouseClick(looking.view.viewport(), Qt.MouseButton.LeftButton, pos=spot(looking, OWN))
    assert selection.pinned == NONE
    selection.pin(shown.index, 0)
    qtbot.mouseClick(looking.view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(1, 1))
    assert selection.pinned == NONE


def test_a_pin_from_elsewhere_shows_its_round(looking, selection, turn):
    """A click on a word in the chat."""
    looking.header.table_button.click()
    other = next(r for r in turn.rounds if r.accepted and r is not looking.view.shown)
    selection.pin(other.index, other.accepted[0])
    assert looking.view.shown is other
    assert looking.view.tree.nodes[other.accepted[0]].pinned
    assert looking.table.model.key_of(looking.table.view.currentIndex()) == other.accepted[0]


def test_timeline_goes_and_follows(looking, selection, turn, qtbot):
    """Bars, and Esc: unpin and follow again."""
    qtbot.mouseClick(
        looking.timeline, Qt.MouseButton.LeftButton, pos=looking.timeline.bar(7).center().toPoint()
    )  # fmt: skip
    assert (selection.round_index, selection.live) == (7, False)
    selection.pin(7, 0)
    qtbot.keyClick(looking.timeline, Qt.Key.Key_Escape)
    assert (selection.round_index, selection.live, selection.pinned) == (59, True, NONE)


@pytest.mark.parametrize("part", ["view", "timeline", "table"])
def test_keys_work_wherever_the_focus_is(looking, selection, shown, part, qtbot):
    """Space steps, comma and period change the round."""
    looking.header.table_button.click()
    widget = {"view": looking.view, "timeline": looking.timeline, "table": looking.table.view}[part]
    qtbot.keyClick(widget, Qt.Key.Key_Space)
    assert looking.view.step.name == "root"
    qtbot.keyClick(widget, Qt.Key.Key_Space)
    assert [k for k, i in looking.view.tree.nodes.items() if i.isVisible() and k != 0]
    qtbot.keyClick(widget, Qt.Key.Key_Space, Qt.KeyboardModifier.ShiftModifier)
    assert looking.view.step.name == "root"
    qtbot.keyClick(widget, Qt.Key.Key_Period)
    assert (selection.round_index, looking.view.step.name) == (shown.index + 1, "commit")
    qtbot.keyClick(widget, Qt.Key.Key_Comma)
    assert selection.round_index == shown.index


def test_space_on_a_toggle_toggles(looking, qtbot):
    """Buttons must stay usable by keyboard: Space on them is theirs."""
    looking.header.ghosts_button.setFocus()
    qtbot.keyClick(looking.header.ghosts_button, Qt.Key.Key_Space)
    assert looking.view.ghosts
    assert not looking.stepper.stepping


def test_steps_say_what_is_not_shown(looking, qtbot):
    """A sentence about 68 candidates over a picture of 24 needs a word."""
    looking.stepper.go(6)
    assert looking.phase_bar.labels[6] == "prune"
    assert "Switch on “Pruned”" in looking.phase_bar.sentence.text()
    looking.header.ghosts_button.click()
    assert "Switch on" not in looking.phase_bar.sentence.text()
    assert [i.kind for i in looking.view.tree.nodes.values()].count("pruned") == 44


def test_a_streaming_turn_is_followed_a_few_times_a_second(panel, selection, turn, qtbot):
    """Thirty records a second must not make thirty trees; the last one is never lost."""
    running = Turn(rounds=turn.rounds[:1])
    selection.show_turn(running)
    drawn = []
    original = panel.view.show_round
    panel.view.show_round = lambda *a: (drawn.append(a), original(*a))
    for r in turn.rounds[1:30]:
        running.add(r)
        selection.refresh()
    assert len(drawn) <= 2
    qtbot.waitUntil(lambda: panel.view.shown is turn.rounds[29])
    assert panel.timeline.current == 29


def test_looking_back_is_not_disturbed(panel, selection, turn):
    """The engine goes on, the view holds."""
    running = Turn(rounds=turn.rounds[:10])
    selection.show_turn(running)
    selection.go(3)
    for r in turn.rounds[10:20]:
        running.add(r)
        selection.refresh()
    assert panel.view.shown is turn.rounds[3]
    assert panel.timeline.bar(19).isValid()
    assert panel.header.title.toolTip().startswith("Round 4 of 10")


def test_a_hidden_panel_draws_nothing_until_it_is_shown(panel, selection, turn):
    """A person who only chats pays nothing for the tree."""
    panel.hide()
    selection.show_turn(turn)
    selection.go(5)
    assert panel.view.shown is None
    panel.show()
    assert panel.view.shown is turn.rounds[5]


def test_a_stepped_engine_is_shown_and_pulled(panel, selection, turn, qtbot):
    """The partial tree, why it waits, and Space to go on; clicks on it pin nothing."""
    running = Turn(rounds=turn.rounds[:4])
    selection.show_turn(running)
    nodes = tuple(n._replace(kept=False, row=-1, target_token=-1, accepted=False) for n in turn.rounds[4].nodes)
    panel.show_phase(Phase(4, "prune", 0, nodes))
    assert panel.view.phase is not None
    assert panel.phase_bar.sentence.text().startswith("The engine waits before it keeps the likeliest of 68")
    assert panel.header.title.toolTip() == "Round 5: the engine waits"
    with qtbot.waitSignal(panel.engine_step_requested):
        qtbot.keyClick(panel.view, Qt.Key.Key_Space)
    qtbot.mouseClick(panel.view.viewport(), Qt.MouseButton.LeftButton, pos=spot(panel, 0))
    assert selection.pinned == NONE
    running.add(turn.rounds[4])
    selection.refresh()
    qtbot.waitUntil(lambda: panel.view.shown is turn.rounds[4])


def test_pictures_are_drawn_now_and_written_elsewhere(looking, tmp_path, qtbot):
    """Packing a PNG took a tenth of a second in which the window stood still."""
    for kind in ("png", "svg"):
        with qtbot.waitSignal(looking.picture_drawn) as drawn:
            looking.draw_picture(tmp_path / "tree", kind)
        assert not list(tmp_path.glob(f"*.{kind}"))
        write = drawn.args[0]
        looking.view.set_ghosts(kind == "png")  # what is drawn stays as it was
        assert write() == tmp_path / f"tree.{kind}"
        assert (tmp_path / f"tree.{kind}").stat().st_size > 1000


def test_why_no_picture_was_drawn_is_one_sentence(panel, tmp_path, qtbot):
    """No dialog, no traceback."""
    with qtbot.waitSignal(panel.problem) as said:
        panel.draw_picture(tmp_path / "tree", "png")
    assert "no tree to save yet" in said.args[0]


def test_exports_of_the_turn_are_asked_for(looking, qtbot):
    """The panel has no files of turns; the window has."""
    trace, rounds = looking.header.export_button.menu().actions()[3:]
    with qtbot.waitSignal(looking.export_trace_requested):
        trace.trigger()
    with qtbot.waitSignal(looking.export_rounds_requested):
        rounds.trigger()


def test_every_kind_of_turn_in_both_themes(looking, selection, again, qtbot):
    """Deep chains, wide trees, plain rounds, rows run again: shown and painted without a warning, top-down too."""
    turns = [
        fake_turn(1, rounds=4, topk=1, depth=16, length=16, accept=0.95),
        fake_turn(2, rounds=4, topk=8, depth=3, length=64),
        fake_turn(3, rounds=4, strategy="plain"),
        Turn(rounds=[again]),
        fake_turn(4, rounds=4, topk=16, depth=2, length=5, tokens=["\n", "", "\u202ex", "<b>"], finish="stop_token"),
    ]
    for button in (
        looking.header.ghosts_button,
        looking.header.table_button,
        looking.header.mask_button,
        looking.header.kv_button,
    ):
        button.click()
    for mode in ("light", "dark"):
        theme().set_mode(mode)
        for turn in turns:
            selection.show_turn(turn, live=False)
            for _ in range(5):
                looking.next_step()
            looking.grab()
        looking.header.top_down_button.click()
    assert not looking.view.nothing.isVisible()
    assert looking.legend.replayed is False


def test_replayed_rows_enter_the_legend(looking, selection, again):
    """A mark without an entry would be a riddle."""
    selection.show_turn(Turn(rounds=[again]), live=False)
    assert looking.legend.replayed
    assert looking.view.tree.nodes["again 1"].kind == "replayed"


def test_names_for_all(looking):
    """Every part that takes the focus has an accessible name."""
    for button in (looking.header.table_button, looking.header.mask_button):
        button.click()
    viewports = {area.viewport() for area in looking.findChildren(QAbstractScrollArea)}
    for widget in set(looking.findChildren(QWidget)) - viewports:
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and not widget.objectName().startswith("qt_"):
            assert widget.accessibleName(), widget

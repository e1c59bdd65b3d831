"""Legend, phase bar and header: always there, always saying what is shown."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QToolButton, QWidget

from app.theme import FONT_SIZE_DEFAULT, GAP, GAP_SMALL, theme
from app.tree.header import TreeHeader
from app.tree.legend import ENTRIES, Legend, draw_legend
from app.tree.look import MEANINGS, NAMES
from app.tree.phase_bar import LONG, SMALLER, WAITING, PhaseBar
from engine.trace import Phase


@pytest.fixture
def bar(on_screen):
    """A shown phase bar."""
    return on_screen(PhaseBar(), 700, 80)


def test_legend_names_every_look(qtbot):
    """Eight looks, eight entries; run-again rows only where there are some."""
    legend = Legend()
    qtbot.addWidget(legend)
    assert set(ENTRIES) == set(NAMES)
    assert "replayed" not in legend.kinds
    legend.set_replayed(True)
    assert legend.kinds == ENTRIES
    for kind in ENTRIES:
        assert MEANINGS[kind] in legend.accessibleDescription()
    assert "% on lines: draft p" in legend.accessibleDescription()


def test_legend_wraps_instead_of_cutting(qtbot):
    """In a narrow panel it grows in height."""
    legend = Legend()
    qtbot.addWidget(legend)
    legend.resize(1400, legend.height())
    legend.show()
    wide = legend.height()
    legend.resize(300, legend.height())
    assert legend.height() > 2 * wide
    assert legend.height() == int(draw_legend(None, 300 - 16, legend.kinds))
    theme().set_mode("dark")
    legend.grab()


def test_phase_bar_shows_steps_and_meaning(bar):
    """One button per step, one of them down, one sentence."""
    assert bar.sentence.text() == WAITING
    bar.set_steps(["root", "1", "2", "commit"], 2, "Level two.")
    shown = [b for b in bar.buttons if b.isVisible()]
    assert [b.text() for b in shown] == ["root", "1", "2", "commit"]
    assert [b.isChecked() for b in shown] == [False, False, True, False]
    assert bar.accessibleDescription() == "Step 3 of 4: 2. Level two."
    assert shown[2].accessibleName() == "Level 2"
    bar.set_steps(["root", "verify"], 0, "Root.")
    assert [b.text() for b in bar.buttons if b.isVisible()] == ["root", "verify"]


def test_phase_bar_asks_and_waits_for_the_answer(bar, qtbot):
    """A click asks; the button goes down only when the step is shown."""
    bar.set_steps(["root", "1", "commit"], 2, "")
    with qtbot.waitSignal(bar.step_requested) as asked:
        qtbot.mouseClick(bar.buttons[1], Qt.MouseButton.LeftButton)
    assert asked.args == [1]
    assert [b.isChecked() for b in bar.buttons] == [False, False, True]
    with qtbot.waitSignals([bar.on_requested, bar.back_requested]):
        qtbot.mouseClick(bar.on, Qt.MouseButton.LeftButton)
        qtbot.mouseClick(bar.back, Qt.MouseButton.LeftButton)


def test_a_waiting_engine_cannot_go_back(bar):
    """Only forward is left, and the other steps are off."""
    bar.set_steps(["root", "1", "commit"], 1, "The engine waits.", waiting=True)
    assert [b.isEnabled() for b in bar.buttons] == [False, True, False]
    assert (bar.back.isEnabled(), bar.on.isEnabled()) == (False, True)


def test_the_sentence_keeps_its_room(bar):
    """A long sentence must not push the tree up."""
    bar.set_steps(["root"], 0, "Short.")
    before = bar.sizeHint().height()
    bar.set_steps(["root"], 0, "Long " * 60)
    assert bar.sizeHint().height() == before


def test_a_narrow_bar_folds_the_levels(bar):
    """Sixteen levels do not fit: the present step, its neighbours and the ends stay, nothing is cut."""
    labels = ["root", *(str(i) for i in range(1, 17)), "prune", "verify", "accept", "commit"]
    bar.resize(420, 80)
    bar.set_steps(labels, 8, "Level eight.")
    shown = [b for b in bar.buttons if not b.isHidden()]
    assert [b.text() for b in shown] == ["root", "1", "7", "8", "9", "16", "prune", "verify", "accept", "commit"]
    bar.set_steps(labels, 17, "Prune.")
    assert [b.text() for b in bar.buttons if not b.isHidden()][:4] == ["root", "1", "16", "prune"]
    bar.resize(1400, 80)
    assert [b.text() for b in bar.buttons if not b.isHidden()] == labels


def test_words_are_smaller_before_they_are_cut(on_screen, qtbot):
    """At 14 points in a window 1024 wide “a…t” stood where accept was meant; with room they are as large as all."""
    labels = ["root", "1", "2", "3", "prune", "verify", "accept", "commit"]
    host = on_screen(QWidget(), 900, 100)  # a window would not get narrower than its buttons
    bar = PhaseBar(host)
    bar.show()
    bar.resize(900, 80)
    bar.set_steps(labels, 2, "Level two.")
    usual = bar.buttons[0].font().pointSizeF()
    narrow = bar._wide(range(len(labels))) - 20
    bar.resize(narrow, 80)
    shown = [b for b in bar.buttons if b.isVisible()]
    assert [b.text() for b in shown] == labels
    assert all(b.font().pointSizeF() == pytest.approx(SMALLER * usual) for b in shown)
    qtbot.waitUntil(lambda: all(b.width() >= b.sizeHint().width() for b in shown))
    theme().set_font_size(FONT_SIZE_DEFAULT - 2)
    assert bar.buttons[0].font().pointSizeF() == pytest.approx(usual - 2)
    theme().set_font_size(FONT_SIZE_DEFAULT)
    bar.resize(narrow + 40, 80)
    assert all(b.font().pointSizeF() == pytest.approx(usual) for b in shown)


def test_the_longest_sentence_is_not_cut(on_screen, qtbot):
    """At 14 points in a window 1024 wide its third line was half there; the lines depend on the width alone."""
    host = on_screen(QWidget(), 900, 300)
    bar = PhaseBar(host)
    bar.show()
    theme().set_font_size(14.0)
    for width in (440, 700):
        bar.resize(width, 250)
        bar.set_steps(["root", "1", "prune", "verify", "accept", "commit"], 1, LONG)
        qtbot.waitUntil(lambda: bar.sentence.height() >= bar.sentence.heightForWidth(bar.sentence.width()))
        long = bar.sentence.height()
        bar.set_steps(["root", "1", "prune", "verify", "accept", "commit"], 2, "Short.")
        assert bar.sentence.height() == long


def test_no_step_is_wider_when_it_is_the_present_one(on_screen, qtbot):
    """In bold letters “commit” was cut, and the others moved with each step."""
    labels = ["root", "1", "2", "prune", "verify", "accept", "commit"]
    bar = on_screen(PhaseBar(), 900, 100)
    widths = set()
    for index in range(len(labels)):
        bar.set_steps(labels, index, "")
        qtbot.wait(5)
        widths.add(tuple(b.sizeHint().width() for b in bar.buttons))
    assert len(widths) == 1


def test_every_button_has_a_name(qtbot, bar):
    """Screen readers read no glyphs."""
    header = TreeHeader()
    qtbot.addWidget(header)
    bar.set_steps(["root", "1"], 0, "")
    for button in [*header.findChildren(QToolButton), *bar.findChildren(QToolButton)]:
        assert len(button.accessibleName()) > 3


def test_header_tells_the_round(shown, on_screen):
    """Which round, how many, what came of it; the whole text stays reachable when it is cut."""
    header = on_screen(TreeHeader(), 1200, 40)
    header.show_round(shown, 60)
    assert header.title.text().startswith(f"Round {shown.index + 1} of 60: 3 of 24 accepted")
    header.resize(360, 40)
    assert header.title.text() != header.title.toolTip()
    assert header.title.toolTip().startswith(f"Round {shown.index + 1} of 60")
    header.show_round(shown, 60, Phase(60, "verify", 0, ()))
    assert header.title.toolTip() == "Round 61: the engine waits"
    header.show_round(None, 0)
    assert header.title.toolTip() == "Draft tree"
    assert header.title.textFormat() == Qt.TextFormat.PlainText


def test_buttons_come_closer_before_they_are_cut(on_screen, qtbot):
    """With large text in a small window "Pruned" became "Pr…ed"."""
    panel = on_screen(QWidget(), 900, 80)
    header = TreeHeader(panel)
    header.show()
    usual = sum(button.sizeHint().width() for button in header.buttons()) + 6 * GAP_SMALL
    for room in (usual + 2 * GAP, header.minimumSizeHint().width()):
        header.resize(room, 80)
        qtbot.wait(10)
        assert header.width() == room
        assert all(button.width() >= button.sizeHint().width() for button in header.buttons())
    assert header.minimumSizeHint().width() < usual + GAP


def test_header_asks_for_files(qtbot, tmp_path, monkeypatch):
    """The dialog's answer is passed on with its kind; a cancelled dialog asks for nothing."""
    header = TreeHeader()
    qtbot.addWidget(header)
    chosen = []
    header.picture_chosen.connect(lambda path, kind: chosen.append((path, kind)))
    for name in (str(tmp_path / "a"), ""):
        monkeypatch.setattr("app.save_dialog.QFileDialog.getSaveFileName", lambda *a, name=name: (name, ""))
        for action in header.export_button.menu().actions()[:2]:
            action.trigger()
    assert chosen == [(tmp_path / "a.png", "png"), (tmp_path / "a.svg", "svg")]


def test_a_bar_without_steps_is_as_high(bar):
    """The tree above must not jump, nor be drawn anew, when a reply begins."""
    bar.set_steps((), -1, "")
    empty = bar.sizeHint().height()
    bar.set_steps(("root", "1", "prune", "verify", "accept", "commit"), 5, "Words.")
    assert bar.sizeHint().height() == empty

"""The timeline: bars where they belong, values in words, click, drag, keys; smooth with hundreds of rounds."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent

from app.theme import theme
from app.tree.look import SMALL, Face
from app.tree.timeline import Timeline
from app.tree.timeline_paint import duration
from engine.trace import Token
from tests.fake_turn import fake_turn


@pytest.fixture
def line(qtbot, turn):
    """A timeline of sixty rounds, following the last."""
    line = Timeline()
    qtbot.addWidget(line)
    line.resize(600, 130)
    line.set_rounds(turn.rounds)
    line.set_marks(59, -1, -1, True)
    with qtbot.waitExposed(line):
        line.show()
    return line


def wheel(line, delta, modifiers=Qt.KeyboardModifier.NoModifier):
    """A turn of the wheel."""
    at = QPointF(line.rect().center())
    line.wheelEvent(
        QWheelEvent(
            at, line.mapToGlobal(at), QPoint(), QPoint(0, delta), Qt.MouseButton.NoButton, modifiers,
            Qt.ScrollPhase.NoScrollPhase, False,
        )
    )  # fmt: skip


def test_the_shown_round_is_in_sight(line):
    """With sixty bars in 600 pixels the newest is what the user waits for."""
    assert 0 <= line.bar(59).left() <= line.width() - line.pitch
    line.set_marks(0, -1, -1, False)
    assert line.bar(0).left() >= 0
    line.resize(300, 130)
    assert line.rect().contains(line.bar(0).center().toPoint())


def test_bars_and_points_agree(line):
    """What is clicked is what is painted."""
    for index in (30, 45, 59):
        line.set_marks(index, -1, -1, False)
        assert line.round_at(line.bar(index).center().x()) == index
    assert line.round_at(3) == -1


def test_values_are_said(line, turn):
    """Hover shows the round's numbers; without hover the shown round's."""
    r = turn.rounds[59]
    assert line.readout().startswith(f"round 60: {len(r.emitted)} token")
    line.set_marks(59, 4, -1, True)
    r, t = turn.rounds[4], turn.rounds[4].timings
    assert line.readout() == (
        f"round 5: {len(r.emitted)} tokens ({r.accepted_emitted} drafted), {t.total:.1f} ms: "
        f"draft {t.draft:.1f}, verify {t.verify:.1f}, commit {t.commit:.1f}, host {t.host:.1f}"
    )
    assert line.accessibleDescription() == f"{line.readout()}; following the newest round"


def test_a_narrow_readout_says_less(line):
    """What does not fit is left out rather than cut."""
    line.resize(400, 130)
    assert "drafted" not in line.readout()
    assert "host" in line.readout()


def test_click_and_drag_go_there(line, qtbot):
    """Scrubbing: every bar passed is shown, once."""
    asked = []
    line.round_requested.connect(asked.append)
    line.round_requested.connect(lambda i: line.set_marks(i, -1, -1, False))
    start = line.bar(50).center().toPoint()
    qtbot.mousePress(line, Qt.MouseButton.LeftButton, pos=start)
    for index in (51, 51, 52, 53):
        qtbot.mouseMove(line, line.bar(index).center().toPoint())
    qtbot.mouseMove(line, QPoint(-400, 60))
    qtbot.mouseRelease(line, Qt.MouseButton.LeftButton, pos=QPoint(-400, 60))
    assert asked[:4] == [50, 51, 52, 53]
    assert len(asked) == 5
    assert asked[4] < 30  # dragged out of the left side


def test_hover_tells_the_round(line, qtbot):
    """Linked views light up."""
    seen = []
    line.round_hovered.connect(seen.append)
    qtbot.mouseMove(line, line.bar(55).center().toPoint())
    qtbot.mouseMove(line, line.bar(56).center().toPoint())
    line.leaveEvent(QEvent(QEvent.Type.Leave))
    assert seen == [55, 56, -1]


def test_keys_walk_and_return(line, qtbot):
    """Arrows, Home, End, pages; Esc follows again."""
    asked, followed = [], []
    line.round_requested.connect(asked.append)
    line.follow_requested.connect(lambda: followed.append(True))
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_PageUp, Qt.Key.Key_Escape):
        qtbot.keyClick(line, key)
    assert (asked, followed) == ([58, 0, 59, 49], [True])


def test_wheel_scrolls_and_widens(line):
    """Ctrl+wheel keeps the bar under the mouse; no scroll beyond the ends."""
    under = line.round_at(line.rect().center().x())
    wheel(line, 240, Qt.KeyboardModifier.ControlModifier)
    assert line.pitch == pytest.approx(14 * 1.44)
    assert abs(line.round_at(line.rect().center().x()) - under) <= 1
    for _ in range(99):
        wheel(line, 240)
    assert line.offset == 0.0
    for _ in range(99):
        wheel(line, -240, Qt.KeyboardModifier.ControlModifier)
    assert line.pitch == pytest.approx(3.0)
    line.focus_current()
    assert line.pitch == pytest.approx(14.0)


def test_growing_turns_are_followed(line, turn, qtbot):
    """Records are appended to the list the timeline already has."""
    rounds = list(turn.rounds[:2])
    line.set_rounds(rounds)
    line.set_marks(1, -1, -1, True)
    rounds.extend(turn.rounds[2:])
    line.grown()
    line.set_marks(59, -1, -1, True)
    assert line.rect().contains(line.bar(59).center().toPoint())
    assert line._most[0] == max(len(r.emitted) for r in turn.rounds)
    assert line._most[1] == max(r.timings.total for r in turn.rounds)


def test_an_empty_timeline_takes_no_clicks(line, qtbot):
    """Before the first round."""
    asked = []
    line.round_requested.connect(asked.append)
    line.set_rounds(())
    line.set_marks(-1, -1, -1, True)
    qtbot.mouseClick(line, Qt.MouseButton.LeftButton, pos=QPoint(80, 60))
    qtbot.keyClick(line, Qt.Key.Key_Home)
    assert (asked, line.readout()) == ([], "No rounds yet")
    line.grab()


def test_many_rounds_are_painted_in_time(line, record_property):
    """Only bars in sight are painted; reported, not asserted. All marks, both themes, plain tokens too."""
    rounds = (
        fake_turn(5, rounds=400, topk=1, depth=4, length=4).rounds + fake_turn(5, rounds=5, strategy="plain").rounds
    )
    line.set_rounds(rounds)
    line.pitch = 3.0
    line.set_marks(200, 201, 202, False)
    began = time.perf_counter()
    line.grab()
    record_property("ms_paint", round(1000 * (time.perf_counter() - began), 1))
    theme().set_mode("dark")
    line.set_marks(404, 3, 404, False)
    line.setFocus()
    line.grab()


def test_copied_tokens_are_told_from_drafted_ones(qtbot, shown, copied, merged):
    """A long bar of copied text says nothing about the draft head; it looked the same."""
    token = Token(merged.nodes[1].token, merged.nodes[1].text, "draft", 1, 0.5, 1.0)
    joined = replace(merged, accepted=(1,), emitted=(token, merged.emitted[0]))
    line = Timeline()
    qtbot.addWidget(line)
    line.resize(1000, 130)
    line.set_rounds([shown, copied, joined])
    said = []
    for index in range(3):
        line.set_marks(index, -1, -1, False)
        said.append(re.search(r"tokens \((.*?)\)", line.readout())[1])
    assert said == ["3 drafted", "16 copied", "1 copied"]
    with qtbot.waitExposed(line):
        line.show()
    picture = line.grab().toImage()
    accepted, bottom = theme().fate("accepted"), int(line.head + (line.height() - line.head - 10) * 0.55) - 3
    solid = [picture.pixelColor(round(line.bar(i).center().x()), bottom) == accepted for i in range(3)]
    assert solid == [True, False, False]


def test_long_rounds_keep_their_unit(line):
    """“1306 ms” was cut to “306 ms” by the edge."""
    for ms in (0.2, 998, 999.6, 1306, 99_000):
        assert Face(SMALL).width(duration(ms)) <= line.gutter - 6


def test_rounds_that_are_not_told_yet_are_not_drawn(line, turn):
    """The sequence grows before `grown` is called; a picture or a mouse in between found no counts and raised."""
    rounds = list(turn.rounds[:3])
    line.set_rounds(rounds)
    rounds.append(turn.rounds[3])
    line.grab()
    assert line.round_at(line.bar(3).center().x()) == -1
    line.set_marks(3, -1, -1, True)
    line.grab()
    assert line.readout() == "4 rounds"
    line.grown()
    assert line.readout().startswith("round 4")

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget

from app.chat.composer import HINTS, Composer
from app.chat.context_meter import ContextMeter
from engine import prompt_room
from tests.app.counted import layouts


@pytest.fixture
def composer(on_screen) -> Composer:
    """A shown composer."""
    return on_screen(Composer(), 500, 200)


def wanted_height(composer: Composer) -> int:
    """What a layout gives it."""
    hint = composer.heightForWidth(composer.width())
    return hint if composer.hasHeightForWidth() else composer.sizeHint().height()


def test_enter_sends_shift_enter_breaks_the_line(qtbot, composer: Composer) -> None:
    """The two meanings of Enter; blank text is never sent."""
    QTest.keyClicks(composer.input, "  one")
    QTest.keyClick(composer.input, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClicks(composer.input, "two ")
    assert composer.text == "  one\ntwo "
    with qtbot.waitSignal(composer.sent) as caught:
        QTest.keyClick(composer.input, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    assert caught.args == ["one\ntwo"]
    assert composer.text == "  one\ntwo "  # kept until the owner took it
    composer.set_text("  \n ")
    with qtbot.assertNotEmitted(composer.sent, wait=20):
        QTest.keyClick(composer.input, Qt.Key.Key_Return)
    assert not composer.button.isEnabled()


def test_enter_never_sends_while_a_word_is_composed(qtbot, composer: Composer) -> None:
    """An input method uses Enter to take its suggestion; that must not send half a sentence."""
    composer.set_text("こん")
    QApplication.sendEvent(composer.input, QInputMethodEvent("にち", []))
    assert composer.input.composing
    with qtbot.assertNotEmitted(composer.sent, wait=20):
        QTest.keyClick(composer.input, Qt.Key.Key_Return)
        QTest.keyClick(composer.input, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert composer.text == "こん"  # nor put a line end into the word
    commit = QInputMethodEvent("", [])
    commit.setCommitString("にちは")
    QApplication.sendEvent(composer.input, commit)
    assert not composer.input.composing
    with qtbot.waitSignal(composer.sent) as caught:
        QTest.keyClick(composer.input, Qt.Key.Key_Return)
    assert caught.args[0].startswith("こん")
    assert caught.args[0].endswith("にちは")


def test_it_grows_with_its_text_up_to_a_limit(composer: Composer) -> None:
    """One line is enough to begin with; a page does not eat the conversation."""
    heights = []
    for lines in (1, 3, 8, 40):
        composer.set_text("\n".join("x" * 3 for _ in range(lines)))
        heights.append(composer.input.height())
    assert heights[0] < heights[1] < heights[2] < heights[3]
    line = composer.input.fontMetrics().lineSpacing()
    assert heights[3] < 12 * line
    composer.set_text("word " * 60)
    assert composer.input.height() > heights[0]
    composer.set_text("")
    assert composer.input.height() == heights[0]


def test_the_focus_of_a_button_that_rests_goes_to_the_field(qtbot, on_screen) -> None:
    """Qt gives it to whatever comes next for Tab: after a click on Stop that was a border between two parts."""
    around = QWidget()
    box = QVBoxLayout(around)
    composer = Composer()
    box.addWidget(composer)
    box.addWidget(QLineEdit())
    on_screen(around, 500, 260)
    composer.set_busy(True)
    QTest.mouseClick(composer.button, Qt.MouseButton.LeftButton)
    assert not composer.button.isEnabled()
    assert around.focusWidget() is composer.input


def test_send_becomes_stop_and_says_that_it_was_heard(qtbot, composer: Composer) -> None:
    """Stop works by button and by Escape, once; nothing can be sent meanwhile."""
    composer.set_text("next question")
    composer.set_busy(True, "reading the prompt")
    with qtbot.assertNotEmitted(composer.sent, wait=20):
        QTest.keyClick(composer.input, Qt.Key.Key_Return)
    stops: list[bool] = []
    composer.stop_requested.connect(lambda: stops.append(True))
    QTest.keyClick(composer.input, Qt.Key.Key_Escape)
    assert composer.button.text() == "Stopping…"
    composer.button.click()
    QTest.keyClick(composer.input, Qt.Key.Key_Escape)
    assert stops == [True]
    composer.set_busy(False)
    assert (composer.button.text(), composer.button.isEnabled()) == ("Send", True)
    assert composer.text == "next question"


def test_why_nothing_can_be_sent_is_said(qtbot, composer: Composer) -> None:
    """While the model loads one can write; the reason is beside the button and in its tooltip."""
    composer.set_blocked("The model is loading.")
    composer.set_text("hello")
    assert not composer.button.isEnabled()
    assert composer.button.toolTip() == "The model is loading."
    assert composer._state.text() == "The model is loading."
    with qtbot.assertNotEmitted(composer.sent, wait=20):
        composer.send()
    composer.set_blocked("")
    assert composer.button.isEnabled()
    assert composer._state.text() == ""


def test_counting_waits_for_a_pause_in_typing(qtbot, composer: Composer) -> None:
    """Not a count per key: one, a moment after the last."""
    asked: list[bool] = []
    composer.draft_changed.connect(lambda: asked.append(True))
    QTest.keyClicks(composer.input, "several words")
    assert asked == []
    qtbot.waitUntil(lambda: asked == [True], timeout=2000)


def test_the_hint_in_the_field_is_whole_or_short(composer: Composer) -> None:
    """Half a sentence in a narrow window says less than none."""
    for width in (700, 500, 300, 180):
        composer.resize(width, 200)
        QTest.qWait(10)
        hint, room = composer.input.placeholderText(), composer.input.viewport().width()
        assert composer.input.fontMetrics().horizontalAdvance(hint) < room
        assert hint.startswith("Write")
        assert width < 700 or "Shift+Enter" in hint


def test_the_hint_fits_from_the_beginning(on_screen) -> None:
    """The field gets its width after the composer: the shortest words must not stay where longer ones fit."""
    made = on_screen(Composer(), 430, 200)
    assert made.input.placeholderText() == HINTS[1]


def test_what_the_engine_does_moves_nothing(composer: Composer) -> None:
    """Half a line beside the meter would break into four, and push the conversation up and down."""
    composer.resize(430, 200)
    composer.set_context_count(120, 8192)
    QApplication.processEvents()
    height = wanted_height(composer)
    composer.set_busy(True, "Reading the prompt, 4096 of 6300 tokens…")
    QApplication.processEvents()
    assert wanted_height(composer) == height
    composer.set_busy(True)
    assert composer.meter.isVisible()


def test_the_meter_knows_that_a_reply_needs_room(composer: Composer) -> None:
    """The oldest messages leave where prompt and longest reply do not fit together, before the prompt fills all."""
    composer.set_context_count(1500, 2048, longest_reply=400)
    assert f"{prompt_room(2048, 400) - 1500} tokens" in composer._notice.text()
    composer.set_context_count(1700, 2048, longest_reply=400)
    assert "oldest messages will be left out" in composer._notice.text()
    assert "402 are kept free" in composer.meter.toolTip()
    composer.set_context_count(1700, 2048, longest_reply=20)
    assert composer._notice.isHidden()
    composer.set_context_count(1700, 2048, longest_reply=400, alone=True)
    assert "Shorten it" in composer._notice.text()


def test_the_meter_is_not_cut(on_screen, qtbot) -> None:
    """At 14 points in a narrow conversation “2 048 toke” stood there."""
    meter = on_screen(ContextMeter(), 400, 30)
    meter.set_count(100, 2048)
    numbers = "100 / 2\u202f048"
    qtbot.waitUntil(lambda: meter._label.text() == f"{numbers} tokens")
    narrow = meter.sizeHint().width() - 5
    meter.resize(narrow, 30)
    qtbot.waitUntil(lambda: meter._label.text() == numbers)
    assert meter._label.width() >= meter._label.fontMetrics().horizontalAdvance(numbers)
    meter.resize(narrow + 10, 30)
    qtbot.waitUntil(lambda: meter._label.text() == f"{numbers} tokens")


def test_another_number_lays_out_nothing(on_screen, qtbot) -> None:
    """It changes while a reply streams; each layout would go up through the whole window."""
    meter = on_screen(ContextMeter(), 400, 30)
    meter.set_count(100, 2048)
    qtbot.wait(5)
    laid_out = layouts(meter)
    for used in (101, 250, 999):
        meter.set_count(used, 2048)
        qtbot.wait(5)
        assert meter._label.text().startswith(str(used))
    assert laid_out.count == 0
    meter.set_count(1000, 2048)
    qtbot.waitUntil(lambda: laid_out.count > 0)
    assert meter._label.text().endswith("tokens")


def test_the_meter_speaks_before_the_context_is_full(composer: Composer, qtbot) -> None:
    """Used and limit always; a sentence when it gets tight, another when the oldest turns will leave."""
    composer.set_context_count(100, 2048)
    qtbot.waitUntil(lambda: composer.meter._label.text().replace("\u202f", "") == "100 / 2048 tokens")
    assert composer._notice.isHidden()
    composer.set_context_count(1800, 2048)
    assert "nearly full" in composer._notice.text()
    assert "246 tokens" in composer._notice.text()
    composer.set_context_count(3000, 2048)
    assert "oldest messages will be left out" in composer._notice.text()
    assert "3000 of 2048" in composer.meter.accessibleName()
    composer.set_context_count(10, 2048)
    assert composer._notice.isHidden()


def drop(composer: Composer, *paths: Path) -> None:
    """Drop files on the field."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    composer.input.insertFromMimeData(data)


def test_dropped_text_files_become_fences(composer: Composer, tmp_path: Path) -> None:
    """Name and content, in a fence that the content cannot close."""
    path = tmp_path / "notes.md"
    path.write_bytes(b"\xef\xbb\xbfone\r\n```\ntwo\n")
    composer.set_text("See ")
    drop(composer, path)
    assert composer.text == "See \nnotes.md:\n````\none\n```\ntwo\n````\n"


def test_every_bad_file_is_one_sentence(composer: Composer, tmp_path: Path) -> None:
    """A folder, a picture, a huge file, a missing one: said, and nothing inserted."""
    files = {
        "folder": b"", "picture.png": b"\x89PNG\r\n\xff\xfe", "zero.bin": b"a\0b",
        "huge.txt": b"x" * 300_000, "missing.txt": b"",
    }  # fmt: skip
    said: list[str] = []
    composer.problem.connect(said.append)
    for name, data in files.items():
        path = tmp_path / name
        if name == "folder":
            path.mkdir()
        elif name != "missing.txt":
            path.write_bytes(data)
        drop(composer, path)
    assert [next(n for n in files if n in text) for text in said] == list(files)
    assert all(text.endswith(".") and "\n" not in text for text in said)
    assert composer.text == ""


def test_pasted_text_comes_without_its_format(composer: Composer) -> None:
    """A paste from a web page is words only."""
    data = QMimeData()
    data.setHtml("<b>bold</b>")
    data.setText("bold")
    composer.input.insertFromMimeData(data)
    assert composer.text == "bold"

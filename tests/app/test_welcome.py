from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication

from app.welcome import WelcomePage
from engine import Progress

TRACES = [Path("1-high.json.gz"), Path("2-medium.json.gz"), Path("3-low.json.gz")]


@pytest.fixture
def page(qtbot) -> WelcomePage:
    """A shown page with three recordings."""
    made = WelcomePage()
    qtbot.addWidget(made)
    made.resize(460, 640)
    made.set_traces(TRACES)
    with qtbot.waitExposed(made):
        made.show()
    made.activateWindow()
    return made


def focused(page: WelcomePage) -> str:
    """The words on the button that has the focus."""
    focus = page.focusWidget()
    return focus.text() if isinstance(focus, QAbstractButton) else ""


def test_tab_goes_from_top_to_bottom(page: WelcomePage) -> None:
    """The recordings come first on the page, so they come first with the keyboard."""
    page.setFocus()
    seen = []
    for _ in range(6):
        QTest.keyClick(page.focusWidget(), Qt.Key.Key_Tab)
        seen.append(focused(page))
    assert seen == [
        "Many drafts accepted", "Some drafts accepted", "Few drafts accepted",
        "Get the model", "Open a model folder…", "Open a GGUF file…",
    ]  # fmt: skip


def test_the_focus_stays_with_the_model(page: WelcomePage) -> None:
    """Whoever starts, cancels and tries again by keyboard is not sent away when a button disappears."""
    page.get_button.setFocus()
    page.show_progress(Progress("Downloading", 1, 10, "B"))
    assert focused(page) == "Cancel"
    page.show_error("The package index cannot be reached.")
    assert focused(page) == "Try again"
    page.show_progress(Progress("Downloading", 2, 10, "B"))
    page.show_missing()
    assert focused(page) == "Get the model"


def test_progress_takes_no_focus_from_elsewhere(page: WelcomePage) -> None:
    """Someone who reads the recordings meanwhile is left alone."""
    page.trace_buttons[0].setFocus()
    page.show_progress(Progress("Downloading", 1, 10, "B"))
    page.show_missing()
    assert focused(page) == "Many drafts accepted"


MODEL = ("SmolLM2-135M-Instruct", 92_871_040, "Apache-2.0", "HuggingFaceTB/SmolLM2-135M-Instruct")


def test_the_model_is_introduced(page: WelcomePage) -> None:
    """Whoever downloads a model is told whose it is, how large, and what it may be used for."""
    page.set_model(*MODEL)
    text = page.model_text.text()
    assert text.startswith("SmolLM2-135M-Instruct by HuggingFaceTB, 93 MB to download, licence Apache-2.0.")
    assert MODEL[-1] in page.model_text.toolTip()
    page.set_model("SmolLM2-135M-Instruct")
    assert page.model_text.text() == "SmolLM2-135M-Instruct is on this computer already."


def test_no_scroll_bar_where_everything_fits(page: WelcomePage) -> None:
    """The first page at the usual size shows all of itself; a bar would say that something is hidden."""
    page.resize(419, 620)
    page.set_model(*MODEL)
    QApplication.processEvents()
    needed = page.widget().layout().heightForWidth(page.width())
    assert needed < 620
    assert page.verticalScrollBar().maximum() == 0
    page.resize(419, needed - 40)
    QApplication.processEvents()
    assert page.verticalScrollBar().maximum() >= 40
    assert page.widget().height() >= page.widget().layout().heightForWidth(page.viewport().width())

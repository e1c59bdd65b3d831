"""The menu that bounds the records of replies, over a fake engine and a real store."""

from __future__ import annotations

import pytest

from app.engine_link import EngineLink
from app.main_window import MainWindow
from app.record_limit import LIMITS, MB
from app.store import open_store
from tests.fake_engine import FakeEngine
from tests.fake_turn import fake_turn


@pytest.fixture
def window(qtbot, tmp_path):
    """A window whose store holds three records, 60 MB together."""
    store = open_store(tmp_path / "data")
    chat = store.chats.new()
    for n in range(3):
        message = store.messages.add(chat.id, None, "assistant", f"reply {n}", "length").id
        with store.database.write() as c:  # as large as they say
            c.execute("INSERT INTO traces VALUES (?, ?, ?, ?)", (message, float(n), 20 * MB, b""))
    store.chats.new()  # the one that is shown, with nothing to read
    made = MainWindow(store, EngineLink(lambda: FakeEngine([fake_turn(1)])), [])
    qtbot.addWidget(made)
    made.show()
    made.start()
    qtbot.waitUntil(lambda: made.models.state == "ready", timeout=5000)
    yield made
    made.close()


def marked(window) -> list[str]:
    """What the menu shows as chosen."""
    window.record_limit.refresh()
    return [a.text().replace("&", "") for a in window.actions_.submenus["records"].actions() if a.isChecked()]


def test_the_bound_can_be_chosen(window, qtbot) -> None:
    """A bound that nobody can change is no setting; more room needs no question."""
    assert marked(window) == ["Up to 200 MB"]
    window.record_limit.choices[1024 * MB].trigger()
    qtbot.waitUntil(lambda: bool(window.panels.messages.messages))
    assert window.store.traces.limit == 1024 * MB
    assert marked(window) == ["Up to 1 GB"]
    assert window.panels.messages.messages[-1].text == "Records of replies are kept up to 1 GB; then the oldest leave."


def test_records_go_only_when_asked(window, qtbot) -> None:
    """A slip in a menu must not cost what cannot be made again; the oldest go first once it is wanted."""
    window.record_limit.choices[50 * MB].trigger()
    qtbot.waitUntil(lambda: bool(window.panels.messages.messages))
    warning = window.panels.messages.messages[-1]
    assert "60.0 MB" in warning.text
    assert window.store.traces.total() == 60 * MB
    assert marked(window) == ["Up to 200 MB"]
    warning.buttons["Remove them"].click()
    qtbot.waitUntil(lambda: window.store.traces.limit == 50 * MB)
    assert window.store.traces.total() == 40 * MB
    chat = next(c.id for c in window.store.chats.list() if window.store.messages.path(c.id))
    family = window.store.messages.siblings(window.store.messages.path(chat)[0].id)
    assert [m.has_trace for m in family] == [False, True, True]


def test_every_choice_says_what_it_is() -> None:
    """The menu is made of these words."""
    assert all(LIMITS.values())
    assert list(LIMITS) == sorted(LIMITS)

"""The table twin: every node and field, in tree order, copyable, linked."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QModelIndex, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtTest import QAbstractItemModelTester

from app.tree.drawing import OWN
from app.tree.table import COLUMNS, TreeModel
from app.tree.table_view import TreeTable
from app.tree.words import tree_text, visible


@pytest.fixture
def table(qtbot, shown):
    """A shown table."""
    table = TreeTable()
    qtbot.addWidget(table)
    table.resize(700, 400)
    table.show_round(shown)
    with qtbot.waitExposed(table):
        table.show()
    return table


def walk(model, parent=QModelIndex()):  # noqa: B008
    """All rows, depth first."""
    for row in range(model.rowCount(parent)):
        index = model.index(row, 0, parent)
        yield index
        yield from walk(model, index)


def test_the_model_keeps_qt_s_rules(shown, again, plain, qapp):
    """Qt's own checker of models, over resets."""
    model = TreeModel()
    tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for r in (shown, again, plain, None):
        model.show_round(r)
    assert model.rowCount() == 0
    del tester


def test_rows_are_the_tree(table, shown):
    """A row per node and one for the own token; children below their parents in rank order."""
    keys = [table.model.key_of(i) for i in walk(table.model)]
    assert sorted(k for k in keys if k != OWN) == [n.id for n in shown.nodes]
    root = table.model.index(0, 0)
    below = [table.model.key_of(table.model.index(r, 0, root)) for r in range(table.model.rowCount(root))]
    assert below == [n.id for n in shown.children(0)]
    own = table.model.index_of(OWN)
    assert table.model.key_of(table.model.parent(own)) == shown.accepted[-1]


def test_cells_hold_every_field(table, shown):
    """Nothing that the hover card says is missing here."""
    node = shown.nodes[shown.accepted[1]]
    index = table.model.index_of(node.id)
    told = {name: table.model.data(index.siblingAtColumn(i)) for i, name in enumerate(COLUMNS)}
    assert told["token"] == f"✓ {visible(node.text)}"
    assert told["fate"] == shown.fate(node)
    assert (told["rank"], told["depth"], told["node"], told["parent"]) == (
        str(node.rank + 1), "2", str(node.id), str(node.parent)
    )  # fmt: skip
    assert (told["token id"], told["verified row"], told["accepted"]) == (str(node.token), str(node.row), "yes")
    assert told["target wanted next"].startswith(f"{visible(node.target_text)} [{node.target_token}]")
    assert told["log p"] == f"{node.logprob:.3f}".replace("-", "−")
    spoken = table.model.data(index.siblingAtColumn(4), Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == f"rank {node.rank + 1}"


def test_rows_run_again_stand_first(table, again):
    """They are in the pass, so they are in the table."""
    table.show_round(again)
    assert table.model.data(table.model.index(1, 0)) == "⏎"
    assert table.model.key_of(table.model.index(2, 0)) == 0


def test_copying(table, shown, qtbot):
    """Row, whole table, text: what is copied is what is seen."""
    clip = QGuiApplication.clipboard()
    table.view.setCurrentIndex(table.model.index_of(shown.accepted[0]))
    qtbot.keyClick(table.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    row = clip.text()
    assert row.startswith(f"✓ {visible(shown.nodes[shown.accepted[0]].text)}\t")
    qtbot.mouseClick(table.copy_table, Qt.MouseButton.LeftButton)
    lines = clip.text().splitlines()
    assert lines[0].split("\t") == list(COLUMNS)
    assert len(lines) == 1 + 69 + 1
    assert row in lines
    assert {len(line.split("\t")) for line in lines} == {len(COLUMNS)}
    qtbot.mouseClick(table.copy_text, Qt.MouseButton.LeftButton)
    assert clip.text() == tree_text(shown)


def test_a_copy_is_confirmed_for_a_moment(table, qtbot):
    """As in code blocks: nothing told whether the click had done anything."""
    names = [b.text() for b in (table.copy_row, table.copy_table, table.copy_text)]
    qtbot.mouseClick(table.copy_table, Qt.MouseButton.LeftButton)
    assert table.copy_table.text() == "Copied ✓"
    assert table.copy_table.accessibleName() == "Copy table"
    qtbot.mouseClick(table.copy_text, Qt.MouseButton.LeftButton)
    assert [table.copy_table.text(), table.copy_text.text()] == ["Copy table", "Copied ✓"]
    qtbot.waitUntil(lambda: [b.text() for b in (table.copy_row, table.copy_table, table.copy_text)] == names)


def test_an_empty_table_copies_nothing(table, qtbot):
    """Buttons without effect are off."""
    table.show_round(None)
    assert not any(b.isEnabled() for b in (table.copy_row, table.copy_table, table.copy_text))


def test_walking_hovers_and_clicking_pins(table, shown, qtbot):
    """Linked like the drawing; a mark from outside must not answer back."""
    hovered, clicked = [], []
    table.node_hovered.connect(hovered.append)
    table.node_clicked.connect(clicked.append)
    table.mark(shown.accepted[0])
    assert table.model.key_of(table.view.currentIndex()) == shown.accepted[0]
    assert hovered == []
    table.view.setFocus()
    qtbot.waitUntil(table.view.hasFocus)
    qtbot.keyClick(table.view, Qt.Key.Key_Up)
    assert hovered == [0]
    table.view.clicked.emit(table.model.index_of(OWN))
    assert clicked == [len(shown.nodes)]


def test_keys_of_the_panel_pass_through(table):
    """Space steps through phases also while the table has the focus."""
    for key in (Qt.Key.Key_Space, Qt.Key.Key_Comma, Qt.Key.Key_Period):
        event = QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.NoModifier)
        table.view.keyPressEvent(event)
        assert not event.isAccepted()

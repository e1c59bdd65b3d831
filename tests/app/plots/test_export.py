"""What charts hold, as tables and pictures."""

from __future__ import annotations

import csv
import io

import pytest
from PySide6.QtGui import QImage

from engine.errors import EyrieError
from tests.app.plots.plots_help import NAMES
from tests.fake_turn import fake_turn


@pytest.mark.parametrize("name", NAMES)
def test_csv_holds_what_is_shown(panel, selection, qtbot, tmp_path, name):
    """Numbers leave the program as numbers."""
    turn = fake_turn(1, rounds=9)
    selection.show_turn(turn)
    path = tmp_path / "chart.csv"
    assert panel.export(name, path)() == path
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    if name == "acceptance":
        assert [int(r["emitted_tokens"]) for r in rows] == [len(r.emitted) for r in turn.rounds]
    elif name == "time":
        assert [float(r["total_ms"]) for r in rows] == pytest.approx([r.timings.total for r in turn.rounds], abs=1e-3)
    elif name == "depth":
        assert {int(r["depth"]): int(r["rounds_reached"]) for r in rows} == turn.stats().reached_by_depth
    elif name == "rank":
        assert sum(int(r["accepted_tokens"]) for r in rows) == sum(turn.stats().accepted_by_rank.values())
    else:
        assert len(rows) == 9


@pytest.mark.parametrize("name", NAMES)
def test_png_is_a_picture(panel, selection, tmp_path, name):
    """Twice the size of the screen, and not empty."""
    selection.show_turn(fake_turn(1))
    path = tmp_path / "chart.png"
    assert panel.export(name, path)() == path
    image = QImage(str(path))
    assert image.width() == 2 * panel.charts[name].width()
    colors = {image.pixelColor(x, y).name() for x in range(0, image.width(), 7) for y in range(0, image.height(), 7)}
    assert len(colors) > 3


@pytest.mark.parametrize("kind", ["png", "csv"])
def test_an_unwritable_export_is_one_sentence(panel, tmp_path, kind):
    """What, where, what to do."""
    write = panel.export("speed", tmp_path / "missing" / f"x.{kind}")
    with pytest.raises(EyrieError, match=rf"x.{kind} cannot be written.*: choose another place"):
        write()


def test_an_export_draws_no_other_chart(panel, selection, tmp_path, monkeypatch):
    """Drawing all of them for one table held the window for 60 ms."""
    selection.show_turn(fake_turn(1))
    drawn = []
    for name, chart in panel.charts.items():
        monkeypatch.setattr(chart, "draw", lambda name=name: drawn.append(name))
    panel.export("speed", tmp_path / "x.csv")
    assert drawn == []
    panel.export("speed", tmp_path / "x.png")
    assert drawn == ["speed"]

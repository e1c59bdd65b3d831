"""A chart as it leaves the program: its numbers as CSV text, or a picture with its title; and both as files."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QWidget

from app.plots.chart import Chart
from app.theme import theme
from engine.errors import EyrieError


class ExportError(EyrieError):
    """A chart cannot be written."""


def csv_text(chart: Chart) -> str:
    """The numbers of a chart, a header first."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(chart.headers())
    writer.writerows(chart.rows())
    return out.getvalue()


def picture(chart: Chart, scale: float = 2.0) -> QImage:
    """A chart with its title, `scale` times as large as on the screen."""
    size = chart.size() * scale
    image = QImage(size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(theme().color("surface"))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    top = chart.header.height() * scale
    painter.save()
    painter.scale(scale, scale)
    chart.name.render(painter, chart.name.pos(), renderFlags=QWidget.RenderFlag.DrawChildren)
    painter.restore()
    chart.plot.render(painter, QRectF(0, top, size.width(), size.height() - top), chart.plot.viewport().rect())
    painter.end()
    return image


def write_text(path: Path, text: str) -> Path:
    """Write a table. Raises `ExportError`."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ExportError(f"{path} cannot be written ({error.strerror or error}): choose another place.") from error
    return path


def write_picture(path: Path, image: QImage) -> Path:
    """Write a picture, as PNG. Raises `ExportError`."""
    if not image.save(str(path)):
        raise ExportError(f"{path} cannot be written there: choose another place.")
    return path

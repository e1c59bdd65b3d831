"""The whole tree as a picture file: PNG at twice the size, or SVG, with its title and legend.

Everything is drawn, not only what is in sight; a missing extension is added. A picture is drawn at once and written by
the call that is returned, from any thread: packing a large one takes a tenth of a second. Knows scenes, no windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter

from app.theme import theme
from app.tree.legend import ENTRIES, draw_legend
from app.tree.look import Face
from app.tree.paint import line, paint_lines
from app.tree.phases import Kind
from app.tree.scene import TreeScene
from engine.errors import EyrieError

SCALE = 2.0
LARGEST = 50_000_000  # pixels of a picture; other programs refuse much larger ones
MARGIN = 16.0
WIDTH_LEAST = 640.0  # the legend needs some width

Write = Callable[[], Path]  # writes a picture; returns its path with the extension, or raises `ExportError`


class ExportError(EyrieError):
    """A picture cannot be made or written."""


def with_suffix(path: Path, suffix: str) -> Path:
    """The path with an extension, added when it is missing."""
    return path if path.suffix.lower() == suffix else path.with_name(path.name + suffix)


def draw_png(scene: TreeScene, path: Path, title: str = "", scale: float = SCALE) -> Write:
    """The whole scene as PNG, `scale` pixels per scene unit."""
    path, size = with_suffix(path, ".png"), _size(scene, title)
    scale = min(scale, math.sqrt(LARGEST / (size.width() * size.height())))
    image = QImage(int(size.width() * scale), int(size.height() * scale), QImage.Format.Format_RGB32)
    if image.isNull():
        raise ExportError(f"The picture of {path.name} does not fit into memory: hide the pruned nodes and try again.")
    with QPainter(image) as painter:
        painter.scale(scale, scale)
        _draw(scene, painter, size, title)
    return partial(_write_png, path, image)


def _write_png(path: Path, image: QImage) -> Path:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    if not image.save(buffer, "PNG"):  # type: ignore[call-overload]  # the stub asks for bytes, Qt for str
        raise ExportError(f"Qt could not make a PNG of the tree for {path.name}: try SVG.")
    return _write(path, data)


def draw_svg(scene: TreeScene, path: Path, title: str = "") -> Write:
    """The whole scene as SVG."""
    from PySide6.QtSvg import QSvgGenerator  # a library of its own, and rarely wanted

    path, size = with_suffix(path, ".svg"), _size(scene, title)
    data = QByteArray()
    buffer = QBuffer(data)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(QSize(int(size.width()), int(size.height())))
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    generator.setTitle(title or "Draft tree")
    generator.setDescription("Draft tree of one round of speculative decoding, drawn by Eyrie")
    with QPainter(generator) as painter:
        _draw(scene, painter, size, title)
    return partial(_write, path, data)


def _size(scene: TreeScene, title: str) -> QRectF:
    tree = scene.content_rect
    if tree.isEmpty():
        raise ExportError("There is no tree to save yet: send a message or open a recorded run first.")
    width = max(tree.width(), WIDTH_LEAST)
    legend = draw_legend(None, width, _kinds(scene))
    return QRectF(0, 0, width + 2 * MARGIN, _title_height(title) + tree.height() + legend + 2 * MARGIN)


def _title_height(title: str) -> float:
    return Face(1.2, bold=True).height + 8 if title else 0.0


def _kinds(scene: TreeScene) -> tuple[Kind, ...]:
    drawn = {card.kind for card in scene.drawing.cards}
    return tuple(kind for kind in ENTRIES if kind in drawn)


def _draw(scene: TreeScene, painter: QPainter, size: QRectF, title: str) -> None:
    tree, rings = scene.content_rect, scene.take_rings()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.fillRect(size, theme().color("surface"))
    painter.translate(MARGIN, MARGIN)
    width = size.width() - 2 * MARGIN
    if title:
        face = Face(1.2, bold=True)
        rect = QRectF(0, 0, width, face.height)
        text = face.fit(title, width)
        paint_lines(painter, [line(face, text, rect, theme().color("text"), Qt.AlignmentFlag.AlignLeft)])
        painter.translate(0, _title_height(title))
    scene.render(painter, QRectF((width - tree.width()) / 2, 0, tree.width(), tree.height()), tree)
    painter.translate(0, tree.height())
    draw_legend(painter, width, _kinds(scene))
    scene.give_rings(rings)


def _write(path: Path, data: QByteArray) -> Path:
    try:
        path.write_bytes(data.data())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ExportError(f"{path} cannot be written ({reason}): choose another place.") from error
    return path

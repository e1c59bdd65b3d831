"""Pictures of the tree: whole, named right, refused in one sentence."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from PySide6.QtGui import QImage

from app.tree.drawing import round_drawing
from app.tree.export import ExportError, draw_png, draw_svg
from app.tree.phases import steps
from app.tree.scene import TreeScene
from app.tree.words import visible


@pytest.fixture
def scene(qapp, shown):
    """A round with ghosts, larger than any window."""
    scene = TreeScene()
    scene.restyle()
    scene.show_drawing(round_drawing(shown, steps(shown)[-1], True))
    return scene


def test_png_is_the_whole_scene_at_twice_its_size(scene, tmp_path):
    """Not only what is in sight, and sharp on a wall."""
    path = draw_png(scene, tmp_path / "tree", "Round 5")()
    assert path == tmp_path / "tree.png"
    image, rect = QImage(str(path)), scene.content_rect
    assert image.width() >= 2 * rect.width()
    assert image.height() >= 2 * rect.height()


def test_svg_holds_every_token(scene, shown, tmp_path):
    """Text stays text, so that it can be searched and restyled."""
    path = draw_svg(scene, tmp_path / "tree", "Round <5>")()
    assert path.suffix == ".svg"
    root = ET.parse(path).getroot()
    texts = "".join(root.itertext())
    assert "Round <5>" in texts
    for node in shown.nodes:
        if len(node.text) < 7:  # longer ones may be cut
            assert visible(node.text) in texts
    assert "rejected" in texts  # the legend


def test_the_extension_is_added_only_when_missing(scene, tmp_path):
    """`tree.v2` is a name, not a type."""
    assert draw_svg(scene, tmp_path / "tree.SVG")().name == "tree.SVG"
    assert draw_svg(scene, tmp_path / "tree.v2")().name == "tree.v2.svg"


def test_rings_are_not_in_the_picture_and_stay_on_screen(scene, shown, tmp_path):
    """What the mouse was over is nobody's business."""
    plain = draw_svg(scene, tmp_path / "a")().read_bytes()
    scene.mark("hovered", shown.accepted[0])
    scene.mark("pinned", shown.accepted[1])
    assert draw_svg(scene, tmp_path / "b")().read_bytes() == plain
    assert scene.marked("hovered") == shown.accepted[0]
    assert scene.nodes[shown.accepted[1]].pinned


def test_an_unwritable_place_is_one_sentence(scene, tmp_path):
    """What, where, what to do; both kinds."""
    for draw, name in ((draw_png, "x.png"), (draw_svg, "x.svg")):
        write = draw(scene, tmp_path / "missing" / "x")
        with pytest.raises(ExportError, match=rf"{name} cannot be written \(no such file or directory\): choose"):
            write()


def test_nothing_to_save_is_said(qapp, tmp_path):
    """An empty file would look like success."""
    with pytest.raises(ExportError, match="no tree to save yet"):
        draw_png(TreeScene(), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_huge_scenes_are_scaled_down(scene, tmp_path, monkeypatch):
    """A picture must never fail for being large."""
    monkeypatch.setattr("app.tree.export.LARGEST", 90_000)
    image = QImage(str(draw_png(scene, tmp_path / "x", scale=1000.0)()))
    assert 80_000 < image.width() * image.height() <= 90_000

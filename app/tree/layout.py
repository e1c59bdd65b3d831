"""Where the nodes of a tree go: tidy, stable, without overlaps. Qt-free; knows keys and sizes, not tokens.

After Reingold and Tilford (1981): subtrees are packed side by side along their contours, a parent sits in the middle
of its children, or level with the one child that the spine runs through. The result depends on shape and spine alone.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Contour = list[tuple[float, float]]  # per level from a node down: lowest and highest edge, relative to the node
COUSINS = 1.8  # gap between nodes of different parents, in gaps between siblings


class Place(NamedTuple):
    """Depth counts levels from the root; `across` is the centre of the node, the root's is 0."""

    depth: int
    across: float


def tidy(
    root: Key,
    children: Mapping[Key, Sequence[Key]],
    extent: Callable[[Key], float],
    gap: float,
    spine: Container[Key] = (),
) -> dict[Key, Place]:
    """Place every node that hangs on `root`.

    `children`: keys in the order they are to appear. `extent`: size of a node across the levels. `gap`: free space
    between siblings, in the unit of `extent`. `spine`: keys of a path from the root that is to be a straight line.
    """
    offsets: dict[Key, float] = {root: 0.0}
    _contour(root, children, extent, gap, spine, offsets)
    places = {root: Place(0, 0.0)}
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        for child in children.get(parent, ()):
            places[child] = Place(places[parent].depth + 1, places[parent].across + offsets[child])
            waiting.append(child)
    return places


def _contour(
    key: Key,
    children: Mapping[Key, Sequence[Key]],
    extent: Callable[[Key], float],
    gap: float,
    spine: Container[Key],
    offsets: dict[Key, float],
) -> Contour:
    """Outline of the subtree at `key`; writes the children's offsets from their parents."""
    half = extent(key) / 2
    below = children.get(key, ())
    if not below:
        return [(-half, half)]
    merged: Contour = []
    for child in below:
        shape = _contour(child, children, extent, gap, spine, offsets)
        offsets[child] = _clearance(merged, shape, gap)
        merged = _merge(merged, shape, offsets[child])
    through = next((child for child in below if child in spine), None)
    middle = (offsets[below[0]] + offsets[below[-1]]) / 2 if through is None else offsets[through]
    for child in below:
        offsets[child] -= middle
    return [(-half, half), *((low - middle, high - middle) for low, high in merged)]


def _clearance(placed: Contour, shape: Contour, gap: float) -> float:
    """How far `shape` must move to clear what is placed, level by level."""
    levels = enumerate(zip(placed, shape, strict=False))
    return max((high - low + gap * (COUSINS if level else 1.0) for level, ((_, high), (low, _)) in levels), default=0.0)


def _merge(placed: Contour, shape: Contour, shift: float) -> Contour:
    moved = [(low + shift, high + shift) for low, high in shape]
    both = [(low, high) for (low, _), (_, high) in zip(placed, moved, strict=False)]
    return both + placed[len(both) :] + moved[len(both) :]

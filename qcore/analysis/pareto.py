"""Which rows nothing beats: no other is at most as large and at least as good, and better in one of the two."""

from __future__ import annotations

from collections.abc import Sequence


def front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Mark the points (size, quality) that no other point dominates; of equal points all are marked.

    Examples
    --------
    >>> front([(4.5, 20.0), (8.5, 45.0), (8.5, 44.0), (9.0, 45.0)])
    [True, True, False, False]
    """
    marks = [False] * len(points)
    best_smaller = -float("inf")
    order = sorted(range(len(points)), key=lambda i: (points[i][0], -points[i][1]))
    at = 0
    while at < len(order):
        size, quality = points[order[at]]
        same = at
        while same < len(order) and points[order[same]][0] == size:
            index = order[same]
            marks[index] = points[index][1] == quality and quality > best_smaller
            same += 1
        best_smaller = max(best_smaller, quality)
        at = same
    return marks

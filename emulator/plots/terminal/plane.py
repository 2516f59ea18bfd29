"""A plane with numbers on both axes, into which points are put."""

from collections.abc import Sequence

from rich.style import Style as Ink

from emulator.plots.terminal.cells import DIM, Marks, Sheet
from emulator.plots.terminal.scale import Ruler, ticks


class Plane:
    """A block whose first line is `title`, with a vertical axis at the left and a horizontal one below.

    `height` is of the plane itself; the block is four lines higher: title, axis, ticks, label.
    """

    def __init__(
        self, width: int, height: int, glyphs: Marks, *, title: str, label: str, vertical: Ruler
    ) -> None:
        marked_values = ticks(vertical, max(height // 2, 2))
        self.left = max(len(text) for _, text in marked_values) + 2
        self.height = height
        self.vertical = vertical._replace(cells=height)
        self.cells = width - self.left
        self._marked: set[tuple[int, int]] = set()
        self.block = Sheet(width, height + 4, glyphs)
        self.block.put(0, 0, title)
        up, across, tick, _, corner = tuple(glyphs.axis)
        for row in range(height):
            self.block.put(self.left - 1, 1 + row, up, DIM)
        for value, text in marked_values:
            y = self.row(value)
            self.block.right(self.left - 2, y, text, DIM)
            self.block.put(self.left - 1, y, tick, DIM)
        self.block.put(self.left - 1, height + 1, corner + across * self.cells, DIM)
        self.block.centre(self.left + self.cells // 2, height + 3, label)

    def row(self, value: float) -> int:
        """The row of the block for a value."""
        return self.height - self.vertical.place(value)

    def mark(self, column: int, value: float, sign: str, color: Ink) -> tuple[int, int]:
        """Put a marker where there is none yet: in its column, or else beside it; returns where it is."""
        x, y = self.left + column, self.row(value)
        x = next((at for at in (x, x + 1, x - 1) if (at, y) not in self._marked), x)
        self._marked.add((x, y))
        self.block.put(x, y, sign, color)
        return x, y

    def under(self, places: Sequence[tuple[int, str]]) -> None:
        """Put ticks under the columns, as many as there is room for, from the left."""
        end = -1
        for column, text in places:
            x = self.left + column
            if self.block.start(x, text) > end:
                self.block.put(x, self.height + 1, self.block.glyphs.axis[3], DIM)
                end = self.block.centre(x, self.height + 2, text, DIM)

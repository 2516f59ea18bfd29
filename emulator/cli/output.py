"""What goes to stdout: JSON, YAML, a list, or what rich draws; control codes only on a terminal."""

import io
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.syntax import Syntax
from ruamel.yaml import YAML

from emulator.modes import in_foreground
from emulator.text import cells, clean, encodable, pad, width, without_controls

_WIDEST = 120
_LONGEST = 300


def write_json(value: Any) -> None:
    """Write strict JSON, in ASCII."""
    _write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def write_yaml(value: Any, *, comments: Iterable[str] = ()) -> None:
    """Write YAML beneath some lines of comment; coloured on a terminal."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # its stub says None
    yaml.allow_unicode = encodable("東", _encoding()) == "東"
    page = io.StringIO()
    for comment in comments:
        page.write(f"# {clean(comment, _LONGEST)}\n")
    yaml.dump(value, page)
    text = page.getvalue()
    if is_terminal(sys.stdout):
        write_rich(Syntax(text, "yaml", theme="ansi_dark", background_color="default", word_wrap=True))
    else:
        _write(without_controls(text))


def write_list(entries: Sequence[tuple[str, str]]) -> None:
    """Write names, each with a description beside it."""
    entries = [(clean(name), clean(description, _LONGEST)) for name, description in entries]
    longest = max((width(name) for name, _ in entries), default=0)
    room = max(_width(), longest + 22) - longest - 2
    for name, description in entries:
        first, *others = _wrapped(description, room) or [""]
        lines = [pad(name, longest + 2) + first, *(" " * (longest + 2) + line for line in others)]
        _write("".join(f"{line.rstrip()}\n" for line in lines))


def _wrapped(text: str, room: int) -> list[str]:
    """A text in lines of so many cells, broken between words."""
    # The second cell of a wide character is a letter of its own to the wrapping.
    wide = "".join(cell or "\0" for cell in cells(text))
    return [line.replace("\0", "") for line in textwrap.wrap(wide, room)]


def write_lines(values: Iterable[Any]) -> None:
    """Write values as JSON Lines: strict, in ASCII."""
    _write("".join(json.dumps(value, allow_nan=False) + "\n" for value in values))


def write_rich(what: RenderableType) -> None:
    """Write what rich draws."""
    write_drawn(lambda console: console.print(what))


def write_drawn(draw: Callable[[Console], None], *, width: int | None = None) -> None:
    """Write what is drawn on a console, `width` columns wide where it is no terminal."""
    page = _Page()
    terminal = is_terminal(sys.stdout)
    columns = min(_width(), _WIDEST) if terminal or width is None else width
    console = _CleanConsole(file=page, force_terminal=terminal, width=columns, legacy_windows=False)
    if not terminal:
        console.no_color = True
    draw(console)
    text = page.getvalue()
    if not terminal:
        # rich pads lines to the width; in a file that is noise.
        text = "\n".join(line.rstrip() for line in text.split("\n"))
    _write(text)


def is_terminal(stream: Any) -> bool:
    """Whether control codes may be written to the stream; no environment variable changes that."""
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def can_be_drawn_on(stream: Any) -> bool:
    """Whether something that moves may be drawn there: a terminal that can, and that is ours to draw on."""
    able = os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")
    return is_terminal(stream) and able and in_foreground(stream.fileno())


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


class _Page(io.StringIO):
    """A text in memory from which rich learns in which encoding it will be written."""

    @property
    def encoding(self) -> str:  # type: ignore[override]  # the base class has a plain attribute
        return _encoding()


class _CleanConsole(Console):
    """A console whose only control codes are its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Draw, with all escaped that cannot be printed."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=without_controls(segment.text))


def _write(text: str) -> None:
    """Write a text, which has no control codes but those of a console's own."""
    sys.stdout.write(encodable(text, _encoding()))
    sys.stdout.flush()

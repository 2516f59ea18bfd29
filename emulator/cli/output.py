"""What goes to stdout: JSON, YAML, a list, or what rich draws; control codes only on a terminal."""

import io
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.syntax import Syntax
from ruamel.yaml import YAML

from emulator.modes import in_foreground

_WIDEST = 120


def write_json(value: Any) -> None:
    """Write strict JSON, in ASCII."""
    _write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def write_yaml(value: Any, *, comments: Iterable[str] = ()) -> None:
    """Write YAML beneath some lines of comment; coloured on a terminal."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # its stub says None
    yaml.allow_unicode = True
    page = io.StringIO()
    for comment in comments:
        page.write(f"# {comment}\n")
    yaml.dump(value, page)
    text = page.getvalue()
    if is_terminal(sys.stdout):
        write_rich(Syntax(text, "yaml", theme="ansi_dark", background_color="default", word_wrap=True))
    else:
        _write(text)


def write_list(entries: Sequence[tuple[str, str]]) -> None:
    """Write names, each with a description beside it."""
    longest = max((len(name) for name, _ in entries), default=0)
    width = max(_width(), longest + 22)
    for name, description in entries:
        first = f"{name:<{longest}}  "
        lines = textwrap.wrap(description, width, initial_indent=first, subsequent_indent=" " * len(first))
        _write("\n".join(lines or [name]) + "\n")


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
    console = Console(file=page, force_terminal=terminal, width=columns, legacy_windows=False)
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
    """A text in memory that tells rich in which encoding it will be written."""

    @property
    def encoding(self) -> str:  # type: ignore[override]  # the base class has a plain attribute
        return _encoding()


def _write(text: str) -> None:
    encoding = _encoding()
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
    sys.stdout.flush()

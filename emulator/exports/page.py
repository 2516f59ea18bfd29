"""A recording as one page: figures, plots and the scenario, with nothing to be loaded from anywhere.

The lanes of a race are side by side where there is room, and drawn to the same scales.
"""

import io
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, TextIO

from ruamel.yaml import YAML

from emulator.dashboard.scale import recorded_scale
from emulator.exports import plots
from emulator.exports.series import ACCOUNTS, LaneSeries
from emulator.exports.settings import Settings
from emulator.exports.style import STYLE
from emulator.exports.tracks import Tracks
from emulator.figures import GENERATING, Result
from emulator.figures import spec as f
from emulator.figures.engine_spec import RUNNING
from emulator.figures.result import Quantity, Section, Shown
from emulator.figures.text import clock_time, count
from emulator.recording import RecordedLane, Recording
from emulator.recording.outcome import outcomes
from emulator.summary import verdict
from emulator.summary.interventions import injection
from emulator.version import __version__

_COLUMNS = 180
_TIMELINE_COLUMNS = 220
_TIMELINE_ROWS = 64
_LEGEND = (
    ("w-3", "generating"),
    ("w-straggler", "straggler"),
    ("w-acting", "in a tool"),
    ("w-overhead", "overhead"),
    ("w-frozen", "weights"),
    ("w-gated", "gated"),
    ("w-blocked", "blocked"),
    ("w-down", "down"),
    ("w-none", "waiting"),
)


def write(recording: Recording, settings: Settings, file: TextIO) -> None:
    """Write the page."""
    scenario = recording.scenario
    title = escape(scenario.name)
    file.write(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    )
    kind = "race: same seed, same episodes" if recording.is_race else scenario.strategy.label
    workers = count(scenario.rollout.workers, "worker")
    facts = f"{kind} · {workers} · seed {recording.seed} · {clock_time(recording.t_end)}"
    file.write(f"<header>\n<h1>{title}</h1>\n<p>{escape(facts)}</p>\n")
    if scenario.description:
        file.write(f"<p>{escape(scenario.description)}</p>\n")
    if recording.cut is not None:
        file.write(f'<p class="alert">Cut off at {clock_time(recording.t_end)}.</p>\n')
    runs = outcomes(recording)
    if recording.is_race:
        file.write(f'<p class="verdict">{escape(verdict(runs))}</p>\n')
    file.write(f'</header>\n<main class="{"race" if recording.is_race else "run"}">\n')
    for part in _lanes(recording, [Result(run.result) for run in runs]):
        file.write(part)
    file.write(
        f"</main>\n<section>\n<h2>Scenario</h2>\n<pre>{escape(_yaml(scenario.resolved()))}</pre>\n</section>\n"
        f"<footer>emulator {__version__}</footer>\n</body>\n</html>\n"
    )


class _Drawn:
    """What the plots of a lane show."""

    def __init__(self, lane: RecordedLane, t_end: float, straggler: float) -> None:
        tracks = Tracks(lane)
        series = LaneSeries(tracks, _COLUMNS, t_end)
        self.workers = series.share((GENERATING,), trainer=False)
        self.trainer = series.share(("updating", "pushing"), trainer=True)
        self.queue = series.depth()
        self.staleness = _staleness(tracks, series)
        self.reward = _reward(tracks, series)
        self.running = series.running() if tracks.engines else []
        self.marks = [(event.t, injection(event.action)) for event in tracks.injections]
        self.count = tracks.rows
        self.grids = LaneSeries(tracks, _TIMELINE_COLUMNS, t_end).timeline(_TIMELINE_ROWS, straggler)


def _staleness(tracks: Tracks, series: LaneSeries) -> list[float | None]:
    """The mean staleness of what was trained in each column; where nothing was, that of the one before."""
    totals, counts = [0] * series.count, [0] * series.count
    for batch in tracks.batches:
        column = min(int(batch.t / series.width), series.count - 1)
        totals[column] += sum(batch.staleness)
        counts[column] += len(batch.staleness)
    values: list[float | None] = []
    for i, (total, n) in enumerate(zip(totals, counts, strict=True)):
        ended = series.starts[i] >= tracks.lane.t_end
        values.append(total / n if n else None if ended or not values else values[-1])
    return values


def _reward(tracks: Tracks, series: LaneSeries) -> list[float | None]:
    """The reward of the policy at the end of each column; None before the first update."""
    values: list[float | None] = []
    lessons = iter(tracks.lessons)
    coming = next(lessons, None)
    reward: float | None = None
    for start in series.starts:
        while coming is not None and coming.t < start + series.width:
            reward, coming = coming.reward, next(lessons, None)
        values.append(None if start >= tracks.lane.t_end else reward)
    return values


def _lanes(recording: Recording, results: Sequence[Result]) -> Iterator[str]:
    t_end = recording.t_end
    straggler = recorded_scale(recording).straggler
    drawn = [_Drawn(lane, t_end, straggler) for lane in recording.lanes]
    limits = [lane.scenario.strategy.limit for lane in recording.lanes]
    queue = plots.ceiling(max([1.0, *(v for one in drawn for v in one.queue if v)]))
    stale = plots.ceiling(
        max([1.0, *(v for one in drawn for v in one.staleness if v), *(limit or 0.0 for limit in limits)])
    )
    for lane, result, one, limit in zip(recording.lanes, results, drawn, limits, strict=True):
        yield '<section class="lane">\n'
        if lane.name is not None:
            yield f"<h2>{escape(lane.name)} <small>{escape(lane.scenario.strategy.label)}</small></h2>\n"
        if lane.error is not None:
            yield f'<p class="alert">{escape(lane.error)}</p>\n'
        yield _figures(result)
        yield '<div class="plots">\n'
        busy: dict[str, Any] = {"t_end": t_end, "top": 1.0, "percent": True, "marks": one.marks}
        for figure, values, kind in (
            (f.WORKERS_BUSY, one.workers, "busy"),
            (f.TRAINER_BUSY, one.trainer, "trainer"),
        ):
            drawing = plots.line(figure.label, values, kind=kind, **busy)
            yield _plot(figure, result.text(figure), drawing)
        depths = plots.line(f.QUEUE_MEAN.label, one.queue, t_end, queue, kind="queue", marks=one.marks)
        yield _plot(f.QUEUE_MEAN, result.say(f.QUEUE_MEAN), depths)
        ages = plots.line(
            f.STALENESS.label, one.staleness, t_end, stale, kind="stale", limit=limit, marks=one.marks
        )
        words = f"mean {result.text(f.STALENESS)}, {result.say(f.STALENESS_MAX)}"
        yield _plot(f.STALENESS, words, ages)
        if result.has(Section.LEARNING):
            rewards = plots.line("reward", one.reward, t_end, 1.0, kind="busy", marks=one.marks)
            yield _plot(f.REWARD, result.text(f.REWARD), rewards)
        if one.running:
            top = plots.ceiling(max([1.0, *(value for value in one.running if value)]))
            running = plots.line(RUNNING.label, one.running, t_end, top, kind="queue", marks=one.marks)
            yield _plot(RUNNING, f"mean {result.text(RUNNING)}", running)
        histogram = f.STALENESS_HISTOGRAM
        counts = plots.histogram(histogram.label, result[histogram] or [], limit)
        yield _plot(histogram, histogram.unit, counts)
        rows = one.grids.shape[1]
        band = "a row each" if rows == one.count else f"a row is {-(-one.count // max(rows, 1))} workers"
        walls = plots.timeline("what each worker did", one.grids, t_end, one.marks)
        yield _plot(count(one.count, "worker"), band, walls + _legend(one))
        yield "</div>\n"
        yield _injections(one.marks)
        yield "</section>\n"


def _plot(title: str | Quantity[Any], value: str, drawing: str) -> str:
    title = title if isinstance(title, str) else title.label.capitalize()
    head = f"<figcaption>{escape(title)} <small>{escape(value)}</small></figcaption>"
    return f"<figure>{head}{drawing}</figure>\n"


def _legend(one: _Drawn) -> str:
    entries = (
        f'<span><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="{kind}" width="10" height="10"/>'
        f"</svg>{name}</span>"
        for kind, name in _LEGEND
        if name in ("generating", "straggler", "waiting") or _happened(one, kind)
    )
    return f'<p class="legend">{"".join(entries)}</p>'


def _happened(one: _Drawn, kind: str) -> bool:
    return bool(one.grids[ACCOUNTS.index(kind.removeprefix("w-"))].any())


def _injections(marks: plots.Marks) -> str:
    if not marks:
        return ""
    items = "".join(f"<li><b>{clock_time(t)}</b> {escape(label)}</li>" for t, label in marks[:20])
    more = f"<li>and {len(marks) - 20} more</li>" if len(marks) > 20 else ""
    return f'<ul class="injections">{items}{more}</ul>\n'


def _figures(result: Result) -> str:
    """The figures of the summary, a card for each that is read first, and what it is made of."""
    cards = [
        _card(
            result, line.head, [figure for figure in (*line.beside, *line.under) if _on_page(result, figure)]
        )
        for line in f.LINES
    ]
    cards.append(_card(result, f.TRAINED, [f.STARTED, *(figure for figure in f.LOST if result[figure])]))
    for section in (Section.ENGINE, Section.CLUSTER):
        shown = [figure for figure in f.FIGURES if f.is_of(figure, section) and _on_page(result, figure)]
        if shown:
            cards.append(_card(result, shown[0], [figure for figure in shown[1:] if result[figure]]))
    if result.has(Section.LEARNING):
        cards.append(_card(result, f.REWARD, [f.MINUTES_TO_80]))
    return f"<dl>{''.join(cards)}</dl>\n"


def _on_page(result: Result, figure: Quantity[Any]) -> bool:
    return Shown.PAGE in figure.shown and result[figure] is not None


def _card(result: Result, figure: Quantity[Any], beside: Sequence[Quantity[Any]]) -> str:
    value, detail = result.text(figure), ", ".join(map(result.say, beside))
    return f"<div><dt>{figure.label}</dt><dd><b>{value}</b> <small>{escape(detail)}</small></dd></div>"


def _yaml(value: Any) -> str:
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # its stub says None
    yaml.allow_unicode = True
    text = io.StringIO()
    yaml.dump(value, text)
    return text.getvalue()

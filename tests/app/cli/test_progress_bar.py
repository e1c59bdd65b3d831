from __future__ import annotations

import io
import itertools
from collections.abc import Iterator

from app.cli.progress_bar import ProgressBar
from engine import Progress


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def clock(step: float) -> Iterator[float]:
    """Time that passes by `step` at every look."""
    return itertools.count(0.0, step)


def play(stream: io.StringIO, step: float, parts: int = 10, unit: str = "B") -> str:
    """A download in `parts` parts; what was shown."""
    times = clock(step)
    with ProgressBar(stream, lambda: next(times)) as bar:
        for i in range(parts + 1):
            bar(Progress("Downloading", 1_000_000 * i // parts, 1_000_000, unit))
    return stream.getvalue()


def test_a_quick_step_shows_nothing() -> None:
    """A flash of a bar at every start is noise."""
    assert play(io.StringIO(), 0.01) == ""
    assert play(Screen(), 0.01) == ""


def test_plain_lines_without_a_terminal() -> None:
    """A log gets a line now and then, and the time at the end; no carriage returns."""
    lines = play(io.StringIO(), 2.0).splitlines()
    assert lines[0] == "Downloading: 10 %"
    assert len(lines) < 8
    assert lines[-1].startswith("Downloading: ")
    assert lines[-1].endswith(" s")


def test_a_bar_on_a_terminal() -> None:
    """Name, share and size while it runs; one line afterwards."""
    shown = play(Screen(), 0.3)
    assert "Downloading" in shown
    assert "1.00M" in shown
    assert shown.splitlines()[-1].endswith(" s")


def test_steps_follow_each_other() -> None:
    """Download, then conversion: each has its own line."""
    stream = io.StringIO()
    times = clock(1.0)
    with ProgressBar(stream, lambda: next(times)) as bar:
        for step in ("Downloading", "Converting"):
            for i in range(3):
                bar(Progress(step, i, 2))
    assert [line.split(":")[0] for line in stream.getvalue().splitlines()] == ["Downloading"] * 2 + ["Converting"] * 2


def test_a_failed_step_claims_no_success() -> None:
    """The error comes next; "Downloading: 3 s" before it would read like a success."""
    stream = io.StringIO()
    times = clock(1.0)
    try:
        with ProgressBar(stream, lambda: next(times)) as bar:
            for i in range(3):
                bar(Progress("Downloading", i, 0))
            raise ValueError
    except ValueError:
        assert stream.getvalue() == "Downloading\n"


def test_an_unknown_total_has_no_share() -> None:
    """0 of 0 is not 0 %."""
    stream = io.StringIO()
    times = clock(1.0)
    with ProgressBar(stream, lambda: next(times)) as bar:
        bar(Progress("Calibrating", 0, 0))
        bar(Progress("Calibrating", 1, 0))
    assert stream.getvalue().splitlines()[0] == "Calibrating"


def test_closing_twice_says_it_once() -> None:
    """A reply's bar is closed by its first token and again at its end."""
    stream = io.StringIO()
    times = clock(1.0)
    bar = ProgressBar(stream, lambda: next(times))
    for i in range(3):
        bar(Progress("Reading", i, 2))
    bar.close()
    bar.close()
    assert len(stream.getvalue().splitlines()) == 2


def test_a_warning_is_said_at_once() -> None:
    """What is doubtful about a draft head was found out and told to nobody."""
    for stream in (io.StringIO(), Screen()):
        times = clock(0.1)
        with ProgressBar(stream, lambda times=times: next(times)) as bar:
            bar(Progress("Converting", 0, 2))
            bar(Progress("Reading the draft head", 0, 0, warning="Draft head x: it is old."))
            bar(Progress("Converting", 1, 2))
        assert stream.getvalue().count("Draft head x: it is old.\n") == 1
        assert "Reading" not in stream.getvalue()

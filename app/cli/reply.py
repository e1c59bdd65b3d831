"""Prints one turn while it runs: text, or every round's tree, then the counts. Knows a session and two streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TextIO

from app.cli.interrupt import on_interrupt
from app.cli.progress_bar import ProgressBar
from app.cli.provenance import Painter
from app.cli.show_tree import round_text
from app.cli.stats_line import notes, stats_line
from app.cli.terminal import harmless, plain_marks
from app.engine_api import Session
from engine import Event, Prefill, PrefillProgress, Progress, Round, SamplingConfig, Token, Turn


@dataclass(frozen=True, slots=True)
class Style:
    """How replies are printed."""

    color: bool = False
    show_tree: bool = False
    show_pruned: bool = False
    legend: bool = True  # say what the colours mean


class ReplyPrinter:
    """Events of one turn in, text out. The reply goes to `out`, everything else to `err`."""

    def __init__(self, style: Style, out: TextIO, err: TextIO) -> None:
        self.turn = Turn()
        self._style, self._out, self._err = style, out, err
        self._painter = Painter(style.color)
        self._bar = ProgressBar(err)

    def show(self, event: Event) -> None:
        """Print what is new."""
        self.turn.add(event)
        if isinstance(event, PrefillProgress):
            self._bar(Progress("Reading the prompt", event.done, event.total))
        elif isinstance(event, Prefill):
            self._bar.close()
            self._text((event.first,), event.text)
        elif isinstance(event, Round) and self._style.show_tree:
            self._print(round_text(event, show_pruned=self._style.show_pruned) + "\n")
        elif isinstance(event, Round):
            self._text(event.emitted, event.text)

    def finish(self) -> None:
        """The rest of the text, a line end, and the counts."""
        self._bar.close()
        shown = (self.turn.prefill.text if self.turn.prefill else "") + "".join(r.text for r in self.turn.rounds)
        if self._style.show_tree:
            self._print("\n" + harmless(self.turn.text))
        elif self.turn.text.startswith(shown):  # text that was held back until the end
            self._text((), self.turn.text[len(shown) :])
        self._print("\n")
        line = stats_line(self.turn)
        legend = self._painter.legend() if line and self._style.legend and not self._style.show_tree else ""
        for text in (line, legend, *notes(self.turn)):
            if text:
                print(plain_marks(text, self._err), file=self._err, flush=True)

    def _text(self, tokens: Sequence[Token], text: str) -> None:
        if not self._style.show_tree:
            self._print(self._painter.paint(tokens, text))

    def _print(self, text: str) -> None:
        if self._style.show_tree:
            text = plain_marks(text, self._out)
        self._out.write(text)
        self._out.flush()


def print_reply(
    session: Session,
    messages: Sequence[Mapping[str, str]],
    sampling: SamplingConfig,
    style: Style,
    out: TextIO,
    err: TextIO,
) -> tuple[Turn, bool]:
    """Run one turn and print it; returns its records and whether Ctrl+C ended it.

    A second Ctrl+C raises `KeyboardInterrupt`. Raises what the engine raises.
    """
    printer = ReplyPrinter(style, out, err)
    with on_interrupt(session.stop) as pressed:
        try:
            for event in session.generate(messages, sampling):
                printer.show(event)
        finally:
            printer.finish()
    return printer.turn, bool(pressed)

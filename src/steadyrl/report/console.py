"""The terminal as everything is shown on it: a run's files can colour nothing and move nothing."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from steadyrl.core.printable import printable


class PlainConsole(Console):
    """A console of which text is only ever text; markup is the caller's to escape."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """As the console does it, without commands that stand in the text."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)

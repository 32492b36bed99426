"""The last line of a terminal, which shows a progress bar and is replaced by what is printed; and colours, where they are wanted.

Elsewhere than on a terminal there is no such line, and nothing has a colour.
"""

import os
import sys

from precast.base.spans import visible

BAR_COLUMNS = 24


class LiveLine:
    """The live line of a command. Without a terminal, or with `--json`, it is never drawn."""

    def __init__(self, is_json: bool) -> None:
        self.is_live = not is_json and sys.stdout is not None and sys.stdout.isatty()
        self._has_colour = self.is_live and "NO_COLOR" not in os.environ
        self._is_drawn = False

    def draw(self, text: str) -> None:
        """Draw the line in place of the last one."""
        if self.is_live:
            self.clear()
            print(text, end="", flush=True)
            self._is_drawn = True

    def clear(self) -> None:
        """Remove the line, so that another can be printed in its place."""
        if self._is_drawn:
            print("\r\033[K", end="", flush=True)
            self._is_drawn = False

    def note(self, text: str) -> None:
        """Print a note to standard error, such as that the server is not reachable at present."""
        self.clear()
        print(f"precast: note: {visible(text)}", file=sys.stderr, flush=True)

    def paint(self, code: str | None, text: str) -> str:
        """The text in a colour, by its code; None for none."""
        return f"\033[{code}m{text}\033[0m" if self._has_colour and code is not None else text

    def make_bar(self, done: int, total: int, code: str) -> str:
        """A bar of which the done part has a colour."""
        filled = BAR_COLUMNS * done // max(total, 1)
        return self.paint(code, "█" * filled) + "░" * (BAR_COLUMNS - filled)

"""How the demo looks: headings, real commands with their output, bars that move, and claims that were checked.

On a terminal bars move and colours show; elsewhere the same is printed as plain lines, and nothing waits for anyone.
"""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

PRECAST = str(Path(sys.executable).with_name("precast"))
BAR_COLUMNS = 32


class DemoFailed(Exception):
    """Something shown was not true."""


class Stage:
    """Prints. Everything shown goes through here, so that a check that fails ends the demo."""

    def __init__(self, directory: Path) -> None:
        """Commands run in this directory, so that what they print has short names."""
        self.directory = directory
        # What commands see of it beside our own, such as which server to ask.
        self.environment: dict[str, str] = {}
        self._is_live = sys.stdout.isatty()
        self._has_colour = self._is_live and "NO_COLOR" not in os.environ
        self._started_s = time.monotonic()
        self._bar_shown = False

    def title(self, text: str) -> None:
        self._print(f"\n{self._paint('1;36', '━━ ' + text + ' ' + '━' * max(0, 74 - len(text)))}")

    def say(self, text: str) -> None:
        self._print(f"   {text}")

    def claim(self, text: str, is_true: bool) -> None:
        """State something that was just checked. Raises DemoFailed if it does not hold."""
        if not is_true:
            raise DemoFailed(text)
        self._print(f" {self._paint('1;32', '✓')} {text}")

    def event(self, text: str) -> None:
        """Something dramatic happened."""
        self._print(f" {self._paint('1;31', '✗')} {text}")

    def bar(self, label: str, done: int, total: int, note: str = "") -> None:
        """A bar that moves in place on a terminal; elsewhere only its end is printed."""
        filled = BAR_COLUMNS * min(done, total) // max(total, 1)
        line = f"   {label:24} {'█' * filled}{'░' * (BAR_COLUMNS - filled)} {done:>6,} {note}"
        if self._is_live:
            sys.stdout.write(f"\r\033[K{line[: _columns() - 1]}")
            sys.stdout.flush()
            self._bar_shown = True
        elif done >= total:
            self._print(line.rstrip())

    def end_bar(self) -> None:
        """Leave the bar as it is and go on below."""
        if self._bar_shown:
            print(flush=True)
            self._bar_shown = False

    def run(self, *args: str, shown: str | None = None, expected: int = 0) -> str:
        """Run a `precast` command and show it with its output."""
        self._print(self._paint("1", f" $ precast {shown or ' '.join(args)}"))
        output = self._capture(args, expected)
        for line in output.splitlines():
            self._print(f"   {self._paint('2', line)}")
        return output

    def ask(self, *args: str, expected: int = 0) -> Any:
        """Run a `precast` command quietly; what it answers with --json."""
        return msgspec.json.decode(self._capture((*args, "--json"), expected))

    def ask_maybe(self, *args: str) -> Any:
        """The same, or None if the command fails: for what may not be there yet."""
        done = self._start((*args, "--json"))
        return None if done.returncode else msgspec.json.decode(done.stdout)

    def ask_status(self, *args: str) -> Any:
        """The same for a command whose exit code is a part of its answer."""
        return msgspec.json.decode(self._start((*args, "--json")).stdout)

    def elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def refused(self, *args: str) -> str:
        """Run a `precast` command that must fail; what it says. Shown as the one line it is."""
        done = self._start(args)
        said = done.stderr.strip().splitlines()
        if not done.returncode or not said:
            raise DemoFailed(f"precast {args[0]} {args[1]} was not refused")
        self._print(f"   {self._paint('2', said[0])}")
        return said[0]

    def _capture(self, args: tuple[str, ...], expected: int) -> str:
        done = self._start(args)
        if done.returncode != expected:
            raise DemoFailed(f"precast {args[0]} {args[1]}: {done.stderr.strip()}")
        return done.stdout

    def _start(self, args: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [PRECAST, *args],
            cwd=self.directory,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    def _print(self, text: str) -> None:
        self.end_bar()
        print(text, flush=True)

    def _paint(self, code: str, text: str) -> str:
        return f"\033[{code}m{text}\033[0m" if self._has_colour else text


def _columns() -> int:
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 100

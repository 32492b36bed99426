"""Prints the demo: headings, real commands with their output, progress bars, and claims that were checked.

On a terminal it draws moving bars and colours; elsewhere it prints plain lines. It never waits for input.
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
    """A claim of the demo was false, or a command failed."""


class Presenter:
    """Runs commands and prints. All output of the demo goes through here, so that a false claim ends the demo."""

    def __init__(self, directory: Path) -> None:
        """Commands run in this directory, so that they print short paths."""
        self.directory = directory
        # Variables for the commands beside those of this process, such as the server's URL.
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
        """Print a claim that was just checked. Raises DemoFailed if it is false."""
        if not is_true:
            raise DemoFailed(text)
        self._print(f" {self._paint('1;32', '✓')} {text}")

    def event(self, text: str) -> None:
        """Print an incident, such as a kill."""
        self._print(f" {self._paint('1;31', '✗')} {text}")

    def bar(self, label: str, done: int, total: int, note: str = "") -> None:
        """Print a progress bar. It moves in place on a terminal; elsewhere only the complete bar is printed."""
        filled = BAR_COLUMNS * min(done, total) // max(total, 1)
        line = f"   {label:24} {'█' * filled}{'░' * (BAR_COLUMNS - filled)} {done:>6,} {note}"
        if self._is_live:
            sys.stdout.write(f"\r\033[K{line[: _columns() - 1]}")
            sys.stdout.flush()
            self._bar_shown = True
        elif done >= total:
            self._print(line.rstrip())

    def end_bar(self) -> None:
        """Leave the bar as it is and continue on the next line."""
        if self._bar_shown:
            print(flush=True)
            self._bar_shown = False

    def run(self, *args: str, shown: str | None = None, expected: int = 0) -> str:
        """Run a `precast` command, print it with its output, and return the output."""
        self._print(self._paint("1", f" $ precast {shown or ' '.join(args)}"))
        output = self._capture(args, expected)
        for line in output.splitlines():
            self._print(f"   {self._paint('2', line)}")
        return output

    def ask(self, *args: str, expected: int = 0) -> Any:
        """Run a `precast` command with --json, print nothing, and return the decoded output."""
        return msgspec.json.decode(self._capture((*args, "--json"), expected))

    def ask_maybe(self, *args: str) -> Any:
        """Do the same, but return None if the command fails, for objects that may not exist yet."""
        done = self._run((*args, "--json"))
        return None if done.returncode else msgspec.json.decode(done.stdout)

    def ask_status(self, *args: str) -> Any:
        """Do the same for a command whose exit code is part of its result."""
        return msgspec.json.decode(self._run((*args, "--json")).stdout)

    def elapsed_s(self) -> float:
        return time.monotonic() - self._started_s

    def refused(self, *args: str) -> str:
        """Run a `precast` command that must fail. Prints and returns the first line of its error."""
        done = self._run(args)
        lines = done.stderr.strip().splitlines()
        if not done.returncode or not lines:
            raise DemoFailed(f"precast {' '.join(args[:2])} was not refused")
        self._print(f"   {self._paint('2', lines[0])}")
        return lines[0]

    def _capture(self, args: tuple[str, ...], expected: int) -> str:
        done = self._run(args)
        if done.returncode != expected:
            raise DemoFailed(f"precast {' '.join(args[:2])}: {done.stderr.strip()}")
        return done.stdout

    def _run(self, args: tuple[str, ...]) -> "subprocess.CompletedProcess[str]":
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

"""Where the processes of one server lay their figures down, so that each can tell those of all.

A scrape reaches any one of them. Its own figures are of this moment, those of the others at most a second old. Each figure says
of which process it is: to add them up here would hide one that began anew at zero.
"""

import contextlib
import re
import time
from collections.abc import Mapping
from pathlib import Path

# Older than this, a process has died; the next one of its number writes over it.
STALE_S = 10.0
_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")


class Board:
    """The place of one process among the others."""

    def __init__(self, room: Path, number: int) -> None:
        self._room = room
        self._number = number

    def publish(self, text: str) -> None:
        """Lay our figures down."""
        beside = self._room / f".metrics-{self._number}"
        with contextlib.suppress(OSError):  # a full disk must not end the process; the others see that we are silent
            beside.write_text(text)
            beside.replace(self._room / f"metrics-{self._number}")

    def gather(self, own: str) -> str:
        """The figures of all, ours as they are now."""
        found = {self._number: own}
        for path in self._room.glob("metrics-*"):
            number = int(path.name.removeprefix("metrics-"))
            with contextlib.suppress(OSError):
                if number != self._number and time.time() - path.stat().st_mtime < STALE_S:
                    found[number] = path.read_text()
        return merge(found)


def merge(texts: Mapping[int, str]) -> str:
    """Figures of several processes as one text: each with the label `worker`, those of one name together."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for number, text in sorted(texts.items()):
        for line in text.splitlines():
            if line.startswith("#"):
                name = line.split()[2]
                heads.setdefault(name, [])
                if line not in heads[name]:
                    heads[name].append(line)
            elif found := _SAMPLE.fullmatch(line):
                labels = ",".join(filter(None, (f'worker="{number}"', found["labels"])))
                samples.setdefault(found["name"], []).append(f"{found['name']}{{{labels}}} {found['value']}")
    lines = [line for name in heads for line in (*heads[name], *samples.pop(name, ()))]
    return "\n".join([*lines, *(line for rest in samples.values() for line in rest)]) + "\n"

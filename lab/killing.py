"""Kills a writer under load and keeps the books: what was sent, acknowledged, refused."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from lab.pairs import Found, Pairs
from precast.store.engine.connect import connect
from precast.store.engine.location import Location, PostgresLocation

ROOT = Path(__file__).resolve().parent.parent


class Books(msgspec.Struct):
    """What a writer said."""

    sent: set[int] = msgspec.field(default_factory=set)
    acked: set[int] = msgspec.field(default_factory=set)
    failed: dict[int, str] = msgspec.field(default_factory=dict)

    @property
    def unacknowledged(self) -> set[int]:
        """What was under way when something died: cut off, or told that it failed."""
        return self.sent - self.acked

    def note(self, line: str) -> None:
        word, number, *rest = line.split()
        if word == "sent":
            self.sent.add(int(number))
        elif word == "ack":
            self.acked.add(int(number))
        else:
            self.failed[int(number)] = rest[0]


def text_of(location: Location) -> str:
    return location.url if isinstance(location, PostgresLocation) else str(location.path)


def start_writer(location: Location, *options: str, prefix: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
    command = [*prefix, sys.executable, "-m", "lab.writer", text_of(location), *options]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def write_until(location: Location, first: int, acks: int, kill: Callable[["subprocess.Popen[str]"], None]) -> Books:
    """Run a writer until it has had this many acknowledgements, then kill something; its books to the last line."""
    books = Books()
    with start_writer(location, "--first", str(first)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith("\n"):
                books.note(line)
            if len(books.acked) >= acks:
                break
        kill(process)
        # What the writer had said by then is still in the pipe; a line cut off by the kill is no promise.
        for line in process.stdout:
            if line.endswith("\n"):
                books.note(line)
    return books


async def read_pairs(location: Location) -> Found:
    database = await connect(location)
    try:
        return await Pairs(database).read()
    finally:
        await database.close()

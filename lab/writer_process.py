"""Starts a writer process, kills it under load, and records which writes it sent and which were acknowledged or refused."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from lab.pairs import Pairs, StoredPairs
from precast.store.engine.connect import connect
from precast.store.engine.location import Location, PostgresLocation

ROOT = Path(__file__).resolve().parent.parent


class WriteLog(msgspec.Struct):
    """The numbers of the writes that a writer process reported."""

    sent: set[int] = msgspec.field(default_factory=set)
    acked: set[int] = msgspec.field(default_factory=set)
    failed: dict[int, str] = msgspec.field(default_factory=dict)

    @property
    def unacknowledged(self) -> set[int]:
        """The writes without an acknowledgement: in flight at the kill, or reported as failed."""
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


def write_until(location: Location, first: int, acks: int, kill: Callable[["subprocess.Popen[str]"], None]) -> WriteLog:
    """Run a writer until it has reported this many acknowledgements, then call `kill`, and return everything the writer reported."""
    log = WriteLog()
    with start_writer(location, "--first", str(first)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith("\n"):
                log.note(line)
            if len(log.acked) >= acks:
                break
        kill(process)
        # Lines that the writer printed before the kill are still in the pipe; an incomplete line does not count.
        for line in process.stdout:
            if line.endswith("\n"):
                log.note(line)
    return log


async def read_pairs(location: Location) -> StoredPairs:
    database = await connect(location)
    try:
        return await Pairs(database).read()
    finally:
        await database.close()

"""The flush precedes the acknowledgement, observed with strace: kill -9 cannot show it, because the kernel still has the written pages."""

import asyncio
import itertools
import re
import signal
import subprocess
from pathlib import Path

import pytest

from lab.postgres import PostgresServer
from lab.strace_log import Call, read_calls
from lab.writer_process import WriteLog, read_pairs, start_writer
from precast.store.engine.connect import connect
from precast.store.engine.location import Location, PostgresLocation, SqliteLocation
from precast.store.schema.schema import Schema

COUNT = 20
FLUSHES = ("fsync", "fdatasync")
WRITES = ("write", "pwrite64", "pwritev", "writev")


async def migrate(location: Location) -> None:
    database = await connect(location, may_create=True)
    await Schema(database).expand()
    await database.close()


def trace_writer(location: Location, trace: Path, calls: str) -> list[Call]:
    """Run a single writer under strace, and return its system calls."""
    prefix = ("strace", "-f", "-y", "-s", "256", "-e", f"trace={calls}", "-o", str(trace))
    with start_writer(location, "--writers", "1", "--count", str(COUNT), prefix=prefix) as process:
        assert process.stdout is not None
        output = process.stdout.read()
    assert process.returncode == 0
    assert output.count("ack ") == COUNT
    return list(read_calls(trace))


def acknowledged(call: Call) -> bool:
    return call.name == "write" and re.match(r'1<[^>]*>, "ack ', call.args) is not None


@pytest.mark.needs("strace")
def test_sqlite_flushes_its_log_before_every_acknowledgement(tmp_path: Path) -> None:
    location = SqliteLocation(tmp_path / "precast.db")
    asyncio.run(migrate(location))
    is_flushed, flushes, acks = False, 0, 0
    for call in trace_writer(location, tmp_path / "trace", "write,pwrite64,fsync,fdatasync"):
        if "precast.db-wal>" in call.args:
            assert call.result >= 0
            is_flushed = call.name in FLUSHES
            flushes += is_flushed
        elif acknowledged(call):
            acks += 1
            assert is_flushed, f"acknowledgement {acks} came before the flush"
            is_flushed = False  # the next one needs a flush of its own
    assert acks == COUNT
    assert flushes >= COUNT


@pytest.mark.needs("strace")
def test_sqlite_flush_that_fails_is_never_an_acknowledgement(tmp_path: Path) -> None:
    """The fifth flush fails as on a dying disk: its writer gets an error with unknown outcome, and the other writes continue."""
    location = SqliteLocation(tmp_path / "precast.db")
    asyncio.run(migrate(location))
    prefix = ("strace", "-f", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=5", "-o", "/dev/null")
    log = WriteLog()
    with start_writer(location, "--writers", "1", "--count", str(COUNT), prefix=prefix) as process:
        assert process.stdout is not None
        for line in process.stdout:
            log.note(line)
    assert process.returncode == 0
    assert list(log.failed.values()) == ["STORE-008"]
    found = asyncio.run(read_pairs(location))
    assert log.acked <= found.records
    assert found.halves == set()
    assert len(log.acked) == COUNT - 1


@pytest.mark.needs("strace")
def test_postgresql_flushes_its_log_before_it_answers_a_commit(tmp_path: Path) -> None:
    with PostgresServer() as server:
        location = PostgresLocation(server.url())
        asyncio.run(migrate(location))
        trace = tmp_path / "trace"
        with subprocess.Popen(
            [
                *("strace", "-f", "-y", "-s", "64", "-o", str(trace), "-p", str(server.pid)),
                *("-e", "trace=write,pwrite64,pwritev,writev,fsync,fdatasync,sendto"),
            ],
            stderr=subprocess.PIPE,
        ) as tracer:
            assert tracer.stderr is not None
            assert b"attached" in tracer.stderr.readline()
            with start_writer(location, "--writers", "1", "--count", str(COUNT)) as writer:
                writer.wait(60)
            tracer.send_signal(signal.SIGINT)
    answers: list[bool] = []
    is_flushed = False
    for call in read_calls(trace):
        if "/pg_wal/" in call.args and call.name in (*FLUSHES, *WRITES):
            is_flushed = call.name in FLUSHES
        elif call.name == "sendto" and "COMMIT\\0" in call.args:
            answers.append(is_flushed)
            is_flushed = False
    # On opening, the writer reads settings and clock: transactions with nothing to flush. From its first pair on it only writes.
    writes = list(itertools.dropwhile(lambda flushed: not flushed, answers))
    assert writes == [True] * COUNT


@pytest.mark.needs("strace")
def test_writer_acknowledges_only_what_postgresql_has_committed(postgres: PostgresServer, tmp_path: Path) -> None:
    location = PostgresLocation(postgres.url(postgres.create_database()))
    asyncio.run(migrate(location))
    has_answer, acks = False, 0
    for call in trace_writer(location, tmp_path / "trace", "write,recvfrom,read"):
        if call.name == "recvfrom" and "COMMIT\\0" in call.args:
            has_answer = True
        elif acknowledged(call):
            acks += 1
            assert has_answer, f"acknowledgement {acks} came before the commit"
            has_answer = False
    assert acks == COUNT

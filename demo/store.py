"""The store: acknowledged writes survive a kill on both databases, and a backup moves them from one to the other."""

import signal

from demo.presenter import Presenter
from lab.postgres import PostgresServer
from lab.writer_process import WriteLog, start_writer
from precast.store.engine.location import parse

ROUNDS = 3
ACKS = 1_500


def show(presenter: Presenter, server: PostgresServer) -> None:
    presenter.title("The store: acknowledged writes survive kill -9")
    for name, location, shown in (
        ("SQLite", str(presenter.directory / "precast.db"), "precast.db"),
        ("PostgreSQL", server.url(server.create_database()), "postgresql://…"),
    ):
        presenter.run("db", "migrate", "--database", location, shown=f"db migrate --database {shown}")
        presenter.run("db", "check", "--database", location, shown=f"db check --database {shown}")
        crash(presenter, name, location)
    move(presenter, server)


def crash(presenter: Presenter, name: str, location: str) -> None:
    """Kill a process with 64 writers several times, and check that the database has every acknowledged write."""
    acked: set[int] = set()
    for number in range(ROUNDS):
        log = write_and_kill(presenter, name, location, first=1 + number * 1_000_000)
        acked |= log.acked
        in_flight = len(log.unacknowledged)
        presenter.event(f"kill -9 after {len(log.acked):,} acknowledgements, with {in_flight} writes in flight")
    stored = {int(item["key"]) for item in presenter.ask("db", "work", "--items", "--database", location)}
    presenter.claim(
        f"{name}: all {len(acked):,} acknowledged writes are stored, read back with `precast db work`",
        acked <= stored,
    )


def write_and_kill(presenter: Presenter, name: str, location: str, first: int) -> WriteLog:
    log = WriteLog()
    with start_writer(parse(location), "--first", str(first)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            log.note(line)
            presenter.bar(f"{name}, 64 writers", len(log.acked), ACKS, "acknowledged")
            if len(log.acked) >= ACKS:
                break
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            if line.endswith("\n"):
                log.note(line)
    return log


def move(presenter: Presenter, server: PostgresServer) -> None:
    """Back up one database and restore the backup into the other."""
    presenter.title("Migration: back up SQLite, restore into PostgreSQL")
    target = server.url(server.create_database())
    presenter.run("db", "backup", "monday.backup", "--database", "precast.db")
    presenter.run(
        *("db", "restore", "monday.backup", "--database", target),
        shown="db restore monday.backup --database postgresql://…",
    )
    before = presenter.ask("db", "work", "--items", "--database", "precast.db")
    after = presenter.ask("db", "work", "--items", "--database", target)
    presenter.claim(
        f"the {len(after):,} items in PostgreSQL equal the {len(before):,} items in SQLite", before == after
    )

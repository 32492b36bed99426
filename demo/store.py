"""The store: what is acknowledged survives, on both databases, and moves from one to the other."""

import signal

from demo.stage import Stage
from lab.killing import Books, start_writer
from lab.postgres import PostgresServer
from precast.store.engine.location import parse

ROUNDS = 3
ACKS = 1_500


def show(stage: Stage, server: PostgresServer) -> None:
    stage.title("The store: what is acknowledged survives kill -9")
    for name, location, shown in (
        ("SQLite", str(stage.directory / "precast.db"), "precast.db"),
        ("PostgreSQL", server.url(server.create_database()), "postgresql://…"),
    ):
        stage.run("db", "migrate", "--database", location, shown=f"db migrate --database {shown}")
        stage.run("db", "check", "--database", location, shown=f"db check --database {shown}")
        crash(stage, name, location)
    move(stage, server)


def crash(stage: Stage, name: str, location: str) -> None:
    """Kill a process with 64 writers in it, again and again, and count what is there."""
    promised: set[int] = set()
    for number in range(ROUNDS):
        books = write_and_kill(stage, name, location, first=1 + number * 1_000_000)
        promised |= books.acked
        under_way = len(books.unacknowledged)
        stage.event(f"kill -9 after {len(books.acked):,} acknowledgements, with {under_way} writes under way")
    found = {int(item["key"]) for item in stage.ask("db", "work", "--items", "--database", location)}
    stage.claim(
        f"{name}: all {len(promised):,} acknowledged writes are there, read back with `precast db work`",
        promised <= found,
    )


def write_and_kill(stage: Stage, name: str, location: str, first: int) -> Books:
    books = Books()
    with start_writer(parse(location), "--first", str(first)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            books.note(line)
            stage.bar(f"{name}, 64 writers", len(books.acked), ACKS, "acknowledged")
            if len(books.acked) >= ACKS:
                break
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            if line.endswith("\n"):
                books.note(line)
    return books


def move(stage: Stage, server: PostgresServer) -> None:
    """A backup of one database fills the other."""
    stage.title("Moving house: back up SQLite, restore into PostgreSQL")
    target = server.url(server.create_database())
    stage.run("db", "backup", "monday.backup", "--database", "precast.db")
    stage.run(
        *("db", "restore", "monday.backup", "--database", target),
        shown="db restore monday.backup --database postgresql://…",
    )
    before = stage.ask("db", "work", "--items", "--database", "precast.db")
    after = stage.ask("db", "work", "--items", "--database", target)
    stage.claim(f"the {len(after):,} items there are the {len(before):,} that were here", before == after)

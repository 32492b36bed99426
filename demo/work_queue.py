"""The work queue: every item is completed exactly once although workers are killed; an item that cannot be done becomes a dead letter."""

import asyncio
import selectors
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from demo.presenter import Presenter
from lab.worker import KIND, RESULTS
from precast.store.engine.connect import connect
from precast.store.engine.location import parse
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.streams import Streams

ITEMS = 240
VICTIMS = {60: "ann", 120: "ben"}


def show(presenter: Presenter, location: str, name: str) -> None:
    presenter.title(f"The work queue on {name}: three workers, two are killed")
    presenter.run("db", "migrate", "--database", location, shown="db migrate")
    asyncio.run(enqueue(location))
    presenter.run("db", "work", "--database", location, shown="db work")
    finished = work(presenter, location)
    results = asyncio.run(read_results(location))
    presenter.claim(
        f"every item was completed exactly once: {len(results)} results for {ITEMS} items",
        len(results) == len(set(results)) == ITEMS,
    )
    presenter.claim("no worker reported a result before it was committed", finished <= set(results))
    presenter.run("db", "work", "--dead", "--database", location, shown="db work --dead")
    presenter.run(
        "db",
        "work",
        "--requeue",
        KIND.name,
        "poison",
        "--database",
        location,
        shown=f"db work --requeue {KIND.name} poison",
    )


async def enqueue(location: str) -> None:
    database = await connect(parse(location))
    queue = WorkQueue(database, [KIND])
    keys = [f"errand-{number:03}" for number in range(ITEMS)] + ["poison"]
    await asyncio.gather(*(queue.enqueue(KIND.name, key, b"", lane=key[-1]) for key in keys))
    await database.close()


async def read_results(location: str) -> list[str]:
    database = await connect(parse(location))
    page = await Streams(database).read(RESULTS, 0, limit=10_000)
    await database.close()
    return [record.body.decode() for record in page.records]


def work(presenter: Presenter, location: str) -> set[str]:
    """Run three workers, kill two of them, and return the keys of the items that they reported as done."""
    workers = {owner: start_worker(location, owner) for owner in ("ann", "ben", "eve")}
    done: list[str] = []
    with selectors.DefaultSelector() as outputs:
        for owner, worker in workers.items():
            outputs.register(_pipe(worker), selectors.EVENT_READ, owner)
        while outputs.get_map():
            for key, _ in outputs.select():
                line = key.fileobj.readline()  # type: ignore[union-attr] # pipes, registered above
                if not line.endswith("\n"):
                    outputs.unregister(key.fileobj)
                    continue
                done.append(line.split()[1])
                presenter.bar("items", len(done), ITEMS, f"done, the last by {key.data}")
                if victim := VICTIMS.get(len(done)):
                    workers[victim].send_signal(signal.SIGKILL)
                    presenter.event(
                        f"kill -9 of {victim}, which has a lease on up to 4 items; others can claim them when it expires"
                    )
    for worker in workers.values():
        worker.wait(60)
        _pipe(worker).close()
    return set(done)


def start_worker(location: str, owner: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "lab.worker", location, "--owner", owner]
    return subprocess.Popen(
        command, cwd=Path(__file__).resolve().parent.parent, stdout=subprocess.PIPE, text=True, bufsize=1
    )


def _pipe(process: "subprocess.Popen[str]") -> IO[str]:
    assert process.stdout is not None
    return process.stdout

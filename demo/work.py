"""The work queue: every errand is done once, whoever dies on the way; what cannot be done is kept for people to look at."""

import asyncio
import selectors
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

from demo.stage import Stage
from lab.worker import KIND, RESULTS
from precast.store.engine.connect import connect
from precast.store.engine.location import parse
from precast.store.queue.queue import WorkQueue
from precast.store.sessions.streams import Streams

ERRANDS = 240
VICTIMS = {60: "ann", 120: "ben"}


def show(stage: Stage, location: str, name: str) -> None:
    stage.title(f"The work queue on {name}: three workers, two of them will not survive")
    stage.run("db", "migrate", "--database", location, shown="db migrate")
    asyncio.run(enqueue(location))
    stage.run("db", "work", "--database", location, shown="db work")
    finished = work(stage, location)
    results = asyncio.run(read_results(location))
    stage.claim(
        f"every errand was done exactly once: {len(results)} results for {ERRANDS} errands",
        len(results) == len(set(results)) == ERRANDS,
    )
    stage.claim("no worker said it was done before it was stored", finished <= set(results))
    stage.run("db", "work", "--dead", "--database", location, shown="db work --dead")
    stage.run(
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
    keys = [f"errand-{number:03}" for number in range(ERRANDS)] + ["poison"]
    await asyncio.gather(*(queue.enqueue(KIND.name, key, b"", lane=key[-1]) for key in keys))
    await database.close()


async def read_results(location: str) -> list[str]:
    database = await connect(parse(location))
    page = await Streams(database).read(RESULTS, 0, limit=10_000)
    await database.close()
    return [record.body.decode() for record in page.records]


def work(stage: Stage, location: str) -> set[str]:
    """Let three workers run, kill two; what they said was done."""
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
                stage.bar("errands", len(done), ERRANDS, f"done, the last by {key.data}")
                if victim := VICTIMS.get(len(done)):
                    workers[victim].send_signal(signal.SIGKILL)
                    stage.event(
                        f"kill -9 of {victim}, who held a lease on up to 4 errands; they will be anyone's in a moment"
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

"""A worker process: it claims items, waits a short time, and stores the result and the completion in one transaction.

    python -m lab.worker LOCATION --owner NAME

It prints `done KEY` after the commit. An item whose key begins with `poison` always fails. The process ends when the queue is empty
except for dead letters.
"""

import argparse
import asyncio
import os

from precast.base.errors import PrecastError
from precast.store.engine.connect import connect
from precast.store.engine.database import Database
from precast.store.engine.location import parse
from precast.store.engine.query import Transaction
from precast.store.queue.kinds import Claim, WorkKind
from precast.store.queue.queue import WorkQueue, topic
from precast.store.sessions.streams import Streams

KIND = WorkKind("errand", max_attempts=2, pause_first_s=0.2)
RESULTS = "errands-done"
LEASE_S = 1.5
EFFORT_S = 0.02


class LostClaim(Exception):
    """Another worker has claimed the item; the result is dropped."""


async def do(database: Database, queue: WorkQueue, claim: Claim) -> None:
    streams = Streams(database)

    def finish() -> Transaction[None]:
        yield from streams.append_records(RESULTS, [claim.key.encode()])
        if not (yield from queue.complete_claim(claim)):
            raise LostClaim(claim.key)

    await asyncio.sleep(EFFORT_S)
    if claim.key.startswith("poison"):
        await queue.fail(claim, "this errand cannot be done")
        return
    try:
        await database.write(finish)
    except LostClaim:
        return
    os.write(1, f"done {claim.key}\n".encode())


async def run(location: str, owner: str) -> None:
    database = await connect(parse(location))
    queue = WorkQueue(database, [KIND])
    with database.wakeups.subscribe(topic(KIND.name)) as wakeup:
        while await queue.list_waiting(limit=1):
            try:
                claims = await queue.claim(KIND.name, owner, limit=4, lease_s=LEASE_S)
                for claim in claims:
                    await do(database, queue, claim)
            except PrecastError as error:
                if not error.consequence.retry:
                    raise
                claims = []
            if not claims:
                await wakeup.wait(0.1)
    await database.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("location")
    parser.add_argument("--owner", required=True)
    args = parser.parse_args()
    asyncio.run(run(args.location, args.owner))


if __name__ == "__main__":
    main()

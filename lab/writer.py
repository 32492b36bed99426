"""A process that writes pairs as fast as it can, and prints which it has sent and which were acknowledged.

    python -m lab.writer LOCATION --first N --writers N [--count N]

It prints `sent N` before a write and `ack N` after its commit, each with one system call, so that the test that kills the process
knows exactly which writes were acknowledged. If a write fails, the writer prints `fail N CODE` and continues.
"""

import argparse
import asyncio
import itertools
import os
from collections.abc import Iterator

from lab.pairs import Pairs
from precast.base.errors import PrecastError
from precast.store.engine.connect import connect
from precast.store.engine.location import parse


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


async def keep_writing(pairs: Pairs, numbers: Iterator[int]) -> None:
    for number in numbers:
        say(f"sent {number}")
        try:
            await pairs.write(number)
        except PrecastError as error:
            say(f"fail {number} {error.code}")
            await asyncio.sleep(0.01)
        else:
            say(f"ack {number}")


async def run(location: str, first: int, writers: int, count: int | None) -> None:
    database = await connect(parse(location))
    pairs = Pairs(database)
    numbers = itertools.count(first) if count is None else iter(range(first, first + count))
    async with asyncio.TaskGroup() as tasks:
        for _ in range(writers):
            tasks.create_task(keep_writing(pairs, numbers))
    await database.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("location")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--writers", type=int, default=64)
    parser.add_argument("--count", type=int)
    args = parser.parse_args()
    asyncio.run(run(args.location, args.first, args.writers, args.count))


if __name__ == "__main__":
    main()

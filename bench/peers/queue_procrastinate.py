"""Jobs through procrastinate on PostgreSQL: deferred one by one, then worked off by one worker. Runs in .venv-peers.

usage: queue_procrastinate.py URL COUNT CONCURRENCY
"""

import asyncio
import json
import logging
import sys
import time

import procrastinate  # type: ignore[import-not-found,unused-ignore]


async def run(url: str, count: int, concurrency: int) -> dict[str, float]:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, max_size=concurrency + 2))

    @app.task(queue="bench")  # type: ignore[untyped-decorator,unused-ignore]
    async def nothing(number: int) -> None:
        pass

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        started = time.perf_counter()
        numbers = iter(range(count))

        async def defer() -> None:
            for number in numbers:
                await nothing.defer_async(number=number)

        await asyncio.gather(*(defer() for _ in range(concurrency)))
        deferred = time.perf_counter()
        await app.run_worker_async(queues=["bench"], concurrency=concurrency, wait=False, listen_notify=False)
        worked = time.perf_counter()
    return {"enqueue_per_s": count / (deferred - started), "work_per_s": count / (worked - deferred)}


def main() -> None:
    logging.disable(logging.CRITICAL)
    print(json.dumps(asyncio.run(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))


if __name__ == "__main__":
    main()

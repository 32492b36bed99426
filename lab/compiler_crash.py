"""A compiler that dies after its compile: `python -m lab.compiler_crash LOCATION before|inside`.

It takes the first compile from the queue, and kills itself (SIGKILL) before the transaction that stores the result, or inside it.
"""

import asyncio
import os
import signal
import sys
from typing import Any

from lab.compile_services import CompileServices
from precast.store.engine.connect import connect
from precast.store.engine.location import parse
from precast.store.engine.query import Transaction


async def run(location: str, when: str) -> None:
    services = CompileServices(await connect(parse(location)))
    store = services.compiler._store

    def store_and_die(*values: Any) -> Transaction[None]:
        if when == "inside":
            yield from store(*values)
        assert services.compiler.compiles == 1, "the process dies after its compile"
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(services.compiler, "_store", store_and_die)  # noqa: B010 - the only place where the crash can be injected
    await services.compiler.work_off("doomed")


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))

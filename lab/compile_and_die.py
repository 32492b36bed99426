"""A compiler that is killed after its compile: `python -m lab.compile_and_die LOCATION before|inside`.

It does the first compile that is waited for, and kills itself (SIGKILL) before it stores anything, or inside the transaction that
stores it.
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
    compiling = CompileServices(await connect(parse(location)))
    store = compiling.compiler._store

    def dying(*values: Any) -> Transaction[None]:
        if when == "inside":
            yield from store(*values)
        assert compiling.compiler.compiles == 1, "it dies after its compile"
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(compiling.compiler, "_store", dying)  # noqa: B010 - the one place to die at
    await compiling.compiler.work_off("doomed")


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))

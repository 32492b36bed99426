"""The program that runs one plug-in: `python -I plugin_child.py FILE`. It imports no module of Precast.

It prints the facts as one JSON document. The output of the plug-in itself goes to standard error, and an error of it is one line there.
"""

import json
import os
import resource
import runpy
import sys
import traceback
from typing import Any

MAX_MEMORY_BYTES = 1 << 30


def main(path: str) -> int:
    _limit(resource.RLIMIT_AS, MAX_MEMORY_BYTES)
    _limit(resource.RLIMIT_CORE, 0)
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        data = json.dumps(_facts(path), allow_nan=False).encode()
    except BaseException as error:  # noqa: BLE001 - the boundary to the plug-in: even its SystemExit is an error
        print(f"{type(error).__name__}: {error}{_line(error, path)}", file=sys.stderr)  # noqa: T201
        return 1
    with os.fdopen(answer, "wb") as out:
        out.write(data)
    return 0


def _limit(kind: int, limit: int) -> None:
    """Lower a resource limit, unless it is lower already."""
    _, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY or hard > limit:
        resource.setrlimit(kind, (limit, limit))


def _facts(path: str) -> dict[str, Any]:
    function = runpy.run_path(path).get("facts")
    if not callable(function):
        raise TypeError("it has no function facts()")
    facts = function()
    if not isinstance(facts, dict):
        raise TypeError(f"facts() returned a {type(facts).__name__}, not a dict")
    return facts


def _line(error: BaseException, path: str) -> str:
    """The line of the plug-in that raised an error, for the message."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f" (line {lines[-1]})" if lines else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

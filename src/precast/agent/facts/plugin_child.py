"""The program that runs one plug-in: `python -I plugin_child.py FILE`. It imports nothing of Precast.

It prints the facts as one JSON document. What the plug-in itself prints goes to standard error, and an error in it is one line there.
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
    except BaseException as error:  # noqa: BLE001 - the boundary to the plug-in: also its SystemExit is an error
        print(f"{type(error).__name__}: {error}{_line(error, path)}", file=sys.stderr)  # noqa: T201
        return 1
    with os.fdopen(answer, "wb") as out:
        out.write(data)
    return 0


def _limit(what: int, most: int) -> None:
    """Lower a limit, unless it is lower already."""
    _, hard = resource.getrlimit(what)
    if hard == resource.RLIM_INFINITY or hard > most:
        resource.setrlimit(what, (most, most))


def _facts(path: str) -> dict[str, Any]:
    function = runpy.run_path(path).get("facts")
    if not callable(function):
        raise TypeError("it has no function facts()")
    found = function()
    if not isinstance(found, dict):
        raise TypeError(f"facts() returned a {type(found).__name__}, not a dict")
    return found


def _line(error: BaseException, path: str) -> str:
    """Where in the plug-in it happened."""
    lines = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == path]
    return f" (line {lines[-1]})" if lines else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

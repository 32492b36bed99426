"""The program that runs one plug-in: `python -I plugin_child.py FILE [CONFINEMENT CALLS]`. It imports no module of Precast.

The collector has checked and read the file, and sends its text to standard input: what was checked is what is run, and a confined
process need not be able to read it. The program prints the facts as one JSON document. The output of the plug-in itself goes to standard
error, and an error of it is one line there.
"""

import json
import os
import resource
import runpy
import sys
import traceback
from typing import Any

MAX_MEMORY_BYTES = 1 << 30
# The exit code if the process cannot be confined; then nothing of the plug-in was run.
NOT_CONFINED = 97


def main(path: str, confinement: str = "", calls: str = "") -> int:
    source = sys.stdin.buffer.read()
    if confinement:
        try:
            runpy.run_path(confinement)["confine"](bytes.fromhex(calls))
        except OSError as error:
            print(error.strerror or error, file=sys.stderr)  # noqa: T201
            return NOT_CONFINED
    _limit(resource.RLIMIT_AS, MAX_MEMORY_BYTES)
    _limit(resource.RLIMIT_CORE, 0)
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        data = json.dumps(_facts(path, source), allow_nan=False).encode()
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


def _facts(path: str, source: bytes) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "plugin", "__file__": path, "__builtins__": __builtins__}
    exec(compile(source, path, "exec"), names)  # noqa: S102 - running the plug-in is what this program is for
    function = names.get("facts")
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
    sys.exit(main(*sys.argv[1:]))

"""The process that runs the Ruby facts of all modules: `python -I -m precast.agent.facts.ruby.child [CALLS]`.

It reads a request from standard input: the texts of the files, which the collector has checked, and the facts that are known. With CALLS,
a filter of system calls, it confines itself before it runs any of them, as Python plug-ins do. Everything it needs of Precast is loaded
before that. It prints one JSON document for each fact and each problem, as soon as it knows them: what a crash leaves behind counts.
"""

import json
import os
import resource
import sys
from typing import Any

from precast.agent.facts.plugin_child import MAX_MEMORY_BYTES, NOT_CONFINED
from precast.agent.facts.ruby.system import NodeSystem
from precast.lang.legacy_facts import legacy_facts
from precast.lang.module_facts import evaluation
from precast.lang.settings import PUPPET_VERSION

_RECURSION_LIMIT = 20_000


def main(calls: str = "", confinement: str = "") -> int:
    request = json.loads(sys.stdin.buffer.read())
    if confinement:
        from precast.agent.facts.plugin_confinement import confine

        try:
            confine(bytes.fromhex(calls))
        except OSError as error:
            print(error.strerror or error, file=sys.stderr)  # noqa: T201
            return NOT_CONFINED
    _limit(resource.RLIMIT_AS, MAX_MEMORY_BYTES)
    _limit(resource.RLIMIT_CORE, 0)
    sys.setrecursionlimit(_RECURSION_LIMIT)
    answer = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(answer, "w", encoding="utf-8", errors="replace") as out:
        _answer(request, out)
    return 0


def _answer(request: dict[str, Any], out: Any) -> None:
    machine: dict[str, Any] = request["machine"]
    known = {**legacy_facts({**machine, **request["added"]}), "puppetversion": PUPPET_VERSION, **machine}
    given = evaluation.Given(request["files"], known, request["added"], request["total_s"])
    for found in evaluation.evaluate(NodeSystem(), given):
        out.write(json.dumps(found, allow_nan=False) + "\n")
        out.flush()


def _limit(kind: int, limit: int) -> None:
    """Lower a resource limit, unless it is lower already."""
    _, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY or hard > limit:
        resource.setrlimit(kind, (limit, limit))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

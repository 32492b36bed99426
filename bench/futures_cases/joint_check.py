"""The joint check of a large orchestration, in its own process, as a server has it done.

Every node has a catalog of its own with 200 resources in chains, two promises, and two resources that await values of other nodes; for
every tenth node one of these awaits all values of a group. The catalogs reach the process as bytes, as from the database.
"""

import resource
import time
from typing import NamedTuple

from precast.base.confinement.confine import Level
from precast.catalog.body import Body, ResourceData
from precast.services.futures.checking.messages import CheckedPart, JointRequest
from precast.services.futures.checking.process import check_in_child

GROUP = 10


class CheckFigures(NamedTuple):
    """One check: its time, the CPU time and the memory of its process, and what it found."""

    nodes: int
    resources: int
    futures: int
    transitions: int
    wall_s: float
    cpu_s: float
    peak_mb: float
    is_proven: bool


async def measure_check(nodes: int, resources: int) -> CheckFigures:
    """Check an orchestration of so many nodes with so many resources each, in which two values of each node are awaited."""
    documents = {str(number): _catalog(number, resources).encoded() for number in range(nodes)}
    parts = [CheckedPart(f"node{number}", number) for number in range(nodes)]

    async def read(digest: str) -> bytes:
        return documents[digest]

    before, started_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    answer = await check_in_child(JointRequest(parts, [], nodes), list(documents), read, Level.BEST)
    wall_s, after = time.perf_counter() - started_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    is_proven = not answer.problems and not answer.reason
    return CheckFigures(
        nodes, resources, answer.waits, answer.transitions, wall_s, cpu_s, after.ru_maxrss / 1024, is_proven
    )


def _catalog(number: int, count: int) -> Body:
    """The catalog of a node: files in chains, two that await values, and two promises."""
    files = []
    for at in range(count - 2):
        parameters: dict[str, object] = {"ensure": "file", "mode": "0644"}
        if at:
            parameters["require"] = [f"File[/srv/{at - 1 if at % 3 else at // 2}]"]
        if number and at == count // 3:
            parameters["content"] = {"__ptype": "Precast::Future", "__pvalue": f"address/{number - 1}"}
        elif number and at == count // 2:
            parameters["content"] = _group(number) if number % GROUP == 0 else _ready(number)
        files.append(ResourceData("File", f"/srv/{at}", parameters, ("file",)))
    promises = [
        ResourceData("Promise", key, {"value": "x", "require": [f"File[/srv/{at}]"]}, ("promise",))
        for key, at in ((f"address/{number}", count // 4), (f"ready/{number // GROUP}", count - 5))
    ]
    return Body((*files, *promises), (), (), (), {})


def _group(number: int) -> dict[str, object]:
    """All values of the group before that of the node."""
    return {"__ptype": "Precast::Futures", "__pvalue": f"ready/{number // GROUP - 1}"}


def _ready(number: int) -> dict[str, object]:
    return {"__ptype": "Precast::Future", "__pvalue": f"address/{(number - 1) // 2}"}

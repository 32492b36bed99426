"""Parts of a plan in words, the same in drawings, explanations and exports."""

from collections.abc import Sequence

from precast.plans.model import PlanGroup
from precast.wire.jobs.programs import (
    AnyTest,
    CatalogWork,
    CommandTest,
    FactTest,
    FileTest,
    HttpTest,
    ManifestWork,
    ResourceTest,
    TcpTest,
)


def describe_test(test: AnyTest) -> str:
    """What must be so for a test to pass."""
    match test:
        case CommandTest():
            return f"command ends with 0: {' '.join(test.cmd.split())}"
        case HttpTest():
            codes = " or ".join(map(str, test.status or [200]))
            return f"GET {test.url} answers {codes}" + (f" and contains {test.contains!r}" if test.contains else "")
        case TcpTest():
            return f"{test.host}:{test.port} accepts connections"
        case FileTest():
            state = (
                "exists" if test.state == "present" else "is absent" if test.state == "absent" else f"is a {test.state}"
            )
            return f"{test.path} {state}" + (f" and contains {test.contains!r}" if test.contains else "")
        case FactTest():
            return f"fact {test.fact} " + ("exists" if test.equals is None else f"is {test.equals!r}")
        case ResourceTest():
            return f"{test.type.capitalize()}[{test.title}] is in sync"
        case _:
            return f"a no-op run of {_describe_part(test.work)} changes nothing"


def _describe_part(work: CatalogWork | ManifestWork | None) -> str:
    if isinstance(work, ManifestWork):
        return work.entry
    parts = [*work.stages, *work.classes, *work.tags] if work is not None else []
    return f"{', '.join(parts)} of the catalog" if parts else "the catalog"


def describe_tolerance(group: PlanGroup) -> str:
    """How many nodes of a group may fail before the plan stops."""
    tolerance = group.fault_tolerance
    if tolerance is None:
        return "any number of its nodes may fail"
    if tolerance.startswith("-"):
        return f"all but {tolerance[1:]} of its nodes may fail"
    return "none of its nodes may fail" if tolerance.strip("0%") == "" else f"up to {tolerance} of its nodes may fail"


def count(number: int, word: str) -> str:
    """A number with its word: `1 task`, `2 tasks`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def list_names(names: Sequence[str], most: int = 6) -> str:
    """Names in a line; of many only the first, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more

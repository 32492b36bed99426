"""Tests that look at the node itself: a path, or a fact."""

import stat
from datetime import UTC, datetime

from precast.agent.catalog.enforcement import trusts_code
from precast.agent.facts import external, plugins
from precast.agent.facts.collection import Collector, all_sources
from precast.agent.facts.fact_paths import find
from precast.agent.facts.machine import Machine, NoKernel
from precast.agent.tasks.context import StepOutcome, TaskContext, failed
from precast.base.errors import PrecastError
from precast.resources.files import safe_reads
from precast.resources.files.safe_paths import ParentCache
from precast.wire.jobs.programs import FactTest, FileTest

MAX_READ_BYTES = 16 * 1024 * 1024
MAX_SHOWN_CHARS = 200
PASSED = StepOutcome(True)


def check_file(context: TaskContext, test: FileTest) -> StepOutcome:
    """Passes if a path is of a kind, and a regular file contains a text. Raises for a path that another user could have put there."""
    if not test.path.startswith("/"):
        return failed(f"{test.path} is no absolute path", is_final=True)
    parents = safe_reads.root_parents(str(context.root))
    found = _describe(parents, test)
    if test.state not in (found, "present" if found != "absent" else "absent"):
        return failed(f"{test.path} is {_WORDS[found]}, and not {_WORDS[test.state]}")
    if not test.contains:
        return PASSED
    content = safe_reads.read_file(parents, test.path, max_bytes=MAX_READ_BYTES)
    if content is None or test.contains.encode() not in content.data:
        return failed(f"{test.path} does not contain {test.contains!r}")
    return PASSED


_WORDS = {
    "absent": "absent",
    "present": "present",
    "file": "a file",
    "directory": "a directory",
    "link": "a link",
    "other": "a device, pipe or socket",
}


def _describe(parents: ParentCache, test: FileTest) -> str:
    """What is at the path: a link is followed, unless the test is about a link."""
    status = safe_reads.find_status(parents, test.path)
    if status is not None and stat.S_ISLNK(status.st_mode):
        if test.state in ("link", "present", "absent"):
            return "link"
        status = safe_reads.find_status(parents, test.path, is_followed=True)
    if status is None:
        return "absent"
    if stat.S_ISREG(status.st_mode):
        return "file"
    return "directory" if stat.S_ISDIR(status.st_mode) else "other"


def check_fact(context: TaskContext, test: FactTest) -> StepOutcome:
    """Passes if a fact, collected now, has a value. If it is missing, warnings of the collection may tell why."""
    collected = _collector(context).collect()
    try:
        value = find(collected.facts, test.fact)
    except LookupError:
        return failed("; ".join([f"there is no fact {test.fact}", *map(_text, collected.warnings)]))
    if test.equals is not None and value != test.equals:
        return failed(f"the fact {test.fact} is {_shown(value)}, and not {_shown(test.equals)}")
    return PASSED


def _collector(context: TaskContext) -> Collector:
    settings, root = context.settings, context.root
    if str(root.resolve()) == "/":
        from precast.agent.facts.running_kernel import RunningKernel

        machine = Machine(root, RunningKernel())
    else:
        machine = Machine(root, NoKernel())
    sources = all_sources(
        machine,
        [str(path) for path in settings.facts_d] or external.DIRECTORIES,
        [str(path) for path in settings.plugins] or plugins.DIRECTORIES,
        lambda: trusts_code(root, datetime.now(UTC), is_noop_configured=settings.noop),
    )
    return Collector(sources)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"


def _text(warning: PrecastError) -> str:
    return f"{warning.message} [{warning.code}]"

"""Applies a catalog with Puppet and with Precast, and gives both outcomes in one form: tree, status, messages."""

import contextlib
import hashlib
import json
import os
import re
import stat
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from precast.agent.applying.engine import Engine
from precast.agent.applying.machine import Machine
from precast.agent.applying.options import RunOptions
from precast.agent.applying.plan import make_plan
from precast.agent.applying.resource_memory import ResourceMemory
from precast.base.clock import SystemClock
from precast.catalog.document import unseal
from precast.resources.contents import EnvironmentContents
from precast.wire.reports.events import ResourceReport, Status

_COUNT = re.compile(r"from \d+ events?$")
ORACLE = Path(__file__).with_name("puppet.rb")


class Outcome(NamedTuple):
    """The outcome of one run: the messages of each changed resource, and the reasons of failures."""

    messages: dict[str, list[str]]
    failed: frozenset[str]
    skipped: frozenset[str]
    reasons: tuple[str, ...] = ()

    @property
    def changed(self) -> frozenset[str]:
        return frozenset(self.messages)


def with_puppet(
    state: Path, module_path: Sequence[Path], catalogs: Iterable[Path], roots: Sequence[Path]
) -> list[Outcome]:
    """Apply each catalog in turn with Puppet."""
    command = ["ruby", str(ORACLE), str(state), ":".join(map(str, module_path)), *map(str, catalogs)]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=110, env={**os.environ, "LC_ALL": "C.UTF-8"}
    )
    lines = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith('{"catalog"')]
    assert len(lines) == len(roots), f"{ended.stdout[-2000:]}\n{ended.stderr[-3000:]}"
    return [_of_puppet(line, str(root)) for line, root in zip(lines, roots, strict=True)]


def _of_puppet(line: dict[str, Any], root: str) -> Outcome:
    messages: dict[str, list[str]] = {}
    for ref, name, status, text in line["events"]:
        ref = _plain(ref, root)
        if status == "success":
            messages.setdefault(ref, []).append(f"{name or ''}: {_plain(text, root)}")
    failed = frozenset(_plain(ref, root) for ref in line["failed"])
    skipped = frozenset(_plain(ref, root) for ref in line["skipped"])
    reasons = tuple(_plain(f"{ref}: {text}", root) for ref, _, status, text in line["events"] if status == "failure")
    return Outcome(messages, failed, skipped, reasons)


def with_precast(
    state: Path,
    module_path: Sequence[Path],
    catalog: Path,
    root: Path,
    machine: Machine | None = None,
    bridged: frozenset[str] = frozenset(),
) -> Outcome:
    """Apply a catalog with Precast; types that are `bridged` with the module's own Ruby code, also if Precast implements them."""
    read = unseal(catalog.read_bytes(), str(catalog))
    machine = machine or Machine(
        "", str(state), SystemClock(), EnvironmentContents(module_path, read.body.content), bridged_types=bridged
    )
    reports: list[ResourceReport] = []
    with contextlib.closing(machine):
        Engine(
            make_plan(read.body, read.places, machine), machine, ResourceMemory(), RunOptions(), reports.append
        ).run()
        machine.finish()
    messages: dict[str, list[str]] = {}
    failed: set[str] = set()
    reasons: list[str] = []
    for report in reports:
        for event in report.events:
            ref = _plain(event.resource, str(root))
            if event.status == "success":
                messages.setdefault(ref, []).append(f"{event.property or ''}: {_plain(event.message, str(root))}")
            elif event.status == "failure":
                failed.add(ref)
                reasons.append(f"{ref}: {_plain(event.message, str(root))}")
    skipped = frozenset(_plain(each.resource, str(root)) for each in reports if each.status is Status.SKIPPED)
    return Outcome(messages, frozenset(failed), skipped, tuple(reasons))


def tree(root: Path) -> dict[str, tuple[str, ...]]:
    """Every path below with kind, mode, owner, and content or target."""
    found: dict[str, tuple[str, ...]] = {}
    for place in sorted(root.rglob("*")):
        seen = place.lstat()
        what = ""
        if stat.S_ISLNK(seen.st_mode):
            what = _plain(str(place.readlink()), str(root))
        elif stat.S_ISREG(seen.st_mode):
            what = hashlib.sha256(place.read_bytes()).hexdigest()
        mode = "" if stat.S_ISLNK(seen.st_mode) else f"{stat.S_IMODE(seen.st_mode):04o}"
        found[str(place.relative_to(root))] = (
            stat.filemode(seen.st_mode)[0], mode, f"{seen.st_uid}:{seen.st_gid}", what,
        )  # fmt: skip
    return found


def _plain(text: str, root: str) -> str:
    """A text without its expected differences: the root directory, and the number of events of a refresh."""
    return _COUNT.sub("from events", text.replace(root, "ROOT"))

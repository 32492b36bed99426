"""Custom facts: Python files with a function `facts() -> dict`, each run in a short-lived process of its own.

A plug-in that hangs, crashes or fills the memory costs its own facts and a warning; the daemon that collects is not the one that runs it.
"""

import functools
import sys
from pathlib import Path

from precast.agent import issues
from precast.agent.facts.directory import TrustedFile, trusted_files
from precast.agent.facts.external import printed
from precast.agent.facts.formats import from_json
from precast.agent.facts.machine import Machine
from precast.agent.facts.sources import Found, Source

# Those of modules first: what somebody put on the machine itself overrides them.
DIRECTORIES = ("/var/lib/precast/plugins/facts", "/etc/precast/facts.py.d")
LIST_S = 5.0
PLUGIN_S = 10.0

_CHILD = Path(__file__).with_name("plugin_child.py")


def listing(machine: Machine, path: str) -> Source:
    """The source that finds the plug-ins in a directory. Other files beside them are theirs: data, modules, a read-me."""

    def look(_: float) -> Found:
        files, warnings = trusted_files(machine, path)
        plugins = [file for file in files if file.path.endswith(".py")]
        if machine.is_running:
            return Found({}, warnings, [_source(file) for file in plugins])
        not_run = [issues.NOT_RUN.error(path=file.path, root=machine.root) for file in plugins]
        return Found({}, [*warnings, *not_run], [])

    return Source(path, LIST_S, look)


def _source(file: TrustedFile) -> Source:
    return Source(file.path, PLUGIN_S, functools.partial(_run, file), keeps_deadline=True)


def _run(file: TrustedFile, deadline_s: float) -> Found:
    # Isolated: neither the directory we are in nor variables of whoever started us decide what is imported.
    words = [sys.executable, "-I", str(_CHILD), file.place]
    return from_json(file.path, printed(file.path, words, deadline_s))

"""Custom facts: Python files with a function `facts() -> dict`, each run in a short-lived process of its own.

If a plug-in hangs, crashes or exhausts its memory, its own facts are missing and there is a warning; the collecting process is unaffected.
"""

import functools
import sys
from pathlib import Path

from precast.agent import issues
from precast.agent.facts.external import run_program
from precast.agent.facts.formats import from_json
from precast.agent.facts.machine import Machine
from precast.agent.facts.sources import Source, SourceResult
from precast.agent.facts.trusted_files import TrustedFile, trusted_files

# The plug-ins of modules come first: those that an administrator put on the machine override them.
DIRECTORIES = ("/var/lib/precast/plugins/facts", "/etc/precast/facts.py.d")
LIST_S = 5.0
PLUGIN_S = 10.0

_CHILD = Path(__file__).with_name("plugin_child.py")


def directory_source(machine: Machine, path: str) -> Source:
    """Make the source that finds the plug-ins in a directory. Other files beside them are ignored: data, modules, a README."""

    def list_plugins(_: float) -> SourceResult:
        files, warnings = trusted_files(machine, path)
        plugins = [file for file in files if file.path.endswith(".py")]
        if machine.is_running:
            return SourceResult({}, warnings, [_source(file) for file in plugins])
        not_run = [issues.NOT_RUN.error(path=file.path, root=machine.root) for file in plugins]
        return SourceResult({}, [*warnings, *not_run], [])

    return Source(path, LIST_S, list_plugins)


def _source(file: TrustedFile) -> Source:
    return Source(file.path, PLUGIN_S, functools.partial(_run, file), keeps_deadline=True)


def _run(file: TrustedFile, deadline_s: float) -> SourceResult:
    # Isolated mode: neither the current directory nor environment variables influence what the plug-in imports.
    argv = [sys.executable, "-I", str(_CHILD), file.real_path]
    return from_json(file.path, run_program(file.path, argv, deadline_s))

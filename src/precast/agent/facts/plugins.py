"""Custom facts: Python files with a function `facts() -> dict`, each run in a short-lived process of its own.

If a plug-in hangs, crashes or exhausts its memory, its own facts are missing and there is a warning; the collecting process is unaffected.

Whoever may deploy an environment writes the plug-ins of its modules, so these run with our rights only where the node's signed policy
permits enforcing; otherwise they run confined (`plugin_confinement`), or not at all. An administrator's own plug-ins are trusted.
"""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

from precast.agent import issues
from precast.agent.facts.external import run_program
from precast.agent.facts.formats import from_json
from precast.agent.facts.machine import Machine
from precast.agent.facts.plugin_child import NOT_CONFINED
from precast.agent.facts.sources import Source, SourceResult
from precast.agent.facts.trusted_files import TrustedFile, trusted_files

# Where the plug-ins of the node's environment are.
OF_ENVIRONMENT = "/var/lib/precast/plugins/facts"
# The plug-ins of modules come first: those that an administrator put on the machine override them.
DIRECTORIES = (OF_ENVIRONMENT, "/etc/precast/facts.py.d")
LIST_S = 5.0
PLUGIN_S = 10.0

_CHILD = Path(__file__).with_name("plugin_child.py")
_CONFINEMENT = Path(__file__).with_name("plugin_confinement.py")

# Whether the plug-ins of the environment may run with our rights. It is asked only if there are any.
MayTrust = Callable[[], bool]


def never_trust() -> bool:
    return False


def directory_source(machine: Machine, path: str, may_trust: MayTrust = never_trust) -> Source:
    """Make the source that finds the plug-ins in a directory. Other files beside them are ignored: data, modules, a README."""

    def list_plugins(_: float) -> SourceResult:
        files, warnings = trusted_files(machine, path)
        plugins = [file for file in files if file.path.endswith(".py")]
        if not machine.is_running:
            not_run = [issues.NOT_RUN.error(path=file.path, root=machine.root) for file in plugins]
            return SourceResult({}, [*warnings, *not_run], [])
        is_confined = bool(plugins) and is_of_environment(machine, path, OF_ENVIRONMENT) and not may_trust()
        if is_confined and os.geteuid() != 0:
            reason = "this process does not run as root, so it cannot run them as another user"
            return SourceResult({}, [*warnings, issues.NOT_CONFINED.error(path=path, reason=reason)], [])
        return SourceResult({}, warnings, [_source(file, is_confined) for file in plugins])

    return Source(path, LIST_S, list_plugins)


def is_of_environment(machine: Machine, path: str, directory: str) -> bool:
    """Whether a directory is that of the environment's plug-ins, also under another name."""
    given, known = (os.path.realpath(machine.resolve(place)) for place in (path, directory))
    return given == known or given.startswith(known + "/")


def _source(file: TrustedFile, is_confined: bool) -> Source:
    return Source(file.path, PLUGIN_S, functools.partial(_run, file, is_confined), keeps_deadline=True, is_added=True)


@functools.cache
def filter_of_calls() -> bytes:
    """The filter of system calls of a confined plug-in; empty on an architecture that has none."""
    from precast.base.confinement import filters  # few nodes have plug-ins that they do not trust

    architecture = filters.current_architecture()
    if architecture is None:
        return b""
    return filters.make_program_filter(architecture, may_connect=False, may_write=True, parent=os.getpid())


def _run(file: TrustedFile, is_confined: bool, deadline_s: float) -> SourceResult:
    # Isolated mode: neither the current directory nor environment variables influence what the plug-in imports.
    confinement = [str(_CONFINEMENT), filter_of_calls().hex()] if is_confined else []
    argv = [sys.executable, "-I", str(_CHILD), file.real_path, *confinement]
    data = run_program(file.path, argv, deadline_s, stdin=file.read(), failures={NOT_CONFINED: issues.NOT_CONFINED})
    return from_json(file.path, data)

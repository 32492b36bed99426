"""The Ruby facts of the environment's modules: files that a node stores beside the Python plug-ins, run together in one process.

They share a process because they depend on each other, as in Facter. Whoever may deploy the environment writes them, so they run with our
rights only where the node's signed policy permits enforcing; otherwise they run confined like Python plug-ins, or not at all.
"""

import functools
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from precast.agent import issues
from precast.agent.facts import plugins
from precast.agent.facts.machine import Facts, Machine
from precast.agent.facts.plugin_child import NOT_CONFINED
from precast.agent.facts.sources import DependentSource, KnownFacts, Source, SourceResult, only_warnings
from precast.agent.facts.trusted_files import TrustedFile, trusted_files
from precast.base import programs
from precast.base.errors import PrecastError

# Where the Ruby facts of the node's environment are: MODULE+PATH, with `+` for `/` in the path below `lib`.
OF_ENVIRONMENT: Final = "/var/lib/precast/plugins/ruby_facts"
DIRECTORIES: Sequence[str] = (OF_ENVIRONMENT,)
NAME: Final = "the Ruby facts of modules"
# The fact by which a compile knows that this node reads them: one that is absent all the same has no value here.
READ: Final = "precast_module_facts"
RUN_S: Final = 65.0
# What is left for starting the process and for its end; the facts themselves have the rest.
_START_S: Final = 3.0
_MAX_FACTS_S: Final = 60.0
_MIN_FACTS_S: Final = 1.0
_MAX_OUTPUT_BYTES: Final = 8_000_000
_MODULE: Final = "precast.agent.facts.ruby.child"


def directory_source(machine: Machine, path: str, may_trust: plugins.MayTrust = plugins.never_trust) -> DependentSource:
    """Make the source of the Ruby facts in a directory, which may use all facts that are known when its turn comes."""
    return DependentSource(
        path,
        plugins.LIST_S + RUN_S,
        lambda known: Source(path, plugins.LIST_S, functools.partial(_list, machine, path, may_trust, known)),
    )


def _list(machine: Machine, path: str, may_trust: plugins.MayTrust, known: KnownFacts, _: float) -> SourceResult:
    found, warnings = trusted_files(machine, path)
    files = [file for file in found if file.path.endswith(".rb")]
    if not files:
        return SourceResult({}, warnings, [])
    if not machine.is_running:
        return SourceResult({}, [*warnings, issues.NOT_RUN.error(path=path, root=machine.root)], [])
    is_confined = plugins.is_of_environment(machine, path, OF_ENVIRONMENT) and not may_trust()
    if is_confined and os.geteuid() != 0:
        reason = "this process does not run as root, so it cannot run them as another user"
        return SourceResult({}, [*warnings, issues.NOT_CONFINED.error(path=path, reason=reason)], [])
    run = functools.partial(_run, path, files, known, is_confined)
    return SourceResult({}, warnings, [Source(NAME, RUN_S, run, keeps_deadline=True, is_added=True)])


def _run(path: str, files: list[TrustedFile], known: KnownFacts, is_confined: bool, deadline_s: float) -> SourceResult:
    total_s = max(_MIN_FACTS_S, min(_MAX_FACTS_S, deadline_s - _START_S))
    texts, warnings = _read(files)
    request = {"files": texts, "machine": known.machine, "added": known.added, "total_s": total_s}
    confinement = [plugins.filter_of_calls().hex(), "confined"] if is_confined else []
    argv = [sys.executable, "-I", "-m", _MODULE, *confinement]
    options = programs.StartOptions(stdin=json.dumps(request).encode())
    try:
        result = programs.run(argv, deadline_s, _MAX_OUTPUT_BYTES, options)
    except TimeoutError:
        raise
    except OSError as error:
        return only_warnings(*warnings, issues.RUN_FAILED.error(path=path, reason=error.strerror or error))
    if result.code == NOT_CONFINED:
        reason = result.error.decode("utf-8", "replace").strip()[-200:]
        return only_warnings(*warnings, issues.NOT_CONFINED.error(path=path, reason=reason))
    facts, problems = _parse(result.out)
    if result.code == 0:
        facts[READ] = {"files": len(texts)}
    warnings += _warnings(problems, total_s)
    if result.code != 0 or len(result.out) > _MAX_OUTPUT_BYTES:
        lines = result.error.decode("utf-8", "replace").strip().splitlines()
        how = f"was killed by signal {-result.code}" if result.code < 0 else f"ended with code {result.code}"
        reason = f"the process {how} before all facts were read{': ' + lines[-1][:200] if lines else ''}"
        warnings.append(issues.RUN_FAILED.error(path=path, reason=reason))
    return SourceResult(facts, warnings, [])


def _read(files: list[TrustedFile]) -> tuple[dict[str, str], list[PrecastError]]:
    """The texts of the files by module and path, and a warning for each that cannot be read."""
    texts: dict[str, str] = {}
    warnings: list[PrecastError] = []
    for file in files:
        module, _, inner = file.path.rpartition("/")[2].partition("+")
        try:
            texts[f"{module}/lib/{inner.replace('+', '/')}"] = file.read().decode("utf-8", "replace")
        except PrecastError as error:
            warnings.append(error)
    return texts, warnings


def _parse(out: bytes) -> tuple[Facts, list[Mapping[str, str]]]:
    """The facts and the problems in the lines that the process has printed; a last line that it did not finish is dropped."""
    facts: Facts = {}
    problems: list[Mapping[str, str]] = []
    for line in out.split(b"\n")[:-1]:
        document: Any = json.loads(line)
        if "fact" in document:
            facts[document["fact"]] = document["value"]
        else:
            problems.append(document)
    return facts, problems


def _warnings(problems: list[Mapping[str, str]], total_s: float) -> Iterator[PrecastError]:
    late = [problem["name"] for problem in problems if problem["problem"] == "late"]
    for problem in problems:
        kind, name, place, reason = problem["problem"], problem["name"], problem["place"], problem["reason"]
        if kind == "told":
            yield issues.RUBY_FACT_TOLD.error(place=place, message=reason)
        elif kind == "refused":
            what = f"the fact {name}" if name else "the rest of the file"
            yield issues.NEEDS_RUBY.error(what=what, place=place, reason=reason)
        elif kind in ("error", "timeout") and name:
            yield issues.RUBY_FACT_FAILED.error(fact=name, place=place, reason=reason)
        elif kind in ("error", "timeout"):
            yield issues.RUBY_FILE_FAILED.error(place=place, reason=reason)
    if late:
        shown = ", ".join(late[:10]) + (" …" if len(late) > 10 else "")
        yield issues.RUBY_FACTS_LATE.error(count=len(late), names=shown, deadline_s=total_s)

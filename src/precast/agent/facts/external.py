"""External facts: files in `facts.d`, written by people and by other programs.

`.json`, `.yaml` and `.txt` (lines of key=value) are data; any other file that is executable is run, and its output is read. Facter's own
directories are read first, so that the facts of an existing fleet keep working. Our directory overrides them, and files override those
earlier in the alphabet.
"""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType

from precast.agent import issues
from precast.agent.facts import formats
from precast.agent.facts.machine import Machine
from precast.agent.facts.sources import Source, SourceResult
from precast.agent.facts.trusted_files import MAX_FILE_BYTES, TrustedFile, trusted_files
from precast.base import programs
from precast.base.errors import Issue, PrecastError

DIRECTORIES = (
    "/opt/puppetlabs/facter/facts.d",
    "/etc/puppetlabs/facter/facts.d",
    "/etc/facter/facts.d",
    "/etc/precast/facts.d",
)
FILE_S = 5.0
COMMAND_S = 10.0
NO_FAILURES: Mapping[int, Issue] = MappingProxyType({})

_FORMATS: dict[str, Callable[[str, bytes], SourceResult]] = {
    "json": formats.from_json,
    "yaml": formats.from_yaml,
    "yml": formats.from_yaml,
    "txt": formats.from_lines,
}


def directory_source(machine: Machine, path: str) -> Source:
    """Make the source that finds the files in a directory."""

    def list_files(_: float) -> SourceResult:
        files, warnings = trusted_files(machine, path)
        sources = []
        for file in files:
            try:
                sources.append(_source(machine, file))
            except PrecastError as error:
                warnings.append(error)
        return SourceResult({}, warnings, sources)

    return Source(path, FILE_S, list_files)


def _source(machine: Machine, file: TrustedFile) -> Source:
    """Make the source of one file. Raises InputError FACT-023, ConflictError FACT-028."""
    parse = _FORMATS.get(file.path.rpartition(".")[2].lower())
    if parse is not None:
        return Source(file.path, FILE_S, lambda _: parse(file.path, file.read()), is_added=True)
    if not file.is_executable:
        raise issues.UNKNOWN_FORM.error(path=file.path)
    if not machine.is_running:
        raise issues.NOT_RUN.error(path=file.path, root=machine.root)
    return Source(file.path, COMMAND_S, functools.partial(_run, file), keeps_deadline=True, is_added=True)


def _run(file: TrustedFile, deadline_s: float) -> SourceResult:
    return formats.from_output(file.path, run_program(file.path, [file.real_path], deadline_s))


def run_program(
    path: str, argv: list[str], deadline_s: float, *, stdin: bytes = b"", failures: Mapping[int, Issue] = NO_FAILURES
) -> bytes:
    """Run a program and return its output. Raises InputError FACT-026 and FACT-027, TimeoutError, and `failures` by exit code."""
    try:
        result = programs.run(argv, deadline_s, MAX_FILE_BYTES, programs.StartOptions(stdin=stdin))
    except TimeoutError:
        raise
    except OSError as error:
        raise issues.RUN_FAILED.error(path=path, reason=error.strerror or error) from None
    if len(result.out) > MAX_FILE_BYTES:
        raise issues.TOO_LARGE.error(path=path, limit_bytes=MAX_FILE_BYTES)
    if result.code in failures:
        raise failures[result.code].error(path=path, reason=_last_line(result))
    if result.code != 0:
        raise issues.RUN_FAILED.error(path=path, reason=_describe_end(result))
    return result.out


def _describe_end(result: programs.ProgramResult) -> str:
    end = f"it was killed by signal {-result.code}" if result.code < 0 else f"it ended with code {result.code}"
    line = _last_line(result)
    return f"{end}: {line}" if line else end


def _last_line(result: programs.ProgramResult) -> str:
    lines = result.error.decode("utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip()[:200] if lines else ""

"""External facts: files in `facts.d`, written by people and by other programs.

`.json`, `.yaml` and `.txt` (lines of key=value) are data; any other file that is executable is run and its output read. Facter's own
directories are read first, so that what a fleet already has goes on working; ours override them, and later names earlier ones.
"""

import functools
from collections.abc import Callable

from precast.agent import issues
from precast.agent.facts import formats
from precast.agent.facts.directory import MAX_FILE_BYTES, TrustedFile, trusted_files
from precast.agent.facts.machine import Machine
from precast.agent.facts.sources import Found, Source
from precast.base import commands
from precast.base.errors import PrecastError

DIRECTORIES = (
    "/opt/puppetlabs/facter/facts.d",
    "/etc/puppetlabs/facter/facts.d",
    "/etc/facter/facts.d",
    "/etc/precast/facts.d",
)
FILE_S = 5.0
COMMAND_S = 10.0

_FORMATS: dict[str, Callable[[str, bytes], Found]] = {
    "json": formats.from_json,
    "yaml": formats.from_yaml,
    "yml": formats.from_yaml,
    "txt": formats.from_lines,
}


def listing(machine: Machine, path: str) -> Source:
    """The source that finds the sources in a directory."""

    def look(_: float) -> Found:
        files, warnings = trusted_files(machine, path)
        sources = []
        for file in files:
            try:
                sources.append(_source(machine, file))
            except PrecastError as error:
                warnings.append(error)
        return Found({}, warnings, sources)

    return Source(path, FILE_S, look)


def _source(machine: Machine, file: TrustedFile) -> Source:
    """Raises InputError FACT-023, ConflictError FACT-028."""
    parse = _FORMATS.get(file.path.rpartition(".")[2].lower())
    if parse is not None:
        return Source(file.path, FILE_S, lambda _: parse(file.path, file.read()))
    if not file.is_executable:
        raise issues.UNKNOWN_FORM.error(path=file.path)
    if not machine.is_running:
        raise issues.NOT_RUN.error(path=file.path, root=machine.root)
    return Source(file.path, COMMAND_S, functools.partial(_run, file), keeps_deadline=True)


def _run(file: TrustedFile, deadline_s: float) -> Found:
    return formats.from_output(file.path, printed(file.path, [file.place], deadline_s))


def printed(path: str, words: list[str], deadline_s: float) -> bytes:
    """What a program prints. Raises InputError FACT-026 and FACT-027, TimeoutError."""
    try:
        ended = commands.run(words, deadline_s, MAX_FILE_BYTES)
    except TimeoutError:
        raise
    except OSError as error:
        raise issues.RUN_FAILED.error(path=path, reason=error.strerror or error) from None
    if len(ended.out) > MAX_FILE_BYTES:
        raise issues.TOO_LARGE.error(path=path, limit_bytes=MAX_FILE_BYTES)
    if ended.code != 0:
        raise issues.RUN_FAILED.error(path=path, reason=_end_in_words(ended))
    return ended.out


def _end_in_words(ended: commands.Ended) -> str:
    how = f"it was killed by signal {-ended.code}" if ended.code < 0 else f"it ended with code {ended.code}"
    lines = ended.error.decode("utf-8", errors="replace").strip().splitlines()
    return f"{how}: {lines[-1].strip()[:200]}" if lines else how

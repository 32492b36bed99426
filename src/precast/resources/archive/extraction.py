"""The command that extracts an archive, by the end of its name, as the module archive chooses it."""

import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from precast.resources import issues_modules as issues

# Ends of names, the program whose flags can be given, its flags, and the command.
_COMMANDS: Final = (
    ((".tar",), "tar", "xf", "tar {flags} {path}"),
    ((".tgz", ".tar.gz"), "tar", "xzf", "tar {flags} {path}"),
    ((".tbz", ".tar.bz2"), "tar", "xjf", "tar {flags} {path}"),
    ((".gz",), "gunzip", "-d", "gunzip {flags} {path}"),
    ((".zip", ".war", ".jar"), "zip", "-o", "unzip {flags} {path}"),
)
_DIRECTIVE: Final = re.compile(r"%(.?)", re.DOTALL)


def make_command(path: str, custom: str | None, flags: Any) -> str:
    """The line for a shell that extracts the archive into the current directory. Raises InputError RESOURCE-236."""
    quoted = shlex.quote(path)
    if custom is not None:
        return _format(custom, quoted) if "%s" in custom else " ".join((custom, *_text(flags), quoted))
    if path.endswith((".txz", ".tar.xz")):
        return f"unxz {_flags(flags, 'unxz', '-dc')} {quoted} | tar {_flags(flags, 'tar', 'xf')} -"
    for ends, program, default, command in _COMMANDS:
        if path.endswith(ends):
            return command.format(flags=_flags(flags, program, default), path=quoted)
    raise issues.UNKNOWN_ARCHIVE.error(path=path)


def _format(custom: str, quoted: str) -> str:
    return _DIRECTIVE.sub(lambda match: {"s": quoted, "%": "%"}.get(match[1], match[0]), custom)


def _text(flags: Any) -> tuple[str, ...]:
    return (flags,) if isinstance(flags, str) else ()


def _flags(given: Any, program: str, default: str) -> str:
    if given is None or given == "undef":
        return default
    return str(given.get(program) or "") if isinstance(given, Mapping) else str(given)

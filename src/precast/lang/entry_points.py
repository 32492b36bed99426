"""Entry points: manifests that a compile evaluates instead of the environment's main manifest, as `puppet apply FILE` does.

Everything else is that of the environment: module path, data, settings. Only the entry point is the main manifest, so node blocks in it
work, and those of the environment's own manifests do not exist.
"""

import posixpath

from precast.lang.issues import compiler as issues

MAX_CHARS = 1_000


def check_entry_point(path: str) -> None:
    """Raises InputError LANG-767 for a path that is not inside the environment, or not written in its shortest form."""
    is_plain = path == posixpath.normpath(path) and not path.startswith(("/", "../")) and path not in ("", ".", "..")
    if not is_plain or len(path) > MAX_CHARS or not path.isprintable():
        raise issues.ENTRY_OUTSIDE.error(path=path[:MAX_CHARS])

"""Writes the plug-ins that the catalog names to the agent's plug-in directory: Python files, and the Ruby files of facts.

Each kind has a folder without further ones: a Ruby file is stored under its module and path with `+` for `/`. The directory contains
exactly the files that the catalog lists. Every file is checked against its digest before it gets its name, because it will be executed. A
file that is there already is not fetched again.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from precast.agent import issues
from precast.agent.state.paths import PLUGINS
from precast.base import digests
from precast.base.files import make_directories, write_owned
from precast.catalog.body import PLUGIN_SCHEME

DIRECTORY: Final = f"/{PLUGINS}"
KINDS: Final = ("facts", "functions", "types", "ruby_facts")
_NAME: Final = re.compile(rf"{PLUGIN_SCHEME}([a-z][a-z0-9_]*)/({'|'.join(KINDS[:-1])})/([a-z]\w*\.py)")
_PART: Final = r"[A-Za-z0-9_][\w.-]*"
_RUBY_NAME: Final = re.compile(rf"{PLUGIN_SCHEME}([a-z][a-z0-9_]*)/ruby_facts/((?:{_PART}/){{0,8}}{_PART}\.rb)")


def _file_name(name: str) -> str | None:
    """Where a plug-in is stored in the directory; None for other content."""
    if (match := _NAME.fullmatch(name)) is not None:
        return f"{match[2]}/{match[1]}__{match[3]}"
    if (match := _RUBY_NAME.fullmatch(name)) is not None:
        return f"ruby_facts/{match[1]}+{match[2].replace('/', '+')}"
    return None


def write_plugins(
    directory: Path, content: Mapping[str, digests.Digest], fetch: Callable[[digests.Digest], bytes]
) -> list[str]:
    """Bring the directory to the plug-ins of a catalog's content. Returns the names of those that are new or changed.

    Raises DeniedError AGENT-016 if a fetched file has not the digest in the catalog; then the file in the directory stays as it was.
    """
    desired = {file: digest for name, digest in content.items() if (file := _file_name(name)) is not None}
    changed: list[str] = []
    for name, digest in sorted(desired.items()):
        path = directory / name
        if path.is_file() and not path.is_symlink() and digests.of_bytes(path.read_bytes()) == digest:
            continue
        data = fetch(digest)
        if digests.of_bytes(data) != digest:
            raise issues.PLUGIN_DIFFERS.error(name=name, digest=digest)
        make_directories(path.parent)
        write_owned(path, data, 0o644, (0, 0))  # not by the umask: a file that a group may write is not run
        changed.append(name)
    for kind in KINDS:
        for path in (directory / kind).glob("*"):
            if f"{kind}/{path.name}" not in desired and (path.is_file() or path.is_symlink()):
                path.unlink()
    return changed

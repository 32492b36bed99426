"""Reads and writes users' crontabs.

They are read from the spool directory, because one `crontab -l` for each user would take longer than the whole run. `crontab` writes them:
it checks them and notifies the daemon. Below a root that is not a whole system the file itself is written.
"""

import os
from pathlib import Path

from precast.resources import accounts, issues_system
from precast.resources.commands import has_program
from precast.resources.contract import ManagedNode
from precast.resources.crontabs.table import without_heading
from precast.resources.text_files import join_lines, read_text, split_lines, write_text

# The directories of the Debian family, SUSE, Alpine, and the Red Hat family (last, because it contains the others).
DIRECTORIES = ("/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/etc/crontabs", "/var/spool/cron")
KIND = "cron"


def directory(node: ManagedNode) -> str:
    return next((path for path in DIRECTORIES if Path(node.path(path)).is_dir()), DIRECTORIES[0])


def users(node: ManagedNode) -> list[str]:
    """The users who have a crontab."""
    place = Path(node.path(directory(node)))
    try:
        return sorted(entry.name for entry in os.scandir(place) if entry.is_file() and not entry.name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise issues_system.UNREADABLE.error(path=str(place), reason=error.strerror) from None


def read_lines(node: ManagedNode, user: str) -> list[str]:
    """A user's current crontab, as it was given to `crontab`."""
    return without_heading(split_lines(read_text(node, f"{directory(node)}/{user}")))


def write_lines(node: ManagedNode, user: str, lines: list[str]) -> None:
    """Replace a user's crontab. Raises PrecastError or OSError; then it has not changed."""
    text = join_lines(lines)
    if node.root and not node.is_chroot:
        _write_file(node, user, text)
        return
    if not has_program("crontab", node.root):
        raise issues_system.NO_CRON.error()
    data = text.encode(errors="surrogateescape")
    argv = ["crontab", "-u", user, "-"] if lines else ["crontab", "-u", user, "-r"]
    result = node.run(argv, stdin=data)
    if not result.is_success:
        raise issues_system.COMMAND_FAILED.error(
            command=" ".join(argv), code=result.exit_code, output=" ".join(result.output.split())
        )


def _write_file(node: ManagedNode, user: str, text: str) -> None:
    place = directory(node)
    known = accounts.accounts(node).users.get(user)
    Path(node.path(place)).mkdir(mode=0o1730, parents=True, exist_ok=True)
    group = Path(node.path(place)).stat().st_gid
    write_text(node, f"{place}/{user}", text, 0o600, (known.uid if known else 0, group))

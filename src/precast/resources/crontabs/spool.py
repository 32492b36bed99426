"""Where users' crontabs are, and how they get there.

They are read from the spool directory: one `crontab -l` for each user would take longer than the whole run. They are written by `crontab`,
which checks them and tells the daemon; below a root that is no whole system the file itself is written.
"""

import os
from pathlib import Path

from precast.resources import accounts, issues_system
from precast.resources.commands import is_there
from precast.resources.contract import Node
from precast.resources.crontabs.table import without_heading
from precast.resources.lines import join_lines, read_text, split_lines, write_text

# Debian and its kin, SUSE, Alpine, Red Hat and its kin (whose directory is above the others': last).
DIRECTORIES = ("/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/etc/crontabs", "/var/spool/cron")
KIND = "cron"


def directory(node: Node) -> str:
    return next((path for path in DIRECTORIES if Path(node.path(path)).is_dir()), DIRECTORIES[0])


def users(node: Node) -> list[str]:
    """Who has a crontab."""
    place = Path(node.path(directory(node)))
    try:
        return sorted(entry.name for entry in os.scandir(place) if entry.is_file() and not entry.name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise issues_system.UNREADABLE.error(path=str(place), reason=error.strerror) from None


def read_lines(node: Node, user: str) -> list[str]:
    """A user's crontab now, as it was given to `crontab`."""
    return without_heading(split_lines(read_text(node, f"{directory(node)}/{user}")))


def write_lines(node: Node, user: str, lines: list[str]) -> None:
    """Replace a user's crontab. Raises PrecastError or OSError; then it is as it was."""
    text = join_lines(lines)
    if node.root and not node.is_chroot:
        _place(node, user, text)
        return
    if not is_there("crontab", node.root):
        raise issues_system.NO_CRON.error()
    data = text.encode(errors="surrogateescape")
    argv = ["crontab", "-u", user, "-"] if lines else ["crontab", "-u", user, "-r"]
    done = node.run(argv, stdin=data)
    if not done.is_success:
        raise issues_system.COMMAND_FAILED.error(
            command=" ".join(argv), code=done.exit_code, output=" ".join(done.output.split())
        )


def _place(node: Node, user: str, text: str) -> None:
    place = directory(node)
    known = accounts.accounts(node).users.get(user)
    Path(node.path(place)).mkdir(mode=0o1730, parents=True, exist_ok=True)
    group = Path(node.path(place)).stat().st_gid
    write_text(node, f"{place}/{user}", text, 0o600, (known.uid if known else 0, group))

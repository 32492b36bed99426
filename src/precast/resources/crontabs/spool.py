"""Reads and writes users' crontabs.

They are read from the spool directory, because one `crontab -l` for each user would take longer than the whole run. `crontab` writes them:
it checks them and notifies the daemon. Below a root that is not a whole system the file itself is written.
"""

import stat

from precast.resources import accounts, issues_system
from precast.resources.commands import has_program
from precast.resources.contract import ManagedNode
from precast.resources.crontabs.table import without_heading
from precast.resources.files import atomic_writes, safe_reads
from precast.resources.text_files import encode_lines, read_lines

# The directories of the Debian family, SUSE, Alpine, and the Red Hat family (last, because it contains the others).
DIRECTORIES = ("/var/spool/cron/crontabs", "/var/spool/cron/tabs", "/etc/crontabs", "/var/spool/cron")
KIND = "cron"


def directory(node: ManagedNode) -> str:
    parents = safe_reads.node_parents(node)
    return next((path for path in DIRECTORIES if safe_reads.is_directory(parents, path)), DIRECTORIES[0])


def users(node: ManagedNode) -> list[str]:
    """The users who have a crontab."""
    place, parents = directory(node), safe_reads.node_parents(node)
    try:
        names = [name for name in safe_reads.list_names(parents, place) if not name.startswith(".")]
        found = {name: safe_reads.find_status(parents, f"{place}/{name}") for name in names}
    except OSError as error:
        raise issues_system.UNREADABLE.error(path=place, reason=error.strerror) from None
    return [name for name, status in found.items() if status is not None and stat.S_ISREG(status.st_mode)]


def read_crontab(node: ManagedNode, user: str) -> list[str]:
    """A user's current crontab, as it was given to `crontab`.

    Raises DeniedError RESOURCE-126 if the file belongs to another user, who would lose its content to this one.
    """
    file = read_lines(node, f"{directory(node)}/{user}")
    if file.found is not None:
        known = accounts.find_user(node, user, is_local=False)
        file.found.check_may_get(file.path, known.uid if known else 0)
    return without_heading(file.lines)


def write_crontab(node: ManagedNode, user: str, lines: list[str]) -> None:
    """Replace a user's crontab. Raises PrecastError or OSError; then it has not changed."""
    data = encode_lines(lines)
    if node.root and not node.is_chroot:
        _write_file(node, user, lines)
        return
    if not has_program("crontab", node.root):
        raise issues_system.NO_CRON.error()
    argv = ["crontab", "-u", user, "-"] if lines else ["crontab", "-u", user, "-r"]
    result = node.run(argv, stdin=data)
    if not result.is_success:
        raise issues_system.COMMAND_FAILED.error(
            command=" ".join(argv), code=result.exit_code, output=" ".join(result.output.split())
        )


def _write_file(node: ManagedNode, user: str, lines: list[str]) -> None:
    place = directory(node)
    known = accounts.accounts(node).users.get(user)
    atomic_writes.make_directories(safe_reads.node_parents(node), place, 0o1730)
    status = safe_reads.find_status(safe_reads.node_parents(node), place, is_followed=True)
    owner = (known.uid if known else 0, 0 if status is None else status.st_gid)
    read_lines(node, f"{place}/{user}").write(node, lines, 0o600, owner)

"""Gives up, for good, what the network process does not need: root, capabilities, all files but those of name resolution, most calls.

The TLS context has the node's key by then; no file of the agent's state can be opened any more. Where the kernel lacks a measure the
others hold, and `precast agent status` says which are missing. An agent that does not run as root cannot change the user: then the
process is separate, and stays the same user.
"""

import encodings.idna  # noqa: F401 - imported now, because files cannot be read later
import os
import pwd
import sys
from pathlib import Path

from precast.agent.network.messages import Started
from precast.base.confinement.confine import NOBODY, Confinement, Level, confine

DEFAULT_USER = "precast-agent"
MAX_MEMORY_BYTES = 1024**3
# The user was changed before, and the process connects to other machines.
_NOT_WANTED = ("user", "namespaces")
# What the C library reads to resolve a name, and where this program is. Programs replace the files of the first, so that their
# directories are named.
READS = (
    *map(Path, ("/etc", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/nscd")),
    *map(Path, ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/dev/urandom", "/proc/sys/net")),
    *(Path(path) for path in sys.path if path.startswith("/")),
)


def drop_privileges(user: str, keeps: list[int], *, has_threads: bool = False) -> Started:
    """Become the unprivileged user and confine this process. Raises OSError or LookupError if root cannot change the user."""
    is_root = os.geteuid() == 0
    if is_root:
        uid, gid = find_user(user)
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    wanted = Confinement(
        reads=[path for path in READS if os.access(path, os.R_OK)],
        network=True,
        threads=has_threads,
        keeps=keeps,
        memory_bytes=MAX_MEMORY_BYTES,
        level=Level.BEST,
    )
    measures = {measure.name: measure for measure in confine(wanted) if measure.name not in _NOT_WANTED}
    lacks = [] if is_root else ["a user of its own: the agent does not run as root"]
    return Started(
        os.getuid(), lacks + [f"{name}: {lack.how}" for name, lack in measures.items() if not lack.is_enforced]
    )


def find_user(name: str) -> tuple[int, int]:
    """The numbers of the user and its group; those of nobody if the default user does not exist. Raises LookupError for another name."""
    try:
        found = pwd.getpwnam(name)
    except KeyError:
        if name != DEFAULT_USER:
            raise LookupError(f"there is no user {name}") from None
        return NOBODY, NOBODY
    if found.pw_uid == 0:
        raise LookupError(f"{name} is root")
    return found.pw_uid, found.pw_gid

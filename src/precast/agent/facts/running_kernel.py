"""The running kernel, asked by system call."""

import grp
import os
import pwd

from precast.agent.facts.deadlines import Deadlines
from precast.agent.facts.groups import netlink
from precast.agent.facts.machine import Account, Address, Link, Usage

# If their server is unreachable, statvfs waits for ever: then only that mount has no sizes.
REMOTE = frozenset({"9p", "afs", "ceph", "cifs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"})
REMOTE_S = 1.0


class RunningKernel:
    """Answers for the machine under /."""

    def __init__(self) -> None:
        self._deadlines = Deadlines()

    def hardware(self) -> str | None:
        return os.uname().machine

    def links(self) -> list[Link] | None:
        try:
            return netlink.links()
        except OSError:
            return None

    def addresses(self) -> list[Address] | None:
        try:
            return netlink.addresses()
        except OSError:
            return None

    def usage(self, path: str, filesystem: str) -> Usage | None:
        """The space of the file system mounted at a path; None if it cannot be read in time."""
        try:
            if filesystem in REMOTE or filesystem.startswith("fuse"):
                return self._deadlines.within(REMOTE_S, path, lambda: _usage(path))
            return _usage(path)
        except OSError:  # also TimeoutError
            return None

    def account(self) -> Account | None:
        uid = os.geteuid()
        try:
            entry = pwd.getpwuid(uid)
        except KeyError:
            return Account(uid, os.getegid(), None, _group(os.getegid()))
        return Account(uid, entry.pw_gid, entry.pw_name, _group(entry.pw_gid))

    def variable(self, name: str) -> str | None:
        return os.environ.get(name)


def _group(gid: int) -> str | None:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return None


def _usage(path: str) -> Usage:
    status = os.statvfs(path)
    block_bytes = status.f_frsize or status.f_bsize
    return Usage(status.f_blocks * block_bytes, status.f_bfree * block_bytes, status.f_bavail * block_bytes)

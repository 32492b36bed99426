"""Backs up files that are about to be replaced or removed: beside them with a suffix, or in the filebucket of the agent's state.

A backup with a suffix copies nothing: the file itself, with owner, mode and times, gets a second name. Links are not backed up.
"""

import os
import stat

from precast.resources.contract import ManagedNode
from precast.resources.files import atomic_writes, issues, safe_reads

_MAX_BYTES = 1 << 30  # the owner of a sparse file must not fill the disk of the agent's state


def check(node: ManagedNode, backup: str) -> None:
    """Raises InputError RESOURCE-116 for an undeclared filebucket; `puppet` always exists."""
    if backup and not backup.startswith(".") and backup != "puppet" and backup not in node.names("filebucket"):
        raise issues.NO_BUCKET.error(name=backup)


def back_up(node: ManagedNode, backup: str, directory: int, name: str, path: str) -> list[str]:
    """Back up the entry `name` of a directory; returns lines for the log."""
    if not backup:
        return []
    try:
        stat_result = os.lstat(name, dir_fd=directory)
    except FileNotFoundError:
        return []
    if stat.S_ISREG(stat_result.st_mode):
        return [_beside(directory, name, backup) if backup.startswith(".") else _in_bucket(node, directory, name, path)]
    if not stat.S_ISDIR(stat_result.st_mode):
        return []
    if backup.startswith("."):
        atomic_writes.remove(directory, name + backup)
        os.rename(name, name + backup, src_dir_fd=directory, dst_dir_fd=directory)
        return [f"kept as {name}{backup}"]
    return _directory_in_bucket(node, directory, name, path)


def _beside(directory: int, name: str, suffix: str) -> str:
    temporary = atomic_writes.temporary_name(name + suffix)
    atomic_writes.remove(directory, temporary)
    os.link(name, temporary, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    os.rename(temporary, name + suffix, src_dir_fd=directory, dst_dir_fd=directory)
    # If an earlier run made the backup but did not replace the file, both names are the same file, and the rename leaves both.
    atomic_writes.remove(directory, temporary)
    return f"kept as {name}{suffix}"


def _in_bucket(node: ManagedNode, directory: int, name: str, path: str) -> str:
    handle, _ = safe_reads.open_at(directory, name, path)
    with safe_reads.BoundedFile(handle, path, _MAX_BYTES) as file:
        return f"Filebucketed {path} to puppet with sum {node.backup(file, path)}"


def _directory_in_bucket(node: ManagedNode, directory: int, name: str, path: str) -> list[str]:
    logs: list[str] = []
    handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        for inner in safe_reads.list_handle(handle, path):
            logs += back_up(node, "puppet", handle, inner, f"{path}/{inner}")
    finally:
        os.close(handle)
    return logs

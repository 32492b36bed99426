"""Keeps what is about to be replaced or removed: beside it under a suffix, or in the bucket of the agent's state.

Under a suffix nothing is copied: the file itself, with owner, mode and times, gets the further name. A link is not kept.
"""

import os
import stat

from precast.resources.contract import Node
from precast.resources.files import issues, writing


def check(node: Node, backup: str) -> None:
    """Raises InputError RESOURCE-116 for a bucket that nobody declared; `puppet` is always there."""
    if backup and not backup.startswith(".") and backup != "puppet" and backup not in node.names("filebucket"):
        raise issues.NO_BUCKET.error(name=backup)


def keep(node: Node, backup: str, directory: int, name: str, path: str) -> list[str]:
    """Keep what is there under `name`; what to say of it."""
    if not backup:
        return []
    try:
        found = os.lstat(name, dir_fd=directory)
    except FileNotFoundError:
        return []
    if stat.S_ISREG(found.st_mode):
        return [_beside(directory, name, backup) if backup.startswith(".") else _in_bucket(node, directory, name, path)]
    if not stat.S_ISDIR(found.st_mode):
        return []
    if backup.startswith("."):
        writing.sweep(directory, name + backup)
        os.rename(name, name + backup, src_dir_fd=directory, dst_dir_fd=directory)
        return [f"kept as {name}{backup}"]
    return _directory_in_bucket(node, directory, name, path)


def _beside(directory: int, name: str, suffix: str) -> str:
    temporary = writing.temporary_name(name + suffix)
    writing.sweep(directory, temporary)
    os.link(name, temporary, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    os.rename(temporary, name + suffix, src_dir_fd=directory, dst_dir_fd=directory)
    # Where it was kept already and then not replaced, both are one file, and renaming one to the other leaves both.
    writing.sweep(directory, temporary)
    return f"kept as {name}{suffix}"


def _in_bucket(node: Node, directory: int, name: str, path: str) -> str:
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
    with os.fdopen(handle, "rb") as file:
        return f"Filebucketed {path} to puppet with sum {node.backup(file, path)}"


def _directory_in_bucket(node: Node, directory: int, name: str, path: str) -> list[str]:
    said: list[str] = []
    handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        for inner in sorted(os.listdir(handle)):
            said += keep(node, "puppet", handle, inner, f"{path}/{inner}")
    finally:
        os.close(handle)
    return said

"""Finds the devices that the user's keys for disks and mounts name: by path, by a bare name such as sdb, or by an alias of the user.

A name in `disk_setup` and `fs_setup` is always a device. A name in `mounts` need not be one: the tag of a virtiofs or 9p share looks like
the bare name of a device. So there, as in cloud-init, only what exists as a block device is replaced by its path. Other names stay.
"""

import re
from collections.abc import Mapping

from precast.boot.modules.context import ModuleContext

_BARE_DEVICE = re.compile(r"x?[shv]d[a-z]\d*|sr\d+")
_PARTITION_SUFFIXES = ("", "p", "-part")


def resolve_disk(name: str, aliases: Mapping[str, str]) -> str:
    """Return the path of the device that disk_setup or fs_setup names; `ALIAS.2` is the second partition of an alias."""
    base, dot, number = name.partition(".")
    if base in aliases and dot and number.isdecimal():
        return format_partition_path(aliases[base], int(number)) if int(number) else aliases[base]
    name = aliases.get(name, name)
    return name if name.startswith("/") or "=" in name else f"/dev/{name}"


def format_partition_path(disk: str, number: int) -> str:
    """Return the path of a disk's partition; links below /dev/disk have their own suffix."""
    if disk.startswith("/dev/disk/"):
        return f"{disk}-part{number}"
    return f"{disk}p{number}" if disk[-1:].isdigit() else f"{disk}{number}"


def is_remote(name: str) -> bool:
    """Whether the first field of fstab names a share of another machine: host:/path or //host/share."""
    return (name.find(":") > 0 and not name.startswith("/dev/")) or name.startswith("//")


def find_mount_source(context: ModuleContext, name: str, aliases: Mapping[str, str]) -> str:
    """Return the first field of a line of fstab. Of a disk with partitions it is the first one, as in cloud-init."""
    if is_remote(name) or ":" in name:
        return name
    base, dot, number = name.rpartition(".")
    if not dot or not number.isdecimal():
        base, number = name, ""
    path = aliases.get(base, base)
    if _BARE_DEVICE.fullmatch(name):
        path = f"/dev/{path}"
    if path.startswith("/"):
        partition = next(
            (
                candidate
                for suffix in _PARTITION_SUFFIXES
                if context.is_block_device(candidate := f"{path}{suffix}{number or 1}")
            ),
            None,
        )
        if partition is not None:
            return partition
        if not number and context.is_block_device(path):
            return path
    if base not in aliases:
        return name
    return format_partition_path(path, int(number)) if number else path

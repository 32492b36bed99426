"""growpart and resize_rootfs: the root takes all of its disk. Images are small, disks are not; so this happens without a word.

Only on the machine itself, only where the root lies on a partition or a disk, and only if there is room behind it.
"""

import os
from pathlib import Path
from typing import NamedTuple

from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Frequency, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Fields, Flag, Items, Text
from precast.resources.commands import has_program

_SLACK_BYTES = 8 << 20  # less than this behind a partition is alignment, not room
_SECTOR_BYTES = 512  # of what the kernel tells, whatever the disk's own are
_SYS = Path("/sys/class/block")


class Placed(NamedTuple):
    """Where a mounted file system lies: its device, and if that is a partition its disk and number."""

    device: str
    fstype: str
    disk: str = ""
    number: int = 0


def run(context: Context) -> Outcome:
    if context.machine.root:
        context.outcome.not_run = "only the machine itself grows, not a root"
        return context.outcome
    given = context.config.get("growpart") or {}
    is_stopped = context.is_there("/etc/growroot-disabled") and not given.get("ignore_growroot_disabled", False)
    if given.get("mode", "auto") not in (False, "off") and not is_stopped:
        for path in given.get("devices", ["/"]):
            _grow(context, path)
    if context.config.get("resize_rootfs", True):
        _resize(context, "/")
    if not context.outcome.changes and not context.outcome.warnings:
        context.outcome.not_run = "there is nothing to grow"
    return context.outcome


def place_of(context: Context, path: str) -> Placed | None:
    """Where what is mounted at a path (or a device itself) lies; None if that is no block device."""
    if path.startswith("/dev/"):
        source, fstype = path, ""
    else:
        if not has_program("findmnt"):
            return None
        done = context.ask(["findmnt", "-n", "-o", "SOURCE,FSTYPE", path], is_split=True)
        words = done.output.split()
        if not done.is_success or len(words) < 2:
            return None
        source, fstype = words[0].partition("[")[0], words[1]
    if not source.startswith("/dev/"):
        return None
    real = Path(source).resolve().name
    number = _number(real, "partition")
    if not number:
        return Placed(f"/dev/{real}", fstype)
    return Placed(f"/dev/{real}", fstype, f"/dev/{(_SYS / real).resolve().parent.name}", number)


def _number(device: str, name: str) -> int:
    """What the kernel tells of a device; 0 if it does not."""
    try:
        return int((_SYS / Path(device).name / name).read_text())
    except (OSError, ValueError):
        return 0


def room_behind(found: Placed) -> int:
    """How many bytes are free right behind a partition."""
    disk, own = Path(found.disk).name, Path(found.device).name
    start = _number(own, "start")
    parts = [path.parent.name for path in (_SYS / disk).resolve().glob("*/partition")]
    behind = [_number(name, "start") for name in parts if _number(name, "start") > start]
    return (min(behind, default=_number(disk, "size")) - start - _number(own, "size")) * _SECTOR_BYTES


def _grow(context: Context, path: str) -> None:
    """Have a partition take the room behind it. What did not get larger has not changed: a table may have a limit of its own."""
    found = place_of(context, path)
    if found is None or not found.disk or room_behind(found) <= _SLACK_BYTES:
        return
    what = f"partition {found.number} of {found.disk}"
    if not has_program("sfdisk"):
        context.warn(f"growpart: there is room behind {what}, but no sfdisk to run")
        return
    if context.is_dry_run:
        context.changed(f"grow {what}")
        return
    before, room = _number(found.device, "size"), room_behind(found)
    argv = ["sfdisk", "-q", "--no-reread", "-N", str(found.number), found.disk]
    done = context.run_untold(argv, stdin=b", +\n", deadline_s=120)
    if done.is_success:
        # The kernel reads no table anew of a disk that is in use; it is told of this one partition.
        done = context.run_untold(["partx", "-u", "--nr", str(found.number), found.disk], deadline_s=60)
    if not done.is_success:
        context.warn(f"growpart: {what} could not be grown: {' '.join(done.output.split())}")
    elif (size := _number(found.device, "size")) > before:
        context.changed(f"{what} has {_mib(size * _SECTOR_BYTES)} now, it had {_mib(before * _SECTOR_BYTES)}")
    else:
        context.warn(
            f"growpart: {what} did not get larger, though {_mib(room)} are free behind it: sfdisk -V {found.disk}"
        )


def _resize(context: Context, path: str) -> None:
    """Have a file system take all of its device, while it is in use."""
    found = place_of(context, path)
    if found is None:
        return
    commands = {
        **{kind: ["resize2fs", found.device] for kind in ("ext2", "ext3", "ext4")},
        "xfs": ["xfs_growfs", path],
        "btrfs": ["btrfs", "filesystem", "resize", "max", path],
    }
    argv = commands.get(found.fstype)
    if argv is None or not has_program(argv[0]):
        return
    if context.is_dry_run:
        if context.outcome.changes:
            context.changed(f"grow the file system of {path}")
        return
    before = _file_system_bytes(path)
    done = context.run_untold(argv, deadline_s=600)
    size = _file_system_bytes(path)
    if not done.is_success:
        context.warn(f"resize_rootfs: {' '.join(done.output.split())}")
    elif size > before:
        context.changed(f"the file system of {path} has {_mib(size)} now, it had {_mib(before)}")


def _file_system_bytes(path: str) -> int:
    found = os.statvfs(path)
    return found.f_blocks * found.f_frsize


def _mib(size: int) -> str:
    return f"{size >> 20} MiB"


MODULES = (
    Module(
        "growing",
        run,
        {
            "growpart": Fields(
                {
                    "mode": Either(Flag(), Text(("auto", "growpart", "gpart", "off"))),
                    "devices": Items(Text()),
                    "ignore_growroot_disabled": Flag(),
                }
            ),
            "resize_rootfs": Either(Flag(), Text(("noblock",))),
        },
        stage=Stage.NETWORK,
        frequency=Frequency.BOOT,
        after=(After("bootcmd", "bootcmd comes before everything that configures"),),
        is_wanted=lambda _: True,
    ),
)

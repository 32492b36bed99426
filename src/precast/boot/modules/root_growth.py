"""growpart and resize_rootfs: grow the root partition and its file system to the size of the disk.

Images are smaller than disks, so this runs by default. It runs only on the machine itself, only if the root file system is on a partition
or a disk, and only if free space follows the partition.
"""

import os
from pathlib import Path
from typing import NamedTuple

from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Frequency, Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Flag, Items, Text
from precast.resources.commands import has_program

_SLACK_BYTES = 8 << 20  # less free space than this is alignment
_SECTOR_BYTES = 512  # the kernel's unit in /sys, whatever the disk's own sector size is
_SYS = Path("/sys/class/block")


class BlockDevice(NamedTuple):
    """The device of a mounted file system; for a partition, also its disk and number."""

    device: str
    fstype: str
    disk: str = ""
    number: int = 0


def run(context: ModuleContext) -> ModuleOutcome:
    if context.machine.root:
        context.outcome.not_run = "only the machine's own disk is grown, not a root"
        return context.outcome
    settings = context.config.get("growpart") or {}
    is_disabled = context.exists("/etc/growroot-disabled") and not settings.get("ignore_growroot_disabled", False)
    if settings.get("mode", "auto") not in (False, "off") and not is_disabled:
        for path in settings.get("devices", ["/"]):
            _grow_partition(context, path)
    if context.config.get("resize_rootfs", True):
        _resize_file_system(context, "/")
    if not context.outcome.changes and not context.outcome.warnings:
        context.outcome.not_run = "no partition or file system can grow"
    return context.outcome


def find_block_device(context: ModuleContext, path: str) -> BlockDevice | None:
    """Return the block device that is mounted at a path, or the device itself; None if it is not a block device."""
    if path.startswith("/dev/"):
        source, fstype = path, ""
    else:
        if not has_program("findmnt"):
            return None
        result = context.query(["findmnt", "-n", "-o", "SOURCE,FSTYPE", path], is_split=True)
        columns = result.output.split()
        if not result.is_success or len(columns) < 2:
            return None
        source, fstype = columns[0].partition("[")[0], columns[1]
    if not source.startswith("/dev/"):
        return None
    name = Path(source).resolve().name
    number = _read_attribute(name, "partition")
    if not number:
        return BlockDevice(f"/dev/{name}", fstype)
    return BlockDevice(f"/dev/{name}", fstype, f"/dev/{(_SYS / name).resolve().parent.name}", number)


def _read_attribute(device: str, name: str) -> int:
    """Read a number that the kernel reports about a device in /sys; 0 if it is missing."""
    try:
        return int((_SYS / Path(device).name / name).read_text())
    except (OSError, ValueError):
        return 0


def measure_free_bytes(partition: BlockDevice) -> int:
    """Return the number of free bytes directly after a partition."""
    disk, own = Path(partition.disk).name, Path(partition.device).name
    start = _read_attribute(own, "start")
    names = [path.parent.name for path in (_SYS / disk).resolve().glob("*/partition")]
    later_starts = [_read_attribute(name, "start") for name in names if _read_attribute(name, "start") > start]
    end = min(later_starts, default=_read_attribute(disk, "size"))
    return (end - start - _read_attribute(own, "size")) * _SECTOR_BYTES


def _grow_partition(context: ModuleContext, path: str) -> None:
    """Grow a partition into the free space after it. The size is compared afterwards, because a table may have a limit of its own."""
    partition = find_block_device(context, path)
    if path != "/" and (partition is None or not context.is_block_device(partition.device)):
        context.warn(f"growpart: {path} is neither a device nor a directory where one is mounted, so it is not grown")
        return
    if partition is None or not partition.disk or measure_free_bytes(partition) <= _SLACK_BYTES:
        return
    what = f"partition {partition.number} of {partition.disk}"
    if not has_program("sfdisk"):
        context.warn(f"growpart: {what} can grow, but sfdisk is not installed")
        return
    if context.is_dry_run:
        context.record_change(f"grow {what}")
        return
    before, free_bytes = _read_attribute(partition.device, "size"), measure_free_bytes(partition)
    argv = ["sfdisk", "-q", "--no-reread", "-N", str(partition.number), partition.disk]
    result = context.run_unrecorded(argv, stdin=b", +\n", deadline_s=120)
    if result.is_success:
        # The kernel does not read the table of a disk in use again, so partx updates this one partition.
        result = context.run_unrecorded(["partx", "-u", "--nr", str(partition.number), partition.disk], deadline_s=60)
    if not result.is_success:
        context.warn(f"growpart: {what} could not be grown: {' '.join(result.output.split())}")
    elif (size := _read_attribute(partition.device, "size")) > before:
        sizes = f"from {_format_mib(before * _SECTOR_BYTES)} to {_format_mib(size * _SECTOR_BYTES)}"
        context.record_change(f"{what} grew {sizes}")
    else:
        context.warn(
            f"growpart: {what} did not grow, although {_format_mib(free_bytes)} after it are free; "
            f"check the table with sfdisk -V {partition.disk}"
        )


def _resize_file_system(context: ModuleContext, path: str) -> None:
    """Grow a mounted file system to the size of its device."""
    device = find_block_device(context, path)
    if device is None:
        return
    commands = {
        **{kind: ["resize2fs", device.device] for kind in ("ext2", "ext3", "ext4")},
        "xfs": ["xfs_growfs", path],
        "btrfs": ["btrfs", "filesystem", "resize", "max", path],
    }
    argv = commands.get(device.fstype)
    if argv is None or not has_program(argv[0]):
        return
    if context.is_dry_run:
        if context.outcome.changes:
            context.record_change(f"grow the file system of {path}")
        return
    before = _measure_file_system_bytes(path)
    result = context.run_unrecorded(argv, deadline_s=600)
    size = _measure_file_system_bytes(path)
    if not result.is_success:
        context.warn(f"resize_rootfs: {' '.join(result.output.split())}")
    elif size > before:
        context.record_change(f"the file system of {path} grew from {_format_mib(before)} to {_format_mib(size)}")


def _measure_file_system_bytes(path: str) -> int:
    status = os.statvfs(path)
    return status.f_blocks * status.f_frsize


def _format_mib(size_bytes: int) -> str:
    return f"{size_bytes >> 20} MiB"


MODULES = (
    Module(
        "root_growth",
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
        after=(Predecessor("bootcmd", "bootcmd runs before every module that configures something"),),
        has_work=lambda _: True,
    ),
)

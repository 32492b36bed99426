"""growpart and resize_rootfs: the root takes all of its disk. Images are small, disks are not; so this happens without a word.

Only on the machine itself, only where the root lies on a partition or a disk, and only if there is room behind it.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Frequency, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Fields, Flag, Items, Text
from precast.resources.commands import is_there

_SLACK_BYTES = 8 << 20  # less than this behind a partition is alignment, not room


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


def place_of(context: Context, path: str, sys: Path = Path("/sys/class/block")) -> Placed | None:
    """Where what is mounted at a path (or a device itself) lies; None if that is no block device."""
    if path.startswith("/dev/"):
        source, fstype = path, ""
    else:
        done = context.ask(["findmnt", "-n", "-o", "SOURCE,FSTYPE", path], is_split=True)
        words = done.output.split()
        if not done.is_success or len(words) < 2:
            return None
        source, fstype = words[0].partition("[")[0], words[1]
    if not source.startswith("/dev/"):
        return None
    real = Path(source).resolve().name
    try:
        number = int((sys / real / "partition").read_text())
    except (OSError, ValueError):
        return Placed(f"/dev/{real}", fstype)
    disk = (sys / real).resolve().parent.name
    return Placed(f"/dev/{real}", fstype, f"/dev/{disk}", number)


def _grow(context: Context, path: str) -> None:
    found = place_of(context, path)
    if found is None or not found.disk or not has_room(context, found):
        return
    if is_there("growpart"):
        argv: Sequence[str] = ["growpart", found.disk, str(found.number)]
        done = context.run(argv, deadline_s=120)
    else:
        argv = ["sfdisk", "-q", "--no-reread", "-N", str(found.number), found.disk]
        done = context.run(argv, stdin=b", +\n", what=f"grow partition {found.number} of {found.disk}", deadline_s=120)
        context.run(["partx", "-u", "--nr", str(found.number), found.disk], deadline_s=60)
    if not done.is_success and "NOCHANGE" not in done.output:
        context.warn(f"growpart: {found.device} could not be grown: {' '.join(done.output.split())}")


def has_room(context: Context, found: Placed) -> bool:
    """Whether there is room right behind the partition, by the table and the size of the disk."""
    table = context.ask(["sfdisk", "-d", found.disk], is_split=True)
    size = context.ask(["blockdev", "--getsize64", found.disk])
    if not table.is_success or not size.is_success:
        return False
    rows = re.findall(r"^(\S+)\s*:\s*start=\s*(\d+),\s*size=\s*(\d+)", table.output, re.MULTILINE)
    own = next((row for row in rows if row[0] == found.device), None)
    if own is None:
        return False
    end = (int(own[1]) + int(own[2])) * 512
    behind = [int(row[1]) * 512 for row in rows if int(row[1]) > int(own[1])]
    return min(behind, default=int(size.output)) - end > _SLACK_BYTES


def _resize(context: Context, path: str) -> None:
    found = place_of(context, path)
    if found is None:
        return
    commands = {
        **{kind: ["resize2fs", found.device] for kind in ("ext2", "ext3", "ext4")},
        "xfs": ["xfs_growfs", path],
        "btrfs": ["btrfs", "filesystem", "resize", "max", path],
    }
    argv = commands.get(found.fstype)
    if argv is not None and is_there(argv[0]):
        done = context.run(argv, deadline_s=600)
        if not done.is_success:
            context.warn(f"resize_rootfs: {' '.join(done.output.split())}")


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

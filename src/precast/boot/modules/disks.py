"""disk_setup and fs_setup: partitions and file systems, on disks that are empty or may be overwritten.

Nothing is destroyed without being told to: a disk that has a table or a file system is left alone unless `overwrite` says otherwise, and
a second run finds what the first one made.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.modules import issues, services
from precast.boot.modules.context import Context
from precast.boot.modules.contract import After, Module, Stage
from precast.boot.modules.mounts import device, partition
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Fields, Flag, Items, Number, Table, Text

_LABELS = {"mbr": "dos", "gpt": "gpt"}
# Types are given by the number that they have in an MBR; in a GPT sfdisk knows them by name. sgdisk writes 8300 for 83.
_GPT_TYPES = {
    "82": "swap", "83": "linux", "8e": "lvm", "fd": "raid", "ef": "uefi",
    "7": "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", "c": "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7",
    "ef02": "21686148-6449-6E6F-744E-656564454649",
}  # fmt: skip
_LABEL_OPTION = {"vfat": "-n", "fat": "-n", "msdos": "-n", "f2fs": "-l"}
_FORCE_OPTION = {"ext2": "-F", "ext3": "-F", "ext4": "-F", "xfs": "-f", "btrfs": "-f", "swap": "-f"}


def set_up_disks(context: Context) -> Outcome:
    context.check_programs("partitioning disks")
    return _each(context, "disk_setup", list(context.config["disk_setup"].items()), _partition_one)


def _each(context: Context, key: str, entries: Sequence[tuple[str, Any]], do: Any) -> Outcome:
    failures: list[str] = []
    for name, entry in entries:
        try:
            do(context, name, entry)
        except (PrecastError, OSError) as error:
            failures.append(f"{name}: {error}")
    if failures:
        raise issues.SOME_FAILED.error(what=key, failures="; ".join(failures))
    return context.outcome


def _partition_one(context: Context, name: str, given: Mapping[str, Any]) -> None:
    disk = device(name, context.config.get("device_aliases", {}))
    layout = given.get("layout", False)
    if layout is False:
        return
    if not context.is_there(disk):
        raise issues.NO_DEVICE.error(device=disk)
    if layout == "remove":
        context.must_run(["wipefs", "-a", "-q", disk], deadline_s=60)
        return
    kind = given.get("table_type", "mbr")
    script = _script(kind, layout, _size(context, disk))
    if _has_layout(context, disk, script):
        return
    if _signature(context, disk) and not given.get("overwrite", False):
        context.warn(f"disk_setup: {disk} is not empty, so it is left alone; overwrite: true would change that")
        return
    argv = ["sfdisk", "-q", "--wipe", "always", "--wipe-partitions", "always", disk]
    context.must_run(argv, stdin=script.encode(), what=f"partition {disk}", deadline_s=120)
    context.run(["partx", "-u", disk], what=f"read the partitions of {disk}", deadline_s=60)
    services.settle_devices(context)


def _size(context: Context, disk: str) -> int:
    """In MiB."""
    done = context.ask(["blockdev", "--getsize64", disk])
    return int(done.output) >> 20 if done.is_success else 0


def _script(kind: str, layout: Any, size_mib: int) -> str:
    """What sfdisk is told: one partition, or shares of the disk, the last of which takes the rest."""
    lines = [f"label: {_LABELS[kind]}"]
    entries = [100] if layout is True else layout
    for at, entry in enumerate(entries):
        share, code = (entry[0], str(entry[1])) if isinstance(entry, list) and len(entry) > 1 else (entry, "83")
        share = share[0] if isinstance(share, list) else share
        fields = [] if at == len(entries) - 1 else [f"size={max(1, size_mib * int(share) // 100)}MiB"]
        lines.append(", ".join([*fields, f"type={_type(kind, code)}"]))
    return "\n".join(lines) + "\n"


def _type(kind: str, code: str) -> str:
    word = code.lower().removeprefix("0x").lstrip("0")
    short = word.removesuffix("00") if len(word) == 4 else word
    if kind == "gpt":
        return _GPT_TYPES.get(word) or _GPT_TYPES.get(short) or code
    return short


def _has_layout(context: Context, disk: str, script: str) -> bool:
    """Whether the disk has a table of this kind with this many partitions already."""
    found = context.ask(["sfdisk", "-d", disk], is_split=True)
    if not found.is_success:
        return False
    lines = found.output.splitlines()
    parts = [line for line in lines if line.startswith(disk) and "start=" in line]
    wanted = script.splitlines()
    return wanted[0] in lines and len(parts) == len(wanted) - 1


def _signature(context: Context, path: str) -> dict[str, str]:
    """What blkid finds on a device: TYPE, LABEL, PTTYPE; nothing on an empty one."""
    done = context.ask(["blkid", "-p", "-o", "export", path], is_split=True)
    return dict(line.partition("=")[::2] for line in done.output.splitlines() if "=" in line) if done.is_success else {}


# File systems


def make_file_systems(context: Context) -> Outcome:
    context.check_programs("making file systems")
    entries = [(str(each["device"]), each) for each in context.config["fs_setup"]]
    return _each(context, "fs_setup", entries, _make_one)


def _make_one(context: Context, name: str, given: Mapping[str, Any]) -> None:
    disk = device(name, context.config.get("device_aliases", {}))
    kind, label = given.get("filesystem", ""), given.get("label") or ""
    target = _target(context, disk, given.get("partition", "none"), kind, label)
    if target is None:
        return
    if not context.is_there(target) and not context.is_dry_run:
        raise issues.NO_DEVICE.error(device=target)
    found = _signature(context, target) if context.is_there(target) else {}
    present = found.get("TYPE", "") or ("a partition table" if "PTTYPE" in found else "")
    is_same = present == kind and (not label or found.get("LABEL", "") == label)
    if is_same and not given.get("overwrite", False):
        return
    may_replace = given.get("overwrite", False) or given.get("replace_fs") == present
    if present and not may_replace:
        context.warn(
            f"fs_setup: {target} has {present} already, so it is left alone; overwrite: true would change that"
        )
        return
    command = given.get("cmd")
    if command:
        context.must_run(_filled(command, kind, label, target), what=f"make {kind} on {target}", deadline_s=600)
        return
    context.must_run(_command(kind, label, target, given.get("extra_opts", [])), deadline_s=600)


def _target(context: Context, disk: str, wanted: str, kind: str, label: str) -> str | None:
    """The device to make it on; None if there is one like it already and any will do."""
    if wanted.isdecimal():
        return partition(disk, int(wanted)) if int(wanted) else disk
    if wanted in ("auto", "any"):
        names = context.ask(["lsblk", "-nrpo", "NAME", disk], is_split=True).output.split()
        for name in names:
            found = _signature(context, name)
            if found.get("TYPE") == kind and (wanted == "any" or found.get("LABEL", "") == label):
                return None
        empty = [name for name in names if name != disk and not _signature(context, name).get("TYPE")]
        return empty[0] if empty else disk
    return disk


def _command(kind: str, label: str, target: str, options: Sequence[str]) -> list[str]:
    argv = ["mkswap" if kind == "swap" else f"mkfs.{kind}"]
    argv += [_FORCE_OPTION[kind]] if kind in _FORCE_OPTION else []
    argv += [_LABEL_OPTION.get(kind, "-L"), label] if label else []
    return [*argv, *options, target]


def _filled(command: str | list[str], kind: str, label: str, target: str) -> str | list[str]:
    words = {"filesystem": kind, "label": label, "device": target}
    if isinstance(command, list):
        return [str(_filled(each, kind, label, target)) for each in command]
    for name, value in words.items():
        command = command.replace(f"%({name})s", value)
    return command


_FIRST = After("bootcmd", "bootcmd comes before everything that configures")
MODULES = (
    Module(
        "disk_setup",
        set_up_disks,
        {
            "disk_setup": Table(
                Fields(
                    {
                        "table_type": Text(("mbr", "gpt")),
                        "layout": Either(Flag(), Text(("remove",)), Items(Either(Number(1, 100), Items(Text())))),
                        "overwrite": Flag(),
                    }
                )
            )
        },
        after=(_FIRST,),
        stage=Stage.NETWORK,
    ),
    Module(
        "fs_setup",
        make_file_systems,
        {
            "fs_setup": Items(
                Fields(
                    {
                        "label": Text(), "filesystem": Text(), "device": Text(), "partition": Text(),
                        "overwrite": Flag(), "replace_fs": Text(), "extra_opts": Items(Text(), takes_one=True),
                        "cmd": Either(Text(), Items(Text())),
                    },
                    required=("device",),
                )
            )
        },
        after=(_FIRST, After("disk_setup", "a file system is made on a partition")),
        stage=Stage.NETWORK,
    ),
)  # fmt: skip

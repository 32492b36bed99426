"""disk_setup and fs_setup: create partitions and file systems on disks that are empty or may be overwritten.

Data is destroyed only on request: a disk with a partition table or a file system is left unchanged unless `overwrite` is true, and a
second run recognises what the first one created.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.modules import issues, services
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Module, Predecessor, Stage
from precast.boot.modules.device_names import format_partition_path, resolve_disk
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Flag, Items, Number, Table, Text

_LABELS = {"mbr": "dos", "gpt": "gpt"}
# The user gives a partition type by its MBR number; for a GPT, sfdisk needs a name or GUID. sgdisk writes 8300 for 83.
_GPT_TYPES = {
    "82": "swap", "83": "linux", "8e": "lvm", "fd": "raid", "ef": "uefi",
    "7": "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", "c": "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7",
    "ef02": "21686148-6449-6E6F-744E-656564454649",
}  # fmt: skip
_LABEL_OPTION = {"vfat": "-n", "fat": "-n", "msdos": "-n", "f2fs": "-l"}
_FORCE_OPTION = {"ext2": "-F", "ext3": "-F", "ext4": "-F", "xfs": "-f", "btrfs": "-f", "swap": "-f"}


def set_up_disks(context: ModuleContext) -> ModuleOutcome:
    context.require_programs("partitioning disks")
    return _apply_all(context, "disk_setup", list(context.config["disk_setup"].items()), _partition_disk)


def _apply_all(context: ModuleContext, key: str, entries: Sequence[tuple[str, Any]], apply: Any) -> ModuleOutcome:
    failures: list[str] = []
    for name, entry in entries:
        try:
            apply(context, name, entry)
        except (PrecastError, OSError) as error:
            failures.append(f"{name}: {error}")
    if failures:
        raise issues.SOME_FAILED.error(what=key, failures="; ".join(failures))
    return context.outcome


def _partition_disk(context: ModuleContext, name: str, entry: Mapping[str, Any]) -> None:
    disk = resolve_disk(name, context.config.get("device_aliases", {}))
    layout = entry.get("layout", False)
    if layout is False:
        return
    if not context.exists(disk):
        raise issues.NO_DEVICE.error(device=disk)
    if layout == "remove":
        context.must_run(["wipefs", "-a", "-q", disk], deadline_s=60)
        return
    kind = entry.get("table_type", "mbr")
    script = _render_sfdisk_script(kind, layout, _read_size_mib(context, disk))
    if _has_layout(context, disk, script):
        return
    if _read_signature(context, disk) and not entry.get("overwrite", False):
        context.warn(f"disk_setup: {disk} is not empty, so it is left unchanged; to overwrite it, set overwrite: true")
        return
    argv = ["sfdisk", "-q", "--wipe", "always", "--wipe-partitions", "always", disk]
    context.must_run(argv, stdin=script.encode(), what=f"partition {disk}", deadline_s=120)
    context.run(["partx", "-u", disk], what=f"read the partitions of {disk}", deadline_s=60)
    services.settle_devices(context)


def _read_size_mib(context: ModuleContext, disk: str) -> int:
    result = context.query(["blockdev", "--getsize64", disk])
    return int(result.output) >> 20 if result.is_success else 0


def _render_sfdisk_script(kind: str, layout: Any, size_mib: int) -> str:
    """Return the script for sfdisk: one partition, or percentages of the disk, where the last partition takes the rest."""
    lines = [f"label: {_LABELS[kind]}"]
    entries = [100] if layout is True else layout
    for index, entry in enumerate(entries):
        share, code = (entry[0], str(entry[1])) if isinstance(entry, list) and len(entry) > 1 else (entry, "83")
        share = share[0] if isinstance(share, list) else share
        fields = [] if index == len(entries) - 1 else [f"size={max(1, size_mib * int(share) // 100)}MiB"]
        lines.append(", ".join([*fields, f"type={_translate_type(kind, code)}"]))
    return "\n".join(lines) + "\n"


def _translate_type(kind: str, code: str) -> str:
    digits = code.lower().removeprefix("0x").lstrip("0")
    short = digits.removesuffix("00") if len(digits) == 4 else digits
    if kind == "gpt":
        return _GPT_TYPES.get(digits) or _GPT_TYPES.get(short) or code
    return short


def _has_layout(context: ModuleContext, disk: str, script: str) -> bool:
    """Return whether the disk already has a partition table of this kind with this number of partitions."""
    dump = context.query(["sfdisk", "-d", disk], is_split=True)
    if not dump.is_success:
        return False
    lines = dump.output.splitlines()
    partitions = [line for line in lines if line.startswith(disk) and "start=" in line]
    desired = script.splitlines()
    return desired[0] in lines and len(partitions) == len(desired) - 1


def _read_signature(context: ModuleContext, path: str) -> dict[str, str]:
    """Return what blkid reports for a device: TYPE, LABEL, PTTYPE; empty for an empty device."""
    result = context.query(["blkid", "-p", "-o", "export", path], is_split=True)
    lines = result.output.splitlines() if result.is_success else []
    return dict(line.partition("=")[::2] for line in lines if "=" in line)


# File systems


def make_file_systems(context: ModuleContext) -> ModuleOutcome:
    context.require_programs("making file systems")
    entries = [(str(entry["device"]), entry) for entry in context.config["fs_setup"]]
    return _apply_all(context, "fs_setup", entries, _make_file_system)


def _make_file_system(context: ModuleContext, name: str, entry: Mapping[str, Any]) -> None:
    disk = resolve_disk(name, context.config.get("device_aliases", {}))
    kind, label = entry.get("filesystem", ""), entry.get("label") or ""
    target = _choose_target(context, disk, entry.get("partition", "none"), kind, label)
    if target is None:
        return
    if not context.exists(target) and not context.is_dry_run:
        raise issues.NO_DEVICE.error(device=target)
    signature = _read_signature(context, target) if context.exists(target) else {}
    present = signature.get("TYPE", "") or ("a partition table" if "PTTYPE" in signature else "")
    is_same = present == kind and (not label or signature.get("LABEL", "") == label)
    if is_same and not entry.get("overwrite", False):
        return
    may_replace = entry.get("overwrite", False) or entry.get("replace_fs") == present
    if present and not may_replace:
        context.warn(
            f"fs_setup: {target} already has {present}, so it is left unchanged; to overwrite it, set overwrite: true"
        )
        return
    command = entry.get("cmd")
    if command:
        argv = _substitute(command, {"filesystem": kind, "label": label, "device": target})
        context.must_run(argv, what=f"make {kind} on {target}", deadline_s=600)
        return
    context.must_run(_build_command(kind, label, target, entry.get("extra_opts", [])), deadline_s=600)


def _choose_target(context: ModuleContext, disk: str, partition: str, kind: str, label: str) -> str | None:
    """Return the device for the file system; None if any partition is allowed and one already has this file system."""
    if partition.isdecimal():
        return format_partition_path(disk, int(partition)) if int(partition) else disk
    if partition in ("auto", "any"):
        names = context.query(["lsblk", "-nrpo", "NAME", disk], is_split=True).output.split()
        for name in names:
            signature = _read_signature(context, name)
            if signature.get("TYPE") == kind and (partition == "any" or signature.get("LABEL", "") == label):
                return None
        empty = [name for name in names if name != disk and not _read_signature(context, name).get("TYPE")]
        return empty[0] if empty else disk
    return disk


def _build_command(kind: str, label: str, target: str, options: Sequence[str]) -> list[str]:
    argv = ["mkswap" if kind == "swap" else f"mkfs.{kind}"]
    argv += [_FORCE_OPTION[kind]] if kind in _FORCE_OPTION else []
    argv += [_LABEL_OPTION.get(kind, "-L"), label] if label else []
    return [*argv, *options, target]


def _substitute(command: str | list[str], variables: Mapping[str, str]) -> str | list[str]:
    if isinstance(command, list):
        return [str(_substitute(argument, variables)) for argument in command]
    for name, value in variables.items():
        command = command.replace(f"%({name})s", value)
    return command


_FIRST = Predecessor("bootcmd", "bootcmd runs before every module that configures something")
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
                        "overwrite": Flag(), "replace_fs": Text(), "extra_opts": Items(Text(), accepts_single=True),
                        "cmd": Either(Text(), Items(Text())),
                    },
                    required=("device",),
                )
            )
        },
        after=(_FIRST, Predecessor("disk_setup", "a file system is created on a partition")),
        is_repeatable=False,  # with `overwrite` it would destroy what was written to the first disk since then
        stage=Stage.NETWORK,
    ),
)  # fmt: skip

"""mounts and swap: write lines of fstab, and on the machine itself mount them immediately.

An option of ours marks the lines that an earlier boot wrote; they are replaced, and all other lines stay. The module writes the lines
itself instead of using the resource type mount: swap has no mount point, and fstab is also written below a root without programs.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.modules import services
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import ROOT_FILES_WRITTEN, Module, Predecessor, Stage
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Items, Number, Table, Text, ValueSchema
from precast.resources.files import safe_reads

FSTAB = "/etc/fstab"
MARK = "x-precast-boot"
DEFAULTS = (None, None, "auto", "defaults,nofail", "0", "2")
_FREE_SPACE_DIVISOR = 4  # swap of automatic size takes at most this fraction of the free space
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def resolve_device(name: str, aliases: Mapping[str, str]) -> str:
    """Return the path of a device from an alias or a bare name; anything that fstab accepts is returned unchanged."""
    base, dot, number = name.partition(".")
    if base in aliases and dot and number.isdecimal():
        return format_partition_path(aliases[base], int(number)) if int(number) else aliases[base]
    name = aliases.get(name, name)
    if name.startswith("/") or ":" in name or "=" in name or name in ("none", "tmpfs", "overlay"):
        return name
    return f"/dev/{name}"


def format_partition_path(disk: str, number: int) -> str:
    """Return the path of a disk's partition; links below /dev/disk have their own suffix."""
    if disk.startswith("/dev/disk/"):
        return f"{disk}-part{number}"
    return f"{disk}p{number}" if disk[-1:].isdigit() else f"{disk}{number}"


def run(context: ModuleContext) -> ModuleOutcome:
    """Write fstab and mount its lines. Raises UnavailableError BOOT-201 and InputError BOOT-200 for swap, after the mounts."""
    config = context.config
    aliases = config.get("device_aliases", {})
    lines = [fields for entry in config.get("mounts", []) if (fields := _complete_fields(context, entry, aliases))]
    problem: PrecastError | None = None
    swap = None
    try:
        swap = _make_swap(context, config["swap"]) if "swap" in config else None
    except PrecastError as error:
        problem = error  # raised at the end, so that the mounts are still made
    if swap:
        lines.append((swap, "none", "swap", "sw", "0", "0"))
    entries = config.get("mounts", [])
    removed = {resolve_device(entry[0], aliases) for entry in entries if len(entry) > 1 and entry[1] is None}
    has_changed = _write_fstab(context, lines, removed)
    for fields in lines:
        if fields[1].startswith("/"):
            context.make_directories(fields[1])
    if not context.machine.root:
        if has_changed:
            services.reread_units(context)
        _mount(context, lines)
    if problem is not None:
        raise problem
    return context.outcome


_FstabLine = tuple[str, str, str, str, str, str]


def _complete_fields(context: ModuleContext, entry: Sequence[Any], aliases: Mapping[str, str]) -> _FstabLine | None:
    """Return the six fields of a line, completed by the defaults; None if the line must not be written."""
    defaults = context.config.get("mount_default_fields", list(DEFAULTS))
    padded = [*entry, *[None] * (6 - len(entry))][:6]
    completed = [
        field if field not in (None, "None") else default
        for field, default in zip(padded, [*defaults, *DEFAULTS[len(defaults) :]], strict=False)
    ]
    if len(entry) > 1 and entry[1] is None:
        return None
    name, mount_point = completed[0], completed[1]
    if not name or not mount_point:
        context.warn(f"mounts: {list(entry)} lacks a mount point, so it is skipped")
        return None
    path = resolve_device(str(name), aliases)
    if not context.machine.root and path.startswith("/dev/") and not Path(path).exists() and "/" not in str(name):
        context.warn(f"mounts: the device {path} does not exist, so it is skipped")
        return None
    if mount_point != "none" and not str(mount_point).startswith("/"):
        context.warn(f"mounts: {mount_point!r} is not an absolute path, so it is skipped")
        return None
    _, _, fstype, options, dump, passes = (str(field) for field in completed)
    return path, str(mount_point), fstype, options, dump, passes


def _write_fstab(context: ModuleContext, lines: Sequence[_FstabLine], removed: set[str]) -> bool:
    """Replace the lines that an earlier boot wrote by these lines. Returns whether fstab changed."""
    present = context.read_text(FSTAB).splitlines()
    mount_points = {fields[1] for fields in lines if fields[1] != "none"}
    kept = [line for line in present if not _is_replaced(line, mount_points, removed)]
    new = ["\t".join(map(_escape, (*fields[:3], f"{fields[3]},{MARK}", *fields[4:]))) for fields in lines]
    text = "\n".join([*kept, *new]) + "\n"
    return [*kept, *new] != present and context.write(FSTAB, text.encode(errors="surrogateescape"))


def _is_replaced(line: str, mount_points: set[str], removed: set[str]) -> bool:
    fields = line.split()
    if len(fields) < 3 or fields[0].startswith("#"):
        return False
    is_ours = len(fields) > 3 and MARK in fields[3].split(",")
    return is_ours or fields[1] in mount_points or fields[0] in removed


def _escape(field: str) -> str:
    return re.sub(r"[ \t\n\\]", lambda match: f"\\{ord(match[0]):03o}", field)


def _mount(context: ModuleContext, lines: Sequence[_FstabLine]) -> None:
    """Mount the lines that are not mounted yet. A mount that fails is a warning, and the next one is tried."""
    for _, mount_point, fstype, options, *_ in lines:
        if fstype == "swap" or "noauto" in options.split(",") or _is_mounted(context, mount_point):
            continue
        result = context.run(["mount", mount_point], deadline_s=120)
        if not context.is_dry_run and not _is_mounted(
            context, mount_point
        ):  # with nofail, mount succeeds without a device
            reason = " ".join(result.output.split()) or "the device does not exist"
            context.warn(f"mounts: {mount_point} is not mounted: {reason}")
    if any(fields[2] == "swap" for fields in lines):
        _use_swap(context)


def _is_mounted(context: ModuleContext, mount_point: str) -> bool:
    text = (context.read("/proc/mounts") or b"").decode(errors="replace")
    return _escape(mount_point.rstrip("/") or "/") in {line.split()[1] for line in text.splitlines()}


def _use_swap(context: ModuleContext) -> None:
    """Activate the swap in fstab that is not active yet."""
    if context.is_dry_run:
        context.record_change("use swap")
        return
    before = context.read("/proc/swaps")
    result = context.run_unrecorded(["swapon", "-a"], deadline_s=60)
    if not result.is_success:
        context.warn(f"not all swap is in use: {' '.join(result.output.split())}")
    if context.read("/proc/swaps") != before:
        context.record_change("swap is in use")


# Swap


def parse_size(text: Any) -> int | None:
    """Return a size in bytes from a number with an optional unit; None if the text is not a size."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", str(text).strip().lower())
    return int(float(match[1]) * _UNITS[match[2]]) if match else None


def _make_swap(context: ModuleContext, settings: Mapping[str, Any]) -> str | None:
    path: str = settings.get("filename", "/swap.img")
    requested = settings.get("size", 0)
    size = _choose_swap_size(context) if requested == "auto" else parse_size(requested)
    limit = parse_size(settings["maxsize"]) if "maxsize" in settings else None
    if size is None:
        context.warn(f"swap.size: {requested!r} is not a size; write auto, or a number with K, M or G")
        return None
    size = size if limit is None else min(size, limit)
    if size <= 0:
        return None
    if not context.exists(path):
        directory = path.rpartition("/")[0]
        # The programs that make it follow links, and whoever puts one there could have any file overwritten.
        if (reason := safe_reads.find_distrust(safe_reads.node_parents(context.machine), directory)) is not None:
            context.warn(f"the swap file {path} is not made: {reason}")
            return None
        context.require_programs(f"making the swap file {path}")
        context.make_directories(directory)
        argv = ["/bin/sh", "-c", _SWAP, "sh", path, str(max(1, size >> 20))]
        context.must_run(argv, what=f"make the swap file {path} of {size >> 20} MiB", deadline_s=600)
    return path


_SWAP = """
umask 077
: > "$1"; chattr +C "$1" 2>/dev/null
fallocate -l "${2}M" "$1" 2>/dev/null || dd if=/dev/zero of="$1" bs=1M count="$2" 2>/dev/null
mkswap "$1" || { rm -f "$1"; exit 1; }
"""


def _choose_swap_size(context: ModuleContext) -> int:
    """Return the size of the memory, twice that on small machines and half on large ones, limited to a part of the free space."""
    text = (context.read("/proc/meminfo") or b"").decode() if not context.machine.root else ""
    match = re.search(r"MemTotal:\s+(\d+) kB", text)
    memory = int(match[1]) << 10 if match else 1 << 30
    size = 2 * memory if memory <= 2 << 30 else memory if memory <= 8 << 30 else memory // 2
    free = shutil.disk_usage(context.root).free
    return min(size, free // _FREE_SPACE_DIVISOR)


class _Field(ValueSchema):
    """A field of fstab: text, a number, or nothing."""

    name = "text"

    def clean(self, value: Any, path: Any, findings: Any) -> Any:
        return None if value is None else Text().clean(value, path, findings)


class _Fields(ValueSchema):
    """A line of fstab as a list. An empty field is meaningful: it takes the default."""

    name = "a list of up to six fields"

    def clean(self, value: Any, path: Any, findings: Any) -> Any:
        if isinstance(value, str):
            value = value.split()
        if not isinstance(value, list) or not value or value[0] is None or len(value) > 6:
            return self.reject(value, path, findings)
        return [_Field().clean(field, (*path, index), findings) for index, field in enumerate(value)]


class _Defaults(_Fields):
    def clean(self, value: Any, path: Any, findings: Any) -> Any:
        if not isinstance(value, list) or len(value) > 6:
            return self.reject(value, path, findings)
        return [None if field in (None, "None") else str(field) for field in value]


MODULES = (
    Module(
        "mounts",
        run,
        {
            "mounts": Items(_Fields()),
            "mount_default_fields": _Defaults(),
            "swap": Fields(
                {"filename": Text(), "size": Either(Number(0), Text()), "maxsize": Either(Number(0), Text())}
            ),
            "device_aliases": Table(Text()),
        },
        after=(
            Predecessor("bootcmd", "bootcmd runs before every module that configures something"),
            Predecessor("fs_setup", "a device needs a file system before it can be mounted"),
            Predecessor("root_growth", "the automatic size of swap depends on the free space"),
        ),
        waits_for=(ROOT_FILES_WRITTEN,),  # a mount may need one of the user's files, such as the password for a share
        stage=Stage.NETWORK,  # later modules may write to mounted file systems, e.g. homes
        has_work=lambda config: "mounts" in config or "swap" in config,
    ),
)

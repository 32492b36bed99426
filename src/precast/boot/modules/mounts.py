"""mounts and swap: lines of fstab, mounted at once on the machine itself.

Lines that an earlier boot wrote are known by an option of ours and replaced; all others stay as they are. A line of fstab for swap has no
place in the tree, and a root without programs has a file to write too: so the lines are written here, not by the resource type mount.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.modules import services
from precast.boot.modules.context import Context
from precast.boot.modules.contract import FILES_OF_ROOT, After, Module, Stage
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.shapes import Either, Fields, Items, Number, Shape, Table, Text

FSTAB = "/etc/fstab"
MARK = "x-precast-boot"
DEFAULTS = (None, None, "auto", "defaults,nofail", "0", "2")
_MAX_FREE_SHARE = 4  # of the free space, this fraction at most becomes swap of automatic size
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def device(name: str, aliases: Mapping[str, str]) -> str:
    """The path of a device that is named as users do: an alias, a bare name, or what fstab takes as it is."""
    base, dot, part = name.partition(".")
    if base in aliases and dot and part.isdecimal():
        return partition(aliases[base], int(part)) if int(part) else aliases[base]
    name = aliases.get(name, name)
    if name.startswith("/") or ":" in name or "=" in name or name in ("none", "tmpfs", "overlay"):
        return name
    return f"/dev/{name}"


def partition(disk: str, number: int) -> str:
    """The path of a disk's partition: a further name of a disk has further names for those too."""
    if disk.startswith("/dev/disk/"):
        return f"{disk}-part{number}"
    return f"{disk}p{number}" if disk[-1:].isdigit() else f"{disk}{number}"


def run(context: Context) -> Outcome:
    """Lines of fstab, and what they mount. Raises UnavailableError BOOT-201 and InputError BOOT-200 for swap, when all else is done."""
    config = context.config
    aliases = config.get("device_aliases", {})
    lines = [fields for each in config.get("mounts", []) if (fields := _fields(context, each, aliases))]
    problem: PrecastError | None = None
    swap = None
    try:
        swap = _make_swap(context, config["swap"]) if "swap" in config else None
    except PrecastError as error:
        problem = error  # told at the end: it must not cost the mounts
    if swap:
        lines.append((swap, "none", "swap", "sw", "0", "0"))
    removed = {device(each[0], aliases) for each in config.get("mounts", []) if len(each) > 1 and each[1] is None}
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


_Line = tuple[str, str, str, str, str, str]


def _fields(context: Context, given: Sequence[Any], aliases: Mapping[str, str]) -> _Line | None:
    """The six fields of a line; None if it is not to be written."""
    defaults = context.config.get("mount_default_fields", list(DEFAULTS))
    whole = [*given, *[None] * (6 - len(given))][:6]
    filled = [
        each if each not in (None, "None") else default
        for each, default in zip(whole, [*defaults, *DEFAULTS[len(defaults) :]], strict=False)
    ]
    if len(given) > 1 and given[1] is None:
        return None
    name, place = filled[0], filled[1]
    if not name or not place:
        context.warn(f"mounts: {list(given)} lacks where it is to be mounted, so it is left out")
        return None
    path = device(str(name), aliases)
    if not context.machine.root and path.startswith("/dev/") and not Path(path).exists() and "/" not in str(name):
        context.warn(f"mounts: there is no device {path}, so it is left out")
        return None
    if place != "none" and not str(place).startswith("/"):
        context.warn(f"mounts: {place!r} is no absolute path, so it is left out")
        return None
    _, _, fstype, options, dump, passes = (str(each) for each in filled)
    return path, str(place), fstype, options, dump, passes


def _write_fstab(context: Context, lines: Sequence[_Line], removed: set[str]) -> bool:
    """Our lines anew, in the place of those of an earlier boot; whether something changed."""
    present = context.read_text(FSTAB).splitlines()
    taken = {fields[1] for fields in lines if fields[1] != "none"}
    kept = [line for line in present if not _is_replaced(line, taken, removed)]
    new = ["\t".join(map(_escaped, (*fields[:3], f"{fields[3]},{MARK}", *fields[4:]))) for fields in lines]
    text = "\n".join([*kept, *new]) + "\n"
    return [*kept, *new] != present and context.write(FSTAB, text.encode(errors="surrogateescape"))


def _is_replaced(line: str, taken: set[str], removed: set[str]) -> bool:
    fields = line.split()
    if len(fields) < 3 or fields[0].startswith("#"):
        return False
    is_ours = len(fields) > 3 and MARK in fields[3].split(",")
    return is_ours or fields[1] in taken or fields[0] in removed


def _escaped(field: str) -> str:
    return re.sub(r"[ \t\n\\]", lambda found: f"\\{ord(found[0]):03o}", field)


def _mount(context: Context, lines: Sequence[_Line]) -> None:
    """What is not mounted yet. What cannot be mounted is told, and the rest goes on."""
    for _, place, fstype, options, *_ in lines:
        if fstype == "swap" or "noauto" in options.split(",") or _is_mounted(context, place):
            continue
        done = context.run(["mount", place], deadline_s=120)
        if not context.is_dry_run and not _is_mounted(context, place):  # with nofail it succeeds without a device too
            reason = " ".join(done.output.split()) or "there is no such device"
            context.warn(f"mounts: {place} is not mounted: {reason}")
    if any(fields[2] == "swap" for fields in lines):
        _use_swap(context)


def _is_mounted(context: Context, place: str) -> bool:
    text = (context.read("/proc/mounts") or b"").decode(errors="replace")
    return _escaped(place.rstrip("/") or "/") in {line.split()[1] for line in text.splitlines()}


def _use_swap(context: Context) -> None:
    """What fstab has of it, as far as it is not in use yet."""
    if context.is_dry_run:
        context.changed("use swap")
        return
    before = context.read("/proc/swaps")
    done = context.run_untold(["swapon", "-a"], deadline_s=60)
    if not done.is_success:
        context.warn(f"not all swap is in use: {' '.join(done.output.split())}")
    if context.read("/proc/swaps") != before:
        context.changed("swap is in use")


# Swap


def size_of(given: Any) -> int | None:
    """A size in bytes, perhaps with a unit; None if it is no size."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", str(given).strip().lower())
    return int(float(found[1]) * _UNITS[found[2]]) if found else None


def _make_swap(context: Context, given: Mapping[str, Any]) -> str | None:
    path: str = given.get("filename", "/swap.img")
    size = _automatic(context, path) if given.get("size", 0) == "auto" else size_of(given.get("size", 0))
    most = size_of(given["maxsize"]) if "maxsize" in given else None
    if size is None:
        context.warn(f"swap.size: {given.get('size')!r} is no size; write auto, or a number with K, M or G")
        return None
    size = size if most is None else min(size, most)
    if size <= 0:
        return None
    if not context.is_there(path):
        context.check_programs(f"making the swap file {path}")
        context.make_directories(path.rpartition("/")[0])
        argv = ["/bin/sh", "-c", _SWAP, "sh", path, str(max(1, size >> 20))]
        context.must_run(argv, what=f"make {path} of {size >> 20} MiB for swapping", deadline_s=600)
    return path


_SWAP = """
umask 077
: > "$1"; chattr +C "$1" 2>/dev/null
fallocate -l "${2}M" "$1" 2>/dev/null || dd if=/dev/zero of="$1" bs=1M count="$2" 2>/dev/null
mkswap "$1" || { rm -f "$1"; exit 1; }
"""


def _automatic(context: Context, path: str) -> int:
    """As much as there is memory, twice that for small machines, and never much of the free space."""
    text = (context.read("/proc/meminfo") or b"").decode() if not context.machine.root else ""
    found = re.search(r"MemTotal:\s+(\d+) kB", text)
    memory = int(found[1]) << 10 if found else 1 << 30
    wanted = 2 * memory if memory <= 2 << 30 else memory if memory <= 8 << 30 else memory // 2
    free = shutil.disk_usage(context.root).free
    return min(wanted, free // _MAX_FREE_SHARE)


class _Field(Shape):
    """A field of fstab: text, a number, or nothing."""

    name = "text"

    def clean(self, value: Any, path: Any, found: Any) -> Any:
        return None if value is None else Text().clean(value, path, found)


class _Fields(Shape):
    """A line of fstab as a list. Here an empty field says something."""

    name = "a list of up to six fields"

    def clean(self, value: Any, path: Any, found: Any) -> Any:
        if isinstance(value, str):
            value = value.split()
        if not isinstance(value, list) or not value or value[0] is None or len(value) > 6:
            return self.wrong(value, path, found)
        return [_Field().clean(each, (*path, at), found) for at, each in enumerate(value)]


class _Defaults(_Fields):
    def clean(self, value: Any, path: Any, found: Any) -> Any:
        if not isinstance(value, list) or len(value) > 6:
            return self.wrong(value, path, found)
        return [None if each in (None, "None") else str(each) for each in value]


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
            After("bootcmd", "bootcmd comes before everything that configures"),
            After("fs_setup", "what is mounted has a file system"),
            After("growing", "swap of automatic size looks at the free space"),
        ),
        waits=(FILES_OF_ROOT,),  # a file of the user's may have what a mount needs, a password for a share
        stage=Stage.NETWORK,  # homes and what else later modules write may lie on what is mounted
        is_wanted=lambda config: "mounts" in config or "swap" in config,
    ),
)

"""mounts and swap: write lines of fstab, and on the machine itself mount them immediately.

The lines are those of cloud-init (`tests/differential/boot/test_mounts.py` compares them). A line for a device that does not exist is
written too: the device may come later. A line that cannot be written, and a mount that fails without `nofail`, is a failure of the module.

An option of ours marks the lines that an earlier boot wrote; they are replaced, and all other lines stay. The module writes the lines
itself instead of using the resource type mount: swap has no mount point, and fstab is also written below a root without programs.
"""

import re
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from precast.base.errors import PrecastError
from precast.boot.modules import issues, services
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import ROOT_FILES_WRITTEN, Module, Predecessor, Stage
from precast.boot.modules.device_names import find_mount_source, is_remote
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import INVALID, Either, Fields, Items, Number, Table, Text, ValueSchema
from precast.resources.files import safe_reads

FSTAB = "/etc/fstab"
MARK = "x-precast-boot"
_CLOUD_INIT_MARK = "comment=cloudconfig"  # cloud-init may have booted the machine from which the image was made
DEFAULTS = (None, None, "auto", "defaults,nofail", "0", "2")
_FREE_SPACE_DIVISOR = 4  # swap of automatic size takes at most this fraction of the free space
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


_FstabLine = tuple[str, str, str, str, str, str]


def run(context: ModuleContext) -> ModuleOutcome:
    """Write fstab and mount its lines. Raises UnavailableError BOOT-203 after the others if a line could not be written or mounted."""
    failures: list[str] = []
    lines = _complete_lines(context, failures)
    swap = _make_swap(context, context.config["swap"], failures) if "swap" in context.config else None
    if swap:
        lines.append((swap, "none", "swap", "sw", "0", "0"))
    has_changed = _write_fstab(context, lines)
    for fields in lines:
        if fields[1].startswith("/"):
            context.make_directories(_unescape(fields[1]))
    if not context.machine.root:
        if has_changed:
            services.reread_units(context)
        _mount(context, lines, failures)
    if failures:
        raise issues.SOME_FAILED.error(what="mounts and swap", failures="; ".join(failures))
    return context.outcome


def _complete_lines(context: ModuleContext, failures: list[str]) -> list[_FstabLine]:
    """Return the lines to write. An entry without a mount point removes the earlier entries for its device, as in cloud-init."""
    lines: list[_FstabLine] = []
    for number, entry in enumerate(context.config.get("mounts", []), 1):
        if not entry:
            failures.append(f"line {number} of mounts is not a list of up to six fields, so it is not written")
            continue
        source = find_mount_source(context, entry[0], context.config.get("device_aliases", {}))
        fields = _complete_fields(source, entry, context.config.get("mount_default_fields", list(DEFAULTS)))
        if fields is None:
            lines = [line for line in lines if line[0] != source]
        else:
            lines.append(fields)
    return lines


def _complete_fields(source: str, entry: Sequence[Any], defaults: Sequence[Any]) -> _FstabLine | None:
    """Return the six fields of a line, completed by the defaults; None if there is no mount point."""
    given = [source, *entry[1:], *[None] * (6 - len(entry))]
    defaults = [*defaults, *DEFAULTS[len(defaults) :]]
    completed = [default if field in (None, "None") else field for field, default in zip(given, defaults, strict=True)]
    if completed[1] is None:
        return None
    if given[3] is None and completed[3] == DEFAULTS[3] and is_remote(source):
        completed[3] = f"{completed[3]},_netdev"  # the type alone does not tell systemd that the network must be up
    _, mount_point, fstype, options, dump, passes = (str(field) for field in completed)
    return source, mount_point, fstype, options, dump, passes


def _write_fstab(context: ModuleContext, lines: Sequence[_FstabLine]) -> bool:
    """Replace the lines that an earlier boot wrote by these lines. Returns whether fstab changed."""
    present = context.read_text(FSTAB).splitlines()
    mount_points = {_escape(fields[1]) for fields in lines if fields[1].startswith("/")}
    kept = [line for line in present if not _is_replaced(line, mount_points)]
    new = ["\t".join(map(_escape, (*fields[:3], f"{fields[3]},{MARK}", *fields[4:]))) for fields in lines]
    text = "\n".join([*kept, *new]) + "\n"
    return [*kept, *new] != present and context.write(FSTAB, text.encode(errors="surrogateescape"))


def _is_replaced(line: str, mount_points: set[str]) -> bool:
    fields = line.split()
    if len(fields) < 3 or fields[0].startswith("#"):
        return False
    is_ours = len(fields) > 3 and bool({MARK, _CLOUD_INIT_MARK}.intersection(fields[3].split(",")))
    return is_ours or fields[1] in mount_points


def _escape(field: str) -> str:
    """Escape blanks as fstab requires. A backslash stays: whoever writes fstab's own escapes means them."""
    return re.sub(r"[ \t\n]", lambda match: f"\\{ord(match[0]):03o}", field)


def _unescape(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def _mount(context: ModuleContext, lines: Sequence[_FstabLine], failures: list[str]) -> None:
    """Mount the lines that are not mounted yet. A mount that fails does not prevent the next; with nofail it is a warning."""
    for source, mount_point, fstype, options, *_ in lines:
        is_wanted = fstype != "swap" and mount_point.startswith("/") and "noauto" not in options.split(",")
        if not is_wanted or _is_mounted(context, mount_point):
            continue
        result = context.run(["mount", _unescape(mount_point)], deadline_s=120)
        if context.is_dry_run or _is_mounted(context, mount_point):
            continue
        reason = " ".join(result.output.split()) or f"the device {source} does not exist"  # nofail: mount is silent
        text = f"{mount_point} is not mounted: {reason}"
        if "nofail" in options.split(","):
            context.warn(f"mounts: {text}")
        else:
            failures.append(text)
    if any(fields[2] == "swap" for fields in lines):
        _use_swap(context)


def _is_mounted(context: ModuleContext, mount_point: str) -> bool:
    text = (context.read("/proc/mounts") or b"").decode(errors="surrogateescape")
    wanted = _unescape(mount_point).rstrip("/") or "/"
    return wanted in {_unescape(line.split()[1]) for line in text.splitlines()}


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


def _make_swap(context: ModuleContext, settings: Mapping[str, Any], failures: list[str]) -> str | None:
    """Make the swap file unless it exists, and return its path; None without one. A failure must not prevent the mounts."""
    path: str = settings.get("filename", "/swap.img")
    requested = settings.get("size", 0)
    size = _choose_swap_size(context) if requested == "auto" else parse_size(requested)
    limit = parse_size(settings["maxsize"]) if "maxsize" in settings else None
    if size is None:
        failures.append(f"swap.size: {requested!r} is not a size; write auto, or a number with K, M or G")
        return None
    size = size if limit is None else min(size, limit)
    if size <= 0:
        return None
    if not context.exists(path):
        directory = path.rpartition("/")[0]
        # The programs that make it follow links, and whoever puts one there could have any file overwritten.
        if (reason := safe_reads.find_distrust(safe_reads.node_parents(context.machine), directory)) is not None:
            failures.append(f"the swap file {path} is not made: {reason}")
            return None
        argv = ["/bin/sh", "-c", SWAP_SCRIPT, "sh", path, str(max(1, size >> 20))]
        try:
            context.require_programs(f"making the swap file {path}")
            context.make_directories(directory)
            context.must_run(argv, what=f"make the swap file {path} of {size >> 20} MiB", deadline_s=600)
        except PrecastError as error:
            failures.append(error.message)
            return None
    return path


# The file gets its name at the end: one that exists is whole, also after a boot that was cut off, or a disk that was full.
SWAP_SCRIPT = """
umask 077
new="$1.precast-new"
rm -f "$new"; : > "$new" || exit 1; chattr +C "$new" 2>/dev/null
{ fallocate -l "${2}M" "$new" 2>/dev/null || dd if=/dev/zero of="$new" bs=1M count="$2"; } &&
mkswap "$new" && { sync "$new" 2>/dev/null || sync; } && mv "$new" "$1" || { rm -f "$new"; exit 1; }
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
    """A line of fstab as a list. An empty field is meaningful: it takes the default.

    A line that cannot be used stays as an empty list, so that the module fails for it instead of leaving it out.
    """

    name = "a list of up to six fields"

    def clean(self, value: Any, path: Any, findings: Any) -> Any:
        if isinstance(value, str):
            value = value.split()
        if not isinstance(value, list) or not value or value[0] is None or len(value) > 6:
            self.reject(value, path, findings, "write device, mount point, type, options, dump, pass")
            return []
        fields = [_Field().clean(field, (*path, index), findings) for index, field in enumerate(value)]
        return [] if INVALID in fields else fields


class _Defaults(ValueSchema):
    name = "a list of up to six fields"

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

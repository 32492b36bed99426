"""Collects what can be known without asking anybody. It costs a few reads of small files, and spares questions that nobody would answer."""

from pathlib import Path

from precast.boot.sources.contract import Evidence
from precast.resources.files import places

DMI = "/sys/class/dmi/id"
DMI_NAMES = (
    "sys_vendor", "product_name", "product_serial", "product_uuid", "product_version", "chassis_asset_tag", "chassis_vendor",
    "board_vendor", "bios_vendor",
)  # fmt: skip
LABELS = "/dev/disk/by-label"
LXD = "/dev/lxd/sock"
_MAX_BYTES = 16 * 1024


def collect(root: Path) -> Evidence:
    """The evidence below a root. What cannot be read is not there: only root reads serial numbers."""
    base = "" if root == Path("/") else str(root)
    dmi = {name: text for name in DMI_NAMES if (text := _line(base, f"{DMI}/{name}"))}
    return Evidence(
        dmi=dmi, command_line=_line(base, "/proc/cmdline"), labels=_labels(base), has_lxd=_exists(base, LXD)
    )


def _line(base: str, path: str) -> str:
    try:
        with Path(places.inside(base, path, is_followed=True)).open("rb") as file:
            return file.read(_MAX_BYTES).decode(errors="replace").strip("\n\0 ")
    except OSError:
        return ""


def _exists(base: str, path: str) -> bool:
    return Path(places.inside(base, path, is_followed=True)).exists()


def _labels(base: str) -> dict[str, Path]:
    """Labels as udev has found them. It writes an odd character as \\x and two digits; those are not ours."""
    try:
        names = sorted(each.name for each in Path(places.inside(base, LABELS, is_followed=True)).iterdir())
    except OSError:
        return {}
    found = {name.lower(): Path(places.inside(base, f"{LABELS}/{name}", is_followed=True)) for name in names}
    return {label: device.resolve() if not base else device for label, device in found.items()}

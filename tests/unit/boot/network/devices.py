"""A scratch /sys/class/net, and tools that look installed."""

from pathlib import Path

INSTALLED = {
    "netplan": "usr/sbin/netplan",
    "eni": "usr/sbin/ifup",
    "network-manager": "usr/sbin/NetworkManager",
    "networkd": "usr/lib/systemd/systemd-networkd",
}


def add_device(
    root: Path, name: str, mac: str = "52:54:00:00:00:01", *, carrier: str | None = "1", **files: str
) -> None:
    """A device as the kernel shows it; without `carrier` it is down, and that file cannot be read."""
    place = root / "sys/class/net" / name
    place.mkdir(parents=True)
    given = {"address": mac, "type": "1", "uevent": f"INTERFACE={name}", **files}
    for file, text in given.items():
        (place / file).write_text(f"{text}\n")
    if carrier is not None:
        (place / "carrier").write_text(f"{carrier}\n")


def install(root: Path, *renderers: str) -> None:
    for name in renderers:
        path = root / INSTALLED[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)

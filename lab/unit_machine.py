"""A copy of this machine with the units of a boot and a NoCloud seed, to run under a real systemd."""

from pathlib import Path

from lab.overlay import OverlayRoot
from lab.server_process import PRECAST

PACKAGING = Path(__file__).resolve().parents[1] / "packaging" / "systemd"
UNITS = "usr/lib/systemd/system"
STAGES = ("local", "network", "config", "final")
SEED = "var/lib/cloud/seed/nocloud"
# What waits for a network, which the namespace has not, and what would empty /tmp, where a clone may lie.
MASKED = (
    "NetworkManager.service", "NetworkManager-wait-online.service", "networking.service", "ifupdown-wait-online.service",
    "systemd-networkd-wait-online.service", "systemd-tmpfiles-setup.service", "tmp.mount",
)  # fmt: skip


def make_unit_machine(base: Path, user_data: str) -> OverlayRoot:
    """Make a machine whose precast-boot.target runs all stages of a boot."""
    root = OverlayRoot(base)
    for path in PACKAGING.glob("precast-boot*"):
        place = "usr/lib/systemd/system-generators" if path.name.endswith("-generator") else UNITS
        root.write(f"{place}/{path.name}", path.read_text(), path.stat().st_mode & 0o777)
    for stage in STAGES:
        link = root.written(f"etc/systemd/system/precast-boot.target.wants/precast-boot-{stage}.service")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"/{UNITS}/precast-boot-{stage}.service")
    for name in MASKED:
        root.written(f"etc/systemd/system/{name}").symlink_to("/dev/null")
    root.written("usr/bin").mkdir(parents=True, exist_ok=True)
    root.write("usr/bin/precast", f'#!/bin/sh\nexec {PRECAST} "$@"\n', 0o755)
    root.write(f"{SEED}/meta-data", "instance-id: i-units\n")
    root.write(f"{SEED}/user-data", user_data)
    root.write(f"{SEED}/network-config", "version: 2\nethernets: {eth0: {dhcp4: true}}\n")
    return root

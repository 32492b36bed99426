"""Root directories with Debian's minimal system: `python -m lab.debian_root` creates them once (two minutes, 600 MB, from Debian's mirror).

Tests mount an overlay over them inside a mount namespace, so that a root never changes and no mount is left behind. One root is the
minimal system; the other also has cloud-init and what Debian's cloud images come with, for comparisons of whole boots.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

PLACE = Path(os.environ.get("PRECAST_DEBIAN_ROOT", "/var/cache/precast-lab/bookworm"))
CLOUD_PLACE = PLACE.with_name(f"{PLACE.name}-cloud")
# Packages that a boot configures and the minimal system lacks.
PACKAGES = "ifupdown,openssh-server,systemd"
# debootstrap does not resolve virtual packages: python3-cffi-backend is one that cloud-init needs.
CLOUD_PACKAGES = f"{PACKAGES},ca-certificates,cloud-init,gnupg,python3-cffi-backend,rsyslog,sudo"


def why_not(place: Path = PLACE) -> str | None:
    """The reason why this machine has no such root, or None if it has one."""
    if os.geteuid() != 0:
        return "needs root: namespaces, mounts, chroot"
    return None if (place / "usr/bin/dpkg").exists() else f"needs a Debian root in {place}: python -m lab.debian_root"


def _make(place: Path, packages: str) -> None:
    if why_not(place) is None:
        return
    unfinished = place.with_name(f"{place.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", unfinished], check=True)
    unfinished.rename(place)


def main() -> int:
    _make(PLACE, PACKAGES)
    _make(CLOUD_PLACE, CLOUD_PACKAGES)
    return 0


if __name__ == "__main__":
    sys.exit(main())

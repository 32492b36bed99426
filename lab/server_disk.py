"""Runs a real server whose database is on a disk that runs full: `unshare -m python -m lab.server_disk DIRECTORY`.

It runs in its own mount namespace, so the disk disappears with the process. It prints one JSON document, which the test checks.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

from lab.server_process import PRECAST
from lab.site import Site
from lab.small_disk import fill, mount

DEADLINE_S = 60.0
MEGABYTES = 16


def create_token(site: Site) -> tuple[int, str]:
    """The exit code and the error of a command that writes to the database."""
    done = subprocess.run(
        [PRECAST, "token", "enrol", "web1"], env=site.environment, capture_output=True, text=True, timeout=DEADLINE_S
    )
    return done.returncode, done.stderr


def wait_for(site: Site, text: str) -> None:
    deadline_s = time.monotonic() + DEADLINE_S
    while text not in site.log:
        assert time.monotonic() < deadline_s, site.log
        time.sleep(0.1)


def main() -> None:
    directory = Path(sys.argv[1])
    disk = directory / "disk"
    disk.mkdir()
    mount(disk, MEGABYTES)
    with Site(directory / "data", str(disk / "precast.db")) as site:
        before = create_token(site)
        fill(disk / "ballast", 0)
        full = [create_token(site) for _ in range(3)]
        wait_for(site, "STORE-006")
        (disk / "ballast").unlink()
        after = create_token(site)
        wait_for(site, "stores again")
        is_running = site.is_running()
        log = site.log
    print(json.dumps({"before": before, "full": full, "after": after, "is_running": is_running, "log": log}))


if __name__ == "__main__":
    main()

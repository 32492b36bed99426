"""Writes fstab with our own mounts module, for the configurations that `lab.cloud_init_mounts` reads, in a copy of the machine."""

import json
import sys
from pathlib import Path
from typing import Any

from tests.unit.boot.modules import scratch

FSTAB = Path("/etc/fstab")


def write_fstab(case: Any, state: Path) -> str:
    FSTAB.write_text(case["fstab"])
    ran = scratch.run(case["config"], None, only=("mounts",), state=state)
    error = ran.errors.get("mounts")
    return FSTAB.read_text() if error is None else f"failed: {error.message}\n{FSTAB.read_text()}"


def main() -> None:
    cases = json.load(sys.stdin)
    json.dump({name: write_fstab(case, Path("/root/state")) for name, case in cases.items()}, sys.stdout)


if __name__ == "__main__":
    main()

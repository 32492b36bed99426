"""Writes fstab with the mounts module of Debian's cloud-init, for configurations on standard input. The system's Python runs it, in a copy
of the machine whose devices are the test's own.

It reads {name: {"config": ..., "fstab": text}} as JSON and writes {name: text}; where the module fails, the text is "failed: " and the
reason. Nothing is mounted: the commands that would do so are not run.
"""

import json
import logging
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FSTAB = Path("/etc/fstab")


def write_fstab(module: Any, case: Any) -> str:
    FSTAB.write_text(case["fstab"])
    # A data source without a mapping of device names, like NoCloud.
    cloud = SimpleNamespace(distro=SimpleNamespace(uses_systemd=lambda: True), device_name_to_device=lambda _: None)
    try:
        module.handle("mounts", case["config"], cloud, logging.getLogger(), [])
    except Exception as error:  # noqa: BLE001 - the boundary: every failure is reported as an answer
        return f"failed: {type(error).__name__}: {error}"
    return FSTAB.read_text()


def main() -> None:
    from cloudinit import subp  # type: ignore[import-not-found]
    from cloudinit.config import cc_mounts  # type: ignore[import-not-found]

    subp.subp = lambda *_, **__: ("", "")
    answers = {name: write_fstab(cc_mounts, case) for name, case in json.load(sys.stdin).items()}
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()

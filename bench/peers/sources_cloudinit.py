"""Searches the services of the benchmark with the classes of Debian's cloud-init and its default timeouts. For /usr/bin/python3.

Each class first checks whether the firmware names its platform, and none would search here; so that check is replaced by one that
succeeds, as on a machine whose firmware cannot tell. The machine is not changed: all directories are temporary.
"""

import json
import logging
import tempfile
import time

from cloudinit import distros, helpers, sources  # type: ignore[import-not-found,unused-ignore]
from cloudinit.reporting import events  # type: ignore[import-not-found,unused-ignore]
from cloudinit.sources import (  # type: ignore[import-not-found,unused-ignore]
    DataSourceDigitalOcean,
    DataSourceGCE,
    DataSourceHetzner,
    DataSourceOpenStack,
)

HOST = "http://169.254.169.254"
SILENT, SLOW, WRONG, REDIRECT, RIGHT, REFUSED = 8001, 8002, 8003, 8004, 8005, 8006
CONFIG = {
    "datasource_list": ["OpenStack", "GCE", "DigitalOcean", "Hetzner", "Ec2", "NoCloud"],
    "datasource": {
        "OpenStack": {"metadata_urls": [f"{HOST}:{SILENT}"]},
        "GCE": {"metadata_url": f"{HOST}:{REFUSED}/"},
        "DigitalOcean": {"metadata_url": f"{HOST}:{SLOW}/"},
        "Hetzner": {"metadata_url": f"{HOST}:{WRONG}"},
        "Ec2": {"metadata_urls": [f"{HOST}:{REDIRECT}"]},
        "NoCloud": {"seedfrom": f"{HOST}:{RIGHT}/"},
    },
}


def main() -> None:
    logging.disable(logging.CRITICAL)
    DataSourceOpenStack.detect_openstack = lambda accept_oracle=False: True
    DataSourceGCE.platform_reports_gce = lambda: True
    DataSourceDigitalOcean.DataSourceDigitalOcean._get_sysinfo = lambda self: (True, "1")
    DataSourceHetzner.get_hcloud_data = lambda: (True, "1")
    with tempfile.TemporaryDirectory() as place:
        paths = helpers.Paths({"cloud_dir": place, "run_dir": place, "templates_dir": place})
        distro = distros.fetch("debian")("debian", CONFIG, paths)
        reporter = events.ReportEventStack("bench", "bench", reporting_enabled=False)
        needed = [sources.DEP_FILESYSTEM, sources.DEP_NETWORK]
        started = time.perf_counter()
        _, name = sources.find_source(
            CONFIG, distro, paths, needed, CONFIG["datasource_list"], ["cloudinit.sources"], reporter
        )
        print(json.dumps({"cloudinit_s": round(time.perf_counter() - started, 3), "cloudinit_found": name}))


if __name__ == "__main__":
    main()

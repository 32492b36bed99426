"""The local stage on a machine without any network: it brings a device up, asks the metadata service, writes the network, and leaves."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab import cable, overlay
from lab.cable import MAC, Cable
from lab.overlay import OverlayRoot
from lab.server_process import PRECAST

pytestmark = [
    pytest.mark.needs("ip"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: network namespaces"),
    pytest.mark.skipif(overlay.why_not() is not None, reason=str(overlay.why_not())),
]
IMAGE = """system_info: {network: {renderers: [networkd]}}
growpart: {mode: off}
resize_rootfs: false
"""
META = "latest/meta-data"
FILES = {
    f"{META}/instance-id": "i-local",
    f"{META}/local-hostname": "by-the-cloud",
    f"{META}/network/interfaces/macs/{MAC}/device-number": "0",
    f"{META}/network/interfaces/macs/{MAC}/local-ipv4s": "192.0.2.77\n192.0.2.78",
    f"{META}/network/interfaces/macs/{MAC}/subnet-ipv4-cidr-block": "192.0.2.0/24",
}


@contextlib.contextmanager
def cloud(line: Cable, directory: Path) -> Iterator[None]:
    """A DHCP server and a metadata service on the other side of the cable."""
    (directory / "files.json").write_text(json.dumps(FILES))
    programs = (
        ("lab.dhcp_server", "srv0", "192.0.2.77", "192.0.2.1", "--router", "192.0.2.1"),
        ("lab.metadata_service", str(directory / "files.json")),
    )
    cable.run("ip", "-n", line.other, "address", "add", "169.254.169.254/32", "dev", "lo")
    with contextlib.ExitStack() as stack:
        for words in programs:
            command = line.on_other(sys.executable, "-u", "-m", *words)
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield


def test_local_stage_asks_over_a_device_that_it_brings_up_and_takes_down(tmp_path: Path) -> None:
    machine = OverlayRoot(tmp_path / "machine")
    machine.write("/etc/cloud/cloud.cfg.d/99-test.cfg", IMAGE)
    script = (
        f"{PRECAST} boot run --stage local --source ec2; echo code $?; ip -j address show dev eth0; cat /etc/hostname;"
        f"{PRECAST} boot run --stage network --source ec2"
    )
    with cable.laid() as line, cloud(line, tmp_path):
        command = ["unshare", "--uts", *machine.command(["sh", "-c", script])]
        done = subprocess.run(line.on_machine(*command), capture_output=True, text=True, timeout=100, check=False)
    said, _, after = done.stdout.partition("code ")
    assert after.startswith("0\n"), done.stdout + done.stderr
    assert "source ec2: here: http://169.254.169.254, instance i-local" in said
    shown, name, *later = after.removeprefix("0\n").strip().splitlines()
    (device,) = json.loads(shown)
    assert "UP" not in device["flags"]
    assert [address for address in device["addr_info"] if address["family"] == "inet"] == []
    assert name == "by-the-cloud"
    text = machine.written("/etc/systemd/network/10-precast-nic0.network").read_text()
    assert f"PermanentMACAddress={MAC}\n" in text
    assert "DHCP=ipv4\nAddress=192.0.2.78/24\n" in text
    # The device is down, so no source can have been asked again.
    assert "source ec2: here: http://169.254.169.254 (cached), instance i-local" in later

"""The network is brought up for data sources and restored: our DHCP client against a server, in namespaces."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from lab import cable
from lab.cable import Cable

pytestmark = [
    pytest.mark.needs("ip"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: network namespaces"),
]
# Brings the network up, fetches a page from the other side, and prints the state before, during and after.
SCRIPT = """
import asyncio, json, socket, subprocess, sys, urllib.request
from precast.boot.network.devices import temporary_network

def state():
    run = lambda *words: json.loads(subprocess.run(["ip", "-j", *words], capture_output=True, check=True).stdout)
    (device,) = run("address", "show", "dev", "eth0")
    addresses = [address["local"] for address in device["addr_info"] if address["family"] == "inet"]
    return {"is_up": "UP" in device["flags"], "addresses": addresses, "routes": [route["dst"] for route in run("route")]}

async def main():
    notes = []
    result = {"before": state()}
    async with temporary_network.brought_up(deadline_s=float(sys.argv[1]), note=notes.append) as address:
        result["raised"] = address and address._asdict()
        result["within"] = state()
        if len(sys.argv) > 2:
            result["page"] = await asyncio.to_thread(lambda: urllib.request.urlopen(sys.argv[2], timeout=5).read().decode())
    print(json.dumps(result | {"after": state(), "notes": notes}))

asyncio.run(main())
"""


def brought_up(line: Cable, deadline_s: float = 20, url: str = "") -> Any:
    words = line.on_machine(sys.executable, "-c", SCRIPT, str(deadline_s), *([url] if url else []))
    done = subprocess.run(words, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextlib.contextmanager
def served(line: Cable, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a program on the other side, and wait until it reports ready."""
    command = line.on_other(sys.executable, "-u", *words)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


DHCP = ("-m", "lab.dhcp_server", "srv0", "192.0.2.77", "192.0.2.1", "--router", "192.0.2.1")


def test_lease_is_used_and_undone() -> None:
    with cable.laid() as line, served(line, *DHCP), served(line, "-m", "http.server", "8000"):
        # A gateway leads to the page of another network, so the route of the lease is what is tried.
        cable.run("ip", "-n", line.other, "address", "add", "198.51.100.1/32", "dev", "lo")
        result = brought_up(line, url="http://198.51.100.1:8000/")
    assert result["raised"] == {
        "device": "eth0", "address": "192.0.2.77/24", "how": "DHCP from 192.0.2.1", "nameservers": [],
    }  # fmt: skip
    assert result["within"]["addresses"] == ["192.0.2.77"]
    assert "default" in result["within"]["routes"]
    assert "Directory listing" in result["page"]
    assert result["before"] == result["after"] == {"is_up": False, "addresses": [], "routes": []}
    assert result["notes"] == ["eth0: 192.0.2.77/24 from 192.0.2.1"]


def heard(server: "subprocess.Popen[str]") -> list[tuple[str, int]]:
    """The messages that a DHCP server received: a client without an answer in time retries."""
    server.kill()
    assert server.stdout is not None
    return [(kind, len(list(lines))) for kind, lines in itertools.groupby(server.stdout.read().split())]


def test_question_that_got_lost_is_asked_again() -> None:
    with cable.laid() as line, served(line, *DHCP, "--silent", "1") as server:
        assert brought_up(line)["raised"]["address"] == "192.0.2.77/24"
        (question, times), (then, _) = heard(server)
    assert (question, then) == ("discover", "request")
    assert times >= 2


def test_refused_client_begins_again() -> None:
    with cable.laid() as line, served(line, *DHCP, "--nak") as server:
        assert brought_up(line)["raised"]["address"] == "192.0.2.77/24"
        said = [kind for kind, _ in heard(server)]
    assert said == ["discover", "request", "discover", "request"]


def test_without_a_server_a_link_local_address_reaches_the_metadata() -> None:
    with cable.laid("169.254.169.254/16") as line, served(line, "-m", "http.server", "8000"):
        result = brought_up(line, deadline_s=0.5, url="http://169.254.169.254:8000/")
    assert result["raised"]["how"] == "link-local"
    assert result["raised"]["address"].startswith("169.254.")
    assert "Directory listing" in result["page"]
    assert result["after"] == {"is_up": False, "addresses": [], "routes": []}
    assert result["notes"] == ["eth0: no lease (no server answered within 0.5 s)"]


def test_machine_that_is_online_is_left_alone() -> None:
    with cable.laid() as line:
        for words in ("link set eth0 up", "address add 192.0.2.5/24 dev eth0", "route add default via 192.0.2.1"):
            cable.run("ip", "-n", line.machine, *words.split())
        result = brought_up(line)
    assert result["raised"] is None
    assert result["before"] == result["after"]
    assert result["notes"] == ["the machine is online already"]


def renamed(line: Cable, **moves: str) -> Any:
    script = f"import json; from precast.boot.network.devices import renames; print(json.dumps(list(renames.rename_devices({moves}))))"
    return json.loads(cable.run(*line.on_machine(sys.executable, "-c", script)))


def devices(line: Cable) -> dict[str, str]:
    shown = json.loads(cable.run("ip", "-n", line.machine, "-j", "link"))
    return {link["address"]: link["ifname"] for link in shown if link["ifname"] != "lo"}


def test_devices_swap_their_names() -> None:
    with cable.laid() as line:
        cable.run("ip", "-n", line.machine, "link", "add", "eth1", "type", "veth", "peer", "name", "far1")
        before = devices(line)
        assert renamed(line, eth0="eth1", eth1="eth0") == [["eth0", "eth1", ""], ["eth1", "eth0", ""]]
        swapped = {"eth0": "eth1", "eth1": "eth0"}
        assert devices(line) == {mac: swapped.get(name, name) for mac, name in before.items()}


def test_device_whose_name_is_taken_keeps_its_own() -> None:
    with cable.laid() as line:
        cable.run("ip", "-n", line.machine, "link", "add", "eth1", "type", "veth", "peer", "name", "far1")
        before = devices(line)
        assert renamed(line, eth0="eth1") == [["eth0", "eth1", "File exists"]]
        assert devices(line) == before


def test_device_that_is_in_use_keeps_its_name() -> None:
    with cable.laid() as line:
        cable.run("ip", "-n", line.machine, "link", "set", "eth0", "up")
        ((old, new, reason),) = renamed(line, eth0="lan0")
        assert (old, new) == ("eth0", "lan0")
        assert reason.startswith("it is in use")
        assert "eth0" in devices(line).values()

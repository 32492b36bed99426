"""Strangers with a whole IPv6 network, in a network namespace of their own.

    unshare --net python -m lab.ipv6_strangers DIRECTORY

Starts a server on an address of the documentation's network, sends one request from each of many addresses, and prints the statuses as
one JSON object: of addresses in one /64, of addresses in many /64 of one /48, and of one address elsewhere.
"""

import json
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lab.site import Site
from precast.base import https

SERVER = "2001:db8:ffff::1"
COUNT = 120
# A burst of 10 requests for each source, and of 40 for a /48.
WORDS = ["--requests-per-second", "1"]


def send_each(site: Site, sources: Sequence[str]) -> Counter[int]:
    """Send a request from each address and count the statuses."""
    context = https.trust_authority(Path(site.environment["PRECAST_CA"]).read_text())
    context.check_hostname = False
    statuses: Counter[int] = Counter()
    for source in sources:
        dialled = socket.create_connection((SERVER, site.port), 30, source_address=(source, 0))
        with context.wrap_socket(dialled, server_hostname=SERVER) as connection:
            connection.sendall(b"GET /v1/authority HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            statuses[int(connection.recv(100).split()[1])] += 1
    return statuses


def main(directory: Path) -> None:
    # Every address of these networks belongs to this machine.
    for command in (
        "ip link set lo up",
        "ip -6 route add local 2001:db8::/32 dev lo",
        "sysctl -qw net.ipv6.ip_nonlocal_bind=1",
    ):
        subprocess.run(command.split(), check=True)
    with Site(directory, words=[*WORDS]) as site:
        site.stop()
        site.words = [*WORDS, "--listen", f"[{SERVER}]:{site.port}"]
        site.start()
        found = {
            "one /64": send_each(site, [f"2001:db8:1:1::{number:x}" for number in range(1, COUNT + 1)]),
            "another /48": send_each(site, ["2001:db8:2:1::1"]),
            "one /48": send_each(site, [f"2001:db8:3:{number:x}::1" for number in range(2 * COUNT)]),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

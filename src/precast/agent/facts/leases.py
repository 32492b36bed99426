"""Which DHCP server gave an interface its address, as the usual clients write it down."""

import re

from precast.agent.facts.machine import Machine

_DHCLIENT = ("/var/lib/dhclient", "/var/lib/dhcp", "/var/lib/dhcp3", "/var/lib/NetworkManager", "/var/db")


def server_of(machine: Machine, name: str, index: int) -> str | None:
    """The server's address; None if no client left a lease for this interface."""
    return (
        _assigned(machine, f"/run/systemd/netif/leases/{index}")
        or _of_dhclient(machine, name)
        or _of_network_manager(machine, name)
    )


def _assigned(machine: Machine, path: str) -> str | None:
    found = re.search(r"(?m)^SERVER_ADDRESS=(\S+)", machine.read_text(path) or "")
    return found[1] if found else None


def _of_dhclient(machine: Machine, name: str) -> str | None:
    for directory in _DHCLIENT:
        for file in machine.names_in(directory):
            if re.search(r"dhclient.*\.lease", file):
                text = machine.read_text(f"{directory}/{file}") or ""
                given = re.findall(r"dhcp-server-identifier\s+([0-9.]+)", text)
                if given and re.search(rf'interface\s+"{re.escape(name)}"', text):
                    return str(given[-1])  # leases are appended: the last one holds
    return None


def _of_network_manager(machine: Machine, name: str) -> str | None:
    directory = "/var/lib/NetworkManager"
    files = [file for file in machine.names_in(directory) if file.startswith("internal")]
    return next((_assigned(machine, f"{directory}/{file}") for file in files if file.endswith(f"-{name}.lease")), None)

"""Which DHCP server gave an interface its address, from the lease files of the usual clients."""

import re

from precast.agent.facts.machine import Machine

_SYSTEMD = "/run/systemd/netif/leases"
_NETWORK_MANAGER = "/var/lib/NetworkManager"
_DHCLIENT = ("/var/lib/dhclient", "/var/lib/dhcp", "/var/lib/dhcp3", _NETWORK_MANAGER, "/var/db")


class Leases:
    """The leases of a machine, listed once for all its interfaces."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._systemd = set(machine.names_in(_SYSTEMD))
        self._network_manager = [
            name for name in machine.names_in(_NETWORK_MANAGER) if re.fullmatch(r"internal.*\.lease", name)
        ]
        self._dhclient = [
            machine.read_text(f"{directory}/{name}") or ""
            for directory in _DHCLIENT
            for name in machine.names_in(directory)
            if re.search(r"dhclient.*\.lease", name)
        ]

    def server_of(self, name: str, number: int) -> str | None:
        """The server's address; None if no client left a lease for this interface."""
        if str(number) in self._systemd and (server := self._read_server(f"{_SYSTEMD}/{number}")):
            return server
        for text in self._dhclient:
            servers = re.findall(r"dhcp-server-identifier\s+([0-9.]+)", text)
            if servers and re.search(rf'interface\s+"{re.escape(name)}"', text):
                return str(servers[-1])  # leases are appended: the last one is current
        files = (file for file in self._network_manager if file.endswith(f"-{name}.lease"))
        return next((self._read_server(f"{_NETWORK_MANAGER}/{file}") for file in files), None)

    def _read_server(self, path: str) -> str | None:
        match = re.search(r"(?m)^SERVER_ADDRESS=(\S+)", self._machine.read_text(path) or "")
        return match[1] if match else None

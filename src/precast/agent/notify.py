"""Notifies systemd of the daemon's state by its datagram protocol. Without systemd it does nothing."""

import contextlib
import os
import socket
from collections.abc import Mapping


class Notifier:
    """Sends notifications to the socket of the service manager; `watchdog_s` is how often it expects a sign of life."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        is_for_us = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        timeout_us = environment.get("WATCHDOG_USEC", "")
        # Half of the timeout, as systemd's manual recommends.
        self.watchdog_s = int(timeout_us) / 2_000_000 if is_for_us and timeout_us.isdecimal() else None

    def notify(self, **values: str) -> None:
        """Send one or more NAME=value. A missing receiver is not an error."""
        if not self._address:
            return
        text = "\n".join(f"{name}={value}" for name, value in values.items())
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.setblocking(False)
            out.sendto(text.encode(), self._address)

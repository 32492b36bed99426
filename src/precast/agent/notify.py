"""Tells systemd how we are, by its plain datagram protocol; without systemd it tells nobody."""

import contextlib
import os
import socket
from collections.abc import Mapping


class Notifier:
    """Where to tell, and how often to say that we are alive."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        address = environment.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        is_for_us = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        given = environment.get("WATCHDOG_USEC", "")
        # Half of what is allowed, as its manual advises.
        self.watchdog_s = int(given) / 2_000_000 if is_for_us and given.isdecimal() else None

    def tell(self, **words: str) -> None:
        """Say NAME=word, one or more of them. Nobody listening is no failure of ours."""
        if not self._address:
            return
        text = "\n".join(f"{name}={word}" for name, word in words.items())
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.setblocking(False)
            out.sendto(text.encode(), self._address)

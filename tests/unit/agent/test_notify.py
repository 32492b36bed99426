"""Notifications to systemd."""

import os
import socket
from pathlib import Path

from precast.agent.notify import Notifier


def test_notification_goes_to_the_socket_that_systemd_names(tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(path)
        Notifier({"NOTIFY_SOCKET": path}).notify(READY="1", STATUS="begun")
        assert listening.recv(1000) == b"READY=1\nSTATUS=begun"


def test_abstract_socket_is_supported() -> None:
    name = f"precast-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0{name}")
        Notifier({"NOTIFY_SOCKET": f"@{name}"}).notify(WATCHDOG="1")
        assert listening.recv(1000) == b"WATCHDOG=1"


def test_without_systemd_nothing_is_sent_and_nothing_fails(tmp_path: Path) -> None:
    Notifier({}).notify(READY="1")
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).notify(READY="1")


def test_watchdog_is_fed_twice_as_often_as_needed_and_only_if_it_is_ours() -> None:
    own = str(os.getpid())
    assert Notifier({"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": own}).watchdog_s == 2.0
    assert Notifier({"WATCHDOG_USEC": "4000000"}).watchdog_s == 2.0
    assert Notifier({"WATCHDOG_USEC": "4000000", "WATCHDOG_PID": "1"}).watchdog_s is None
    assert Notifier({}).watchdog_s is None
    assert Notifier({"WATCHDOG_USEC": "soon"}).watchdog_s is None

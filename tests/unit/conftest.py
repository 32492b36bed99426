"""Keeps tests/unit what its name says: no database, no network, no sleep. A test that needs one of them belongs to tests/component."""

import asyncio
import socket
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

LOCAL_SOCKETS = {socket.AF_UNIX, socket.AF_NETLINK}


@pytest.fixture(autouse=True)
def nothing_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that opens a database, binds or connects an internet socket, or sleeps."""
    real_sleep, real_async_sleep = time.sleep, asyncio.sleep

    def connect(*_: object, **__: object) -> None:
        pytest.fail("a unit test opens a database")

    def sleep(delay_s: float) -> None:
        _refuse_sleep_of_a_test(delay_s)
        real_sleep(delay_s)

    def async_sleep(delay_s: float, result: object = None) -> Awaitable[object]:
        _refuse_sleep_of_a_test(delay_s)
        return real_async_sleep(delay_s, result)

    monkeypatch.setattr(sqlite3, "connect", connect)
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(asyncio, "sleep", async_sleep)
    for name in ("bind", "connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, name, _only_local(getattr(socket.socket, name)))


def _refuse_sleep_of_a_test(delay_s: float) -> None:
    # Product code may poll, such as for the end of a child process; a test waits for an event.
    if delay_s > 0 and str(sys._getframe(2).f_globals["__name__"]).startswith("tests."):
        pytest.fail("a unit test sleeps")


def _only_local(method: Callable[..., Any]) -> Callable[..., Any]:
    def call(sock: socket.socket, *args: object) -> object:
        if sock.family not in LOCAL_SOCKETS:
            pytest.fail("a unit test uses the network")
        return method(sock, *args)

    return call

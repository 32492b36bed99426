"""The kernel that the tests run on."""

import os
import pwd
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from precast.agent.facts import running_kernel
from precast.agent.facts.groups import netlink
from precast.agent.facts.machine import Usage
from precast.agent.facts.running_kernel import RunningKernel


def test_links_have_loopback_with_its_number() -> None:
    links = RunningKernel().links()
    assert links is not None
    (loopback,) = [link for link in links if link.name == "lo"]
    assert loopback.number == 1
    assert loopback.mac == "00:00:00:00:00:00"
    assert loopback.mtu


def test_addresses_belong_to_links() -> None:
    kernel = RunningKernel()
    links, addresses = kernel.links(), kernel.addresses()
    assert links is not None
    assert addresses is not None
    assert {address.label.partition(":")[0] for address in addresses} <= {link.name for link in links}


def test_links_are_unknown_if_the_kernel_refuses_netlink(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> NoReturn:
        raise PermissionError

    monkeypatch.setattr(netlink, "links", refuse)
    monkeypatch.setattr(netlink, "addresses", refuse)
    assert RunningKernel().links() is None
    assert RunningKernel().addresses() is None


def test_usage_of_a_directory_is_that_of_its_file_system(tmp_path: Path) -> None:
    usage = RunningKernel().usage(str(tmp_path), "ext4")
    assert usage is not None
    assert usage.size_bytes >= usage.free_bytes >= usage.available_bytes >= 0


def test_usage_of_a_missing_path_is_unknown(tmp_path: Path) -> None:
    assert RunningKernel().usage(str(tmp_path / "gone"), "ext4") is None


def test_usage_of_a_hanging_remote_mount_is_unknown_and_others_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    free, usage = threading.Event(), Usage(3, 2, 1)

    def hang(path: str) -> Usage:
        if path == "/hanging":
            free.wait(60)
        return usage

    monkeypatch.setattr(running_kernel, "_usage", hang)
    monkeypatch.setattr(running_kernel, "REMOTE_S", 0.05)
    kernel = RunningKernel()
    assert kernel.usage("/hanging", "nfs4") is None
    assert kernel.usage("/hanging", "nfs4") is None
    monkeypatch.setattr(running_kernel, "REMOTE_S", 20)
    assert kernel.usage("/sound", "fuse.sshfs") == usage
    free.set()


def test_account_is_that_of_the_process() -> None:
    account = RunningKernel().account()
    assert account is not None
    assert account.uid == os.geteuid()


def test_account_without_an_entry_has_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(uid: int) -> NoReturn:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", missing)
    account = RunningKernel().account()
    assert account is not None
    assert (account.uid, account.gid, account.user) == (os.geteuid(), os.getegid(), None)


def test_variable_is_that_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/somewhere")
    assert RunningKernel().variable("PATH") == "/somewhere"
    assert RunningKernel().variable("NOT_SET_ANYWHERE") is None

"""Files under a root: links stay inside it, and no file blocks the reader."""

import os
from pathlib import Path

import pytest

from precast.agent.facts.machine import Machine, NoKernel, parse_number
from tests.unit.agent.facts.roots import machine


def test_file_under_a_root_is_read_from_there(tmp_path: Path) -> None:
    assert machine(tmp_path, {"/etc/hostname": " web1 \n"}).read_line("/etc/hostname") == "web1"


def test_file_of_the_running_machine_is_read_from_its_path() -> None:
    running = Machine(Path("/"), NoKernel())
    assert running.is_running
    assert running.read_line("/proc/sys/kernel/ostype") == "Linux"


@pytest.mark.parametrize(
    "target", ["/usr/lib/inner", "../usr/lib/inner", "/../../usr/lib/inner", "../../../usr/./lib//inner"]
)
def test_link_is_followed_inside_the_root(tmp_path: Path, target: str) -> None:
    image = machine(tmp_path, {"/usr/lib/inner": "inside", "/etc/": ""})
    (tmp_path / "etc" / "outer").symlink_to(target)
    assert image.read_text("/etc/outer") == "inside"


def test_link_does_not_lead_out_of_the_root(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("outside")
    image = machine(tmp_path / "root", {"/etc/": ""})
    (tmp_path / "root" / "etc" / "a").symlink_to(secret)
    (tmp_path / "root" / "etc" / "b").symlink_to("../../secret")
    assert image.read_text("/etc/a") is None
    assert image.read_text("/etc/b") is None


def test_loop_of_links_has_no_content(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    image = machine(tmp_path)
    assert image.read_text("/a") is None
    assert not image.exists("/a")
    assert image.names_in("/a") == []


def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert machine(tmp_path).read_text("/pipe") is None


def test_directory_and_missing_file_have_no_content(tmp_path: Path) -> None:
    image = machine(tmp_path, {"/etc/": ""})
    assert image.read_text("/etc") is None
    assert image.read_text("/etc/missing") is None
    assert image.read_text("/etc/nul\0") is None


def test_file_beyond_the_limit_is_cut(tmp_path: Path) -> None:
    assert machine(tmp_path, {"/large": b"x" * 100}).read_bytes("/large", 10) == b"x" * 10


def test_bytes_that_are_not_text_are_replaced(tmp_path: Path) -> None:
    assert machine(tmp_path, {"/etc/hostname": b"w\xff1\n"}).read_line("/etc/hostname") == "w\ufffd1"


def test_names_in_a_directory_are_sorted_and_printable(tmp_path: Path) -> None:
    image = machine(tmp_path, {"/d/b": "", "/d/a": "", "/d/c\n": ""})
    assert image.names_in("/d") == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12), (" 7\n", 7), ("-1", -1), ("", None), ("1.5", None), ("٣", None), ("1e3", None), ("9" * 21, None)],
)
def test_number_is_parsed_as_the_kernel_writes_it(text: str, number: int | None) -> None:
    assert parse_number(text) == number

"""write_files, bootcmd, runcmd and scripts: the tests write the files and run the commands."""

import base64
import gzip
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from precast.boot.modules import mounts
from precast.boot.userdata.documents import Script, ScriptKind
from tests.unit.boot.modules import scratch

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: owners")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return scratch.make_root(tmp_path)


def write(root: Path, *files: dict[str, Any]) -> scratch.ScratchRun:
    return scratch.run({"write_files": list(files)}, root, only=("write_files", "write_files_deferred"))


@AS_ROOT
@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        (None, "text\n"),
        ("text/plain", "text\n"),
        ("b64", base64.b64encode(b"text\n").decode()),
        ("gzip", gzip.compress(b"text\n", mtime=0)),
        ("gz+base64", base64.b64encode(gzip.compress(b"text\n", mtime=0)).decode()),
    ],
)
def test_content_is_decoded(root: Path, encoding: str | None, content: Any) -> None:
    file = {"path": "/etc/new/deep/file", "content": content, "encoding": encoding, "permissions": "0640"}
    assert write(root, file).errors == {}
    written = root / "etc/new/deep/file"
    assert (written.read_bytes(), written.stat().st_mode & 0o7777) == (b"text\n", 0o640)


@AS_ROOT
@pytest.mark.parametrize(
    ("given", "mode"), [(0o644, 0o644), (0o755, 0o755), ("755", 0o755), (644, 0o644), ("0o600", 0o600), (None, 0o644)]
)
def test_permissions_in_every_form_are_understood(root: Path, given: Any, mode: int) -> None:
    write(root, {"path": "/f", "content": "x", "permissions": given})
    assert (root / "f").stat().st_mode & 0o7777 == mode


@AS_ROOT
def test_append_adds_once(root: Path) -> None:
    (root / "log").write_text("old\n")
    for _ in range(2):
        write(root, {"path": "/log", "content": "new\n", "append": True})
    assert (root / "log").read_text() == "old\nnew\n"


@AS_ROOT
def test_invalid_file_does_not_affect_the_others(root: Path) -> None:
    ran = write(
        root,
        {"path": "/bad", "content": "%%%", "encoding": "gzip"},
        {"content": "no path"},
        {"path": "/nobody", "content": "x", "owner": "ghost:ghost"},
        {"path": "/good", "content": "y"},
    )
    assert (root / "good").read_text() == "y"
    assert sorted(ran.errors) == ["write_files[files of ghost]", "write_files[files of root]"]
    assert [finding.location for finding in ran.findings] == ["write_files[1]"]


@AS_ROOT
def test_file_of_a_user_waits_for_that_user_and_deferred_ones_for_all(root: Path) -> None:
    files = [
        {"path": "/late", "content": "1", "defer": True, "owner": "zoe"},
        {"path": "/hers", "content": "2", "owner": "zoe:zoe"},
        {"path": "/etc/skel/greeting", "content": "3"},
    ]
    ran = scratch.run({"write_files": files, "users": ["zoe"]}, root)
    assert ran.errors == {}
    uid = (root / "hers").stat().st_uid
    assert uid >= 1000
    assert (root / "late").stat().st_uid == uid
    order = ran.order
    assert (
        order.index("write_files[files of root]") < order.index("users[zoe]") < order.index("write_files[files of zoe]")
    )
    assert order.index("users[zoe]") < order.index("write_files_deferred")


@AS_ROOT
def test_source_is_fetched_and_content_is_its_fallback(root: Path, tmp_path: Path) -> None:
    (tmp_path / "given").write_bytes(b"fetched")
    write(
        root,
        {"path": "/a", "source": {"uri": f"file://{tmp_path}/given"}},
        {"path": "/b", "source": {"uri": f"file://{tmp_path}/missing"}, "content": "instead"},
        {"path": "/c", "source": {"uri": "ftp://127.0.0.1/x"}, "content": "instead"},
    )
    assert [(root / name).read_text() for name in "abc"] == ["fetched", "instead", "instead"]


@AS_ROOT
def test_link_in_the_root_stays_below_it(root: Path, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (root / "out").symlink_to(outside)
    write(root, {"path": "/out/file", "content": "x"})
    assert list(outside.iterdir()) == []


# Commands: on the machine itself, in a directory of the test


def commands(
    tmp_path: Path, config: dict[str, Any], scripts: tuple[Script, ...] = (), **options: Any
) -> scratch.ScratchRun:
    only = ("boothooks", "bootcmd", "runcmd", "scripts", "scripts_after_runcmd", "scripts_vendor")
    return scratch.run(config, None, only=only, state=tmp_path / "state", scripts=scripts, **options)


def test_commands_of_a_key_are_one_script(tmp_path: Path) -> None:
    config = {"runcmd": [f"cd {tmp_path}", "word=kept", 'echo "$word" > out', ["touch", "with space; $x"], "echo told"]}
    ran = commands(tmp_path, config)
    assert (tmp_path / "out").read_text() == "kept\n"
    assert (tmp_path / "with space; $x").exists()
    assert "info: told" in ran.logs
    assert (tmp_path / "state/scripts/runcmd").stat().st_mode & 0o777 == 0o700


def test_failing_command_is_reported_without_its_text(tmp_path: Path) -> None:
    ran = commands(tmp_path, {"runcmd": ["echo password=hunter2 > /dev/null", "exit 3"]})
    error = ran.errors["runcmd"]
    assert error.code == "BOOT-201"
    assert "exit code 3" in error.message
    assert "hunter2" not in error.message


def test_scripts_run_in_order_and_continue_after_a_failure(tmp_path: Path) -> None:
    def script(name: str, kind: ScriptKind = ScriptKind.SCRIPT, end: str = "") -> Script:
        return Script(name, f"#!/bin/sh\necho {name} >> {tmp_path}/order\n{end}\n".encode(), kind)

    scripts = (script("first", end="exit 1"), script("second"), script("hook", ScriptKind.BOOTHOOK))
    ran = commands(
        tmp_path,
        {"bootcmd": [f"echo bootcmd >> {tmp_path}/order"], "runcmd": [f"echo runcmd >> {tmp_path}/order"]},
        scripts,
    )
    assert (tmp_path / "order").read_text().split() == ["hook", "bootcmd", "first", "runcmd", "second"]
    assert ran.errors["scripts"].code == "BOOT-203"


def test_dry_run_runs_no_command(tmp_path: Path) -> None:
    ran = commands(tmp_path, {"runcmd": [f"touch {tmp_path}/x"]}, is_dry_run=True)
    assert ran.changes("runcmd") == ["run runcmd (1 commands)"]
    assert not (tmp_path / "x").exists()
    assert not (tmp_path / "state").exists()


def test_root_without_programs_refuses_commands_with_a_clear_error(root: Path) -> None:
    ran = scratch.run({"runcmd": ["true"]}, root, only=("runcmd",))
    assert ran.errors["runcmd"].code == "BOOT-200"
    assert str(root) in ran.errors["runcmd"].message


@pytest.mark.parametrize("given", ["ls", {"a": 1}, [True, None, {"x": 1}, ["a", 1, ["b"]]], 5])
def test_invalid_commands_are_reported(tmp_path: Path, given: Any) -> None:
    ran = commands(tmp_path, {"runcmd": given}, is_dry_run=True)
    assert ran.errors == {}
    assert ran.findings


def test_command_that_is_to_run_once_runs_once(tmp_path: Path) -> None:
    line = f"echo x >> {tmp_path}/out"
    config = {
        "bootcmd": [
            ["cloud-init-per", "once", "a/b", "sh", "-c", line],
            ["cloud-init-per", "always", "c", "sh", "-c", line],
        ]
    }
    for _ in range(2):
        ran = commands(tmp_path / "boot/instances", config)
        assert ran.errors == {}
    assert (tmp_path / "out").read_text() == "x\n" * 3


@AS_ROOT
@pytest.mark.parametrize(
    "name", ["var/lib/cloud", "var/lib/cloud/scripts/per-boot", "var/lib/cloud/scripts/per-boot/run"]
)
@pytest.mark.parametrize("way", ["owner", "group", "others"])
def test_script_of_the_image_that_others_can_change_is_not_run(root: Path, name: str, way: str) -> None:
    place = root / "var/lib/cloud/scripts/per-boot"
    place.mkdir(parents=True)
    (place / "run").write_text("#!/bin/sh\n")
    (place / "run").chmod(0o755)
    if way == "others":
        (root / name).chmod(0o757)
    else:
        os.chown(root / name, 1234 if way == "owner" else 0, 1234)
        (root / name).chmod(0o775)
    ran = scratch.run({}, root, only=("scripts_boot",))
    assert ran.errors == {}
    assert [warning for warning in ran.warnings if f"/{name} " in warning and "is not run" in warning]


@AS_ROOT
def test_swap_file_is_not_made_where_another_user_could_put_a_link(root: Path) -> None:
    (root / "home/eve").mkdir()
    os.chown(root / "home/eve", 1234, 1234)
    (root / "home/eve/swap").symlink_to("/etc/cron.d/new")
    os.lchown(root / "home/eve/swap", 1234, 1234)
    ran = scratch.run({"swap": {"filename": "/home/eve/swap", "size": "1M"}}, root, only=("mounts",))
    assert "the swap file /home/eve/swap is not made: /home/eve belongs to user 1234" in ran.errors["mounts"].message
    assert not (root / "etc/cron.d").exists()


def test_swap_file_that_does_not_fit_is_not_made(tmp_path: Path) -> None:
    # A file may have 1 MiB here, which stands for a full disk.
    script = f"ulimit -f 2048; {mounts.SWAP_SCRIPT}"
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", str(tmp_path / "swap"), "4"], check=False, capture_output=True
    )
    assert done.returncode != 0
    assert list(tmp_path.iterdir()) == []


@AS_ROOT
def test_file_of_an_owner_that_does_not_exist_is_written_for_root_and_reported(root: Path) -> None:
    never = {"path": "/etc/never", "content": "x\n", "owner": "nginx:nginx", "permissions": "0640"}
    ran = write(root, never, {"path": "/etc/group-missing", "owner": "sys:nginx"}, {"path": "/etc/after"})
    for name in ("never", "group-missing"):
        assert ((root / "etc" / name).stat().st_uid, (root / "etc" / name).stat().st_gid) == (0, 0)
    assert ((root / "etc/never").read_text(), (root / "etc/never").stat().st_mode & 0o777) == ("x\n", 0o640)
    assert (root / "etc/after").exists()
    told = " ".join(error.message for error in ran.errors.values())
    assert "/etc/never" in told
    assert "/etc/group-missing" in told
    assert "nginx" in told


@AS_ROOT
def test_path_is_normalised_before_its_directories_are_created(root: Path) -> None:
    assert write(root, {"path": "/opt/x/../y/f", "content": "f"}, {"path": "opt/z//g"}).errors == {}
    assert sorted(str(path.relative_to(root)) for path in (root / "opt").rglob("*")) == [
        "opt/y",
        "opt/y/f",
        "opt/z",
        "opt/z/g",
    ]

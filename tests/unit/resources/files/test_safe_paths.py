"""Paths inside a root, and untrusted links of other users; only root can create the latter here."""

import os
from pathlib import Path

import pytest

from precast.base.errors import DeniedError, InputError, NotFoundError, PrecastError
from precast.resources.files import permissions, safe_paths, safe_reads

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of several owners")
BOB, EVE = 4711, 4712


def reached(root: Path | str, path: str) -> str:
    with safe_paths.open_parent(str(root), path) as (directory, name):
        return f"{Path(f'/proc/self/fd/{directory}').readlink()}/{name}"


def test_absolute_link_stays_inside_the_root(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "var").mkdir()
    (tmp_path / "var/run").symlink_to("/run")
    assert safe_paths.resolve(str(tmp_path), "/var/run/x") == f"{tmp_path}/run/x"
    assert reached(tmp_path, "/var/run/x") == f"{tmp_path}/run/x"


def test_dots_in_a_link_do_not_lead_out_of_the_root(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/up").symlink_to("../../../../../etc")
    assert safe_paths.resolve(str(tmp_path), "/etc/up/passwd") == f"{tmp_path}/etc/passwd"
    assert reached(tmp_path, "/etc/up/passwd") == f"{tmp_path}/etc/passwd"


def test_link_at_the_end_is_followed_only_if_asked(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/b")
    (tmp_path / "b").write_text("inside the root")
    parents = safe_reads.root_parents(str(tmp_path))
    with pytest.raises(NotFoundError):
        safe_reads.read_file(parents, "/a", is_followed=False)
    content = safe_reads.read_file(parents, "/a")
    assert content is not None
    assert content.data == b"inside the root"


def test_links_in_a_circle_are_an_error_not_a_hang(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match="too many links"):
        safe_paths.resolve(str(tmp_path), "/a/x")
    with pytest.raises(InputError, match="too many links"), safe_paths.open_parent(str(tmp_path), "/a/x"):
        pass


def test_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"parent directory .*/nowhere does not exist"):
        reached("", f"{tmp_path}/nowhere/x")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotFoundError, match=r"parent directory .*/file does not exist"):
        reached("", f"{tmp_path}/file/x")


@AS_ROOT
def test_link_of_a_stranger_to_what_is_not_theirs_is_not_followed(tmp_path: Path) -> None:
    home = tmp_path / "bob"
    (tmp_path / "secret").mkdir()
    home.mkdir()
    os.chown(home, BOB, BOB)
    (home / ".ssh").symlink_to(tmp_path / "secret")
    os.lchown(home / ".ssh", BOB, BOB)
    with pytest.raises(DeniedError, match="belongs to user 4711, but its target belongs to user 0"):
        reached("", f"{home}/.ssh/authorized_keys")


@AS_ROOT
def test_link_of_a_stranger_to_their_own_is_followed(tmp_path: Path) -> None:
    home = tmp_path / "bob"
    (home / "real").mkdir(parents=True)
    (home / ".ssh").symlink_to("real")
    for path in (home, home / "real", home / ".ssh"):
        os.lchown(path, BOB, BOB)
    assert reached("", f"{home}/.ssh/keys") == f"{home}/real/keys"


@AS_ROOT
def test_link_of_root_in_a_strangers_directory_may_have_been_moved_there(tmp_path: Path) -> None:
    home = tmp_path / "bob"
    home.mkdir()
    (home / "logs").symlink_to("/var/log")
    os.chown(home, BOB, BOB)
    with pytest.raises(DeniedError, match="its target belongs to user 0"):
        reached("", f"{home}/logs/x")


@AS_ROOT
def test_link_of_root_in_a_directory_of_roots_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    os.chown(tmp_path / "real", EVE, EVE)
    (tmp_path / "link").symlink_to("real")
    assert reached("", f"{tmp_path}/link/x") == f"{tmp_path}/real/x"


@AS_ROOT
def test_followed_end_must_belong_to_who_led_there(tmp_path: Path) -> None:
    home = tmp_path / "bob"
    home.mkdir()
    (tmp_path / "shadow").write_text("secret")
    (home / "mine").write_text("")
    (home / "good").symlink_to("mine")
    (home / "evil").symlink_to(tmp_path / "shadow")
    for path in (home, home / "mine", home / "good", home / "evil"):
        os.lchown(path, BOB, BOB)
    with permissions.open_entry("", f"{home}/good", is_followed=True) as handle:
        permissions.change_mode(handle, 0o600)
    assert (home / "mine").stat().st_mode & 0o777 == 0o600
    with pytest.raises(DeniedError), permissions.open_entry("", f"{home}/evil", is_followed=True):
        pass


@AS_ROOT
def test_hard_link_in_a_strangers_directory_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "bob"
    home.mkdir()
    (tmp_path / "shadow").write_text("secret")
    os.link(tmp_path / "shadow", home / "trap")
    os.chown(home, BOB, BOB)
    with pytest.raises(DeniedError, match="has another hard link"), permissions.open_entry("", f"{home}/trap", False):
        pass


@AS_ROOT
def test_link_itself_gets_an_owner_and_its_target_does_not(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("")
    (tmp_path / "link").symlink_to("target")
    with permissions.open_entry("", f"{tmp_path}/link", is_followed=False) as handle:
        permissions.change_owner(handle, BOB, EVE)
        permissions.change_mode(handle, 0o000)
    assert ((tmp_path / "link").lstat().st_uid, (tmp_path / "link").lstat().st_gid) == (BOB, EVE)
    assert (tmp_path / "target").stat().st_uid == 0
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o644


def test_no_handle_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "l").symlink_to("a")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("/l/b/x", "/l/../l/b/../b/x", "/l/nowhere/x"):
        try:
            reached(tmp_path, path)
        except PrecastError:
            continue
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def held(parents: safe_paths.ParentCache, path: str) -> tuple[int, str]:
    with parents.opened(path) as (directory, name):
        return directory, f"{Path(f'/proc/self/fd/{directory}').readlink()}/{name}"


def test_directory_is_kept_open_for_what_lies_beside_and_left_when_the_path_leads_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    parents = safe_paths.ParentCache(str(tmp_path))
    try:
        first, where = held(parents, "/d/a")
        assert where == f"{tmp_path}/d/a"
        assert held(parents, "/d/b") == (first, f"{tmp_path}/d/b")
        (tmp_path / "d").rename(tmp_path / "gone")
        with pytest.raises(NotFoundError):
            held(parents, "/d/c")
        (tmp_path / "d").mkdir()
        assert held(parents, "/d/c")[1] == f"{tmp_path}/d/c"
        assert held(parents, "/gone/c")[1] == f"{tmp_path}/gone/c"
    finally:
        parents.close()
    assert not [handle for handle in Path("/proc/self/fd").iterdir() if _leads_into(handle, tmp_path)]


def _leads_into(open_file: Path, directory: Path) -> bool:
    try:
        return str(open_file.readlink()).startswith(str(directory))
    except OSError:
        return False


@AS_ROOT
def test_link_laid_after_a_directory_was_kept_is_met_with_the_same_distrust(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name, owner in (("bobs", BOB), ("bobs/d", BOB), ("roots", 0)):
        (tmp_path / name).mkdir()
        os.chown(tmp_path / name, owner, owner)
    parents = safe_paths.ParentCache(str(tmp_path))
    try:
        held(parents, "/bobs/d/a")
        (tmp_path / "bobs/d").rename(tmp_path / "bobs/e")
        (tmp_path / "bobs/d").symlink_to("../roots")
        os.chown(tmp_path / "bobs/d", BOB, BOB, follow_symlinks=False)
        with pytest.raises(DeniedError):
            held(parents, "/bobs/d/a")
    finally:
        parents.close()

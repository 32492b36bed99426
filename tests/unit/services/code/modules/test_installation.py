"""Modules from git and from tarballs: what is installed, what is not changed, and what a hostile source cannot do."""

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from precast.base.errors import PrecastError
from precast.services.code.modules.installation import ModuleOutcome, install_modules
from precast.services.code.modules.lock import read_lock

pytestmark = pytest.mark.skipif(subprocess.run(["git", "--version"], check=False).returncode != 0, reason="no git")


class Site:
    """An environment, repositories next to it, and a forge."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.environment = place / "env"
        self.environment.mkdir()
        self.forge = place / "forge"
        self.forge.mkdir()

    def git(self, name: str, *words: str) -> str:
        identity = {f"GIT_{who}_{what}": "a@example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(
            ["git", "-C", str(self.place / name), *words],
            env={**os.environ, **identity},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, name: str, **files: str) -> str:
        work = self.place / name
        if not work.exists():
            work.mkdir()
            self.git(name, "init", "--quiet", "--initial-branch=main")
        for path, text in files.items():
            target = work / path.replace("__", "/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        self.git(name, "add", "--all")
        self.git(name, "commit", "--quiet", "--message=x")
        return self.git(name, "rev-parse", "HEAD")

    def install(self, text: str, *, update: bool = False, force: bool = False) -> list[ModuleOutcome]:
        puppetfile = self.environment / "Puppetfile"
        puppetfile.write_text(text)
        try:
            return install_modules(
                self.environment, cache=self.place / "cache", forge=self.forge, update=update, force=force
            )
        finally:
            puppetfile.unlink()

    def changes(self, text: str, *, update: bool = False, force: bool = False) -> dict[str, str]:
        return {each.name: each.change for each in self.install(text, update=update, force=force)}

    def refused(self, text: str) -> str:
        before = self.list_files()
        with pytest.raises(PrecastError) as failed:
            self.install(text)
        assert self.list_files() == before
        return failed.value.code

    def list_files(self) -> list[str]:
        return sorted(str(path.relative_to(self.environment)) for path in self.environment.rglob("*"))

    def tarball(self, name: str, members: dict[str, str], link: tuple[str, str] | None = None) -> None:
        with tarfile.open(self.forge / name, "w:gz") as archive:
            for path, text in members.items():
                info = tarfile.TarInfo(path)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
            if link is not None:
                info = tarfile.TarInfo(link[0])
                info.type, info.linkname = tarfile.SYMTYPE, link[1]
                archive.addfile(info)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_module_from_git_is_installed_once_and_then_unchanged(site: Site) -> None:
    commit = site.commit("ntp", manifests__init_pp="class ntp { }")
    text = "mod 'ntp', :git => '../ntp', :branch => 'main'"
    assert site.install(text) == [ModuleOutcome("ntp", "modules/ntp", "installed", commit)]
    assert (site.environment / "modules/ntp/manifests/init_pp").read_text() == "class ntp { }"
    assert not (site.environment / "modules/ntp/.git").exists()
    lock = (site.environment / "Puppetfile.lock").read_bytes()
    assert site.changes(text) == {"ntp": "unchanged"}
    assert (site.environment / "Puppetfile.lock").read_bytes() == lock
    assert read_lock(site.environment)["ntp"].resolved == commit


def test_branch_stays_at_its_locked_commit_until_updated(site: Site) -> None:
    first = site.commit("ntp", a="1")
    text = f"mod 'ntp', :git => 'file://{site.place}/ntp'"
    site.install(text)
    second = site.commit("ntp", a="2")
    assert site.install(text)[0].resolved == first
    assert site.install(text, update=True) == [ModuleOutcome("ntp", "modules/ntp", "replaced", second)]
    assert (site.environment / "modules/ntp/a").read_text() == "2"


def test_lock_alone_restores_the_same_files(site: Site) -> None:
    first = site.commit("ntp", a="1")
    text = "mod 'ntp', :git => '../ntp'"
    site.install(text)
    site.commit("ntp", a="2")
    (site.environment / "modules/ntp").rename(site.place / "gone")
    assert site.install(text) == [ModuleOutcome("ntp", "modules/ntp", "installed", first)]


@pytest.mark.parametrize("kind", ["ref", "tag"])
def test_tag_is_resolved_to_its_commit(site: Site, kind: str) -> None:
    commit = site.commit("ntp", a="1")
    site.git("ntp", "tag", "--annotate", "--message=x", "v1.0.0")
    site.commit("ntp", a="2")
    assert site.install(f"mod 'ntp', :git => '../ntp', :{kind} => 'v1.0.0'")[0].resolved == commit
    assert site.install(f"mod 'ntp', :git => '../ntp', :commit => '{commit}'")[0].resolved == commit


def test_default_branch_is_used_if_the_branch_is_missing(site: Site) -> None:
    commit = site.commit("ntp", a="1")
    text = "mod 'ntp', :git => '../ntp', :branch => 'feature', :default_branch => 'main'"
    assert site.install(text)[0].resolved == commit


def test_one_failing_module_changes_nothing(site: Site) -> None:
    site.commit("ntp", a="1")
    good = "mod 'ntp', :git => '../ntp'\n"
    assert site.refused(good + "mod 'none', :git => '../none'") == "MODULE-022"
    assert site.refused(good + "mod 'bad', :git => '../ntp', :tag => 'none'") == "MODULE-023"
    assert site.refused(good + "mod 'a/b', '1.0.0'") == "MODULE-025"
    assert site.refused(good + "mod 'mine', :local => true") == "MODULE-030"


def test_password_in_an_address_is_not_shown(site: Site) -> None:
    with pytest.raises(PrecastError) as failed:
        site.install("mod 'ntp', :git => 'http://me:hidden@127.0.0.1:1/ntp.git'")
    assert failed.value.code == "MODULE-022"
    assert "hidden" not in failed.value.render()


def test_changed_or_foreign_module_is_not_overwritten_without_force(site: Site) -> None:
    site.commit("ntp", a="1")
    text = "mod 'ntp', :git => '../ntp'"
    (site.environment / "modules/ntp").mkdir(parents=True)
    (site.environment / "modules/ntp/mine").write_text("x")
    assert site.refused(text) == "MODULE-029"
    assert site.changes(text, force=True) == {"ntp": "replaced"}
    (site.environment / "modules/ntp/a").write_text("changed here")
    assert site.refused(text) == "MODULE-029"


def test_same_files_without_a_lock_are_taken_over(site: Site) -> None:
    site.commit("ntp", a="1")
    text = "mod 'ntp', :git => '../ntp'"
    site.install(text)
    (site.environment / "Puppetfile.lock").unlink()
    assert site.changes(text) == {"ntp": "unchanged"}
    assert "ntp" in read_lock(site.environment)


def test_module_removed_from_the_puppetfile_is_removed_and_others_stay(site: Site) -> None:
    site.commit("ntp", a="1")
    site.commit("ssh", a="1")
    site.install("mod 'ntp', :git => '../ntp'\nmod 'ssh', :git => '../ssh'")
    (site.environment / "modules/own").mkdir()
    (site.environment / "modules/ssh/changed").write_text("x")
    assert site.changes("mod 'own', :local => true") == {"own": "local", "ntp": "removed", "ssh": "left"}
    assert sorted(each.name for each in (site.environment / "modules").iterdir()) == ["own", "ssh"]


def test_module_that_moves_is_removed_from_its_old_directory(site: Site) -> None:
    site.commit("ntp", a="1")
    site.install("mod 'ntp', :git => '../ntp'")
    site.install("mod 'ntp', :git => '../ntp', :install_path => 'site'")
    assert (site.environment / "site/ntp/a").exists()
    assert not (site.environment / "modules/ntp").exists()


def test_link_out_of_a_module_is_refused(site: Site) -> None:
    site.commit("ntp", a="1")
    (site.place / "ntp/inside").symlink_to("a")
    site.commit("ntp")
    site.install("mod 'ntp', :git => '../ntp'")
    for name, target in (("out", "../../secret"), ("absolute", "/etc/passwd"), ("round", "link")):
        site.commit(name, a="1")
        (site.place / name / "link").symlink_to(target)
        site.commit(name)
        assert site.refused(f"mod '{name}', :git => '../{name}'") == "MODULE-027"


def test_directory_behind_a_link_is_refused(site: Site) -> None:
    site.commit("ntp", a="1")
    (site.place / "elsewhere").mkdir()
    (site.environment / "modules").symlink_to("../elsewhere")
    assert site.refused("mod 'ntp', :git => '../ntp'") == "MODULE-028"
    assert list((site.place / "elsewhere").iterdir()) == []


def test_lock_cannot_name_a_directory_outside(site: Site) -> None:
    site.commit("ntp", a="1")
    site.install("mod 'ntp', :git => '../ntp'")
    lock = site.environment / "Puppetfile.lock"
    lock.write_text(lock.read_text().replace("modules/ntp", "../ntp"))
    assert site.refused("mod 'own', :git => '../ntp'") == "MODULE-028"
    lock.write_text("{")
    assert site.refused("mod 'own', :git => '../ntp'") == "MODULE-031"


def test_hooks_and_commands_of_a_repository_do_not_run(site: Site) -> None:
    site.commit("ntp", **{".gitattributes": "* filter=evil\n", "a": "1"})
    for name in ("post-checkout", "reference-transaction"):
        hook = site.place / "ntp/.git/hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {site.place}/ran\n")
        hook.chmod(0o755)
    site.git("ntp", "config", "filter.evil.smudge", f"touch {site.place}/ran")
    site.git("ntp", "config", "uploadpack.packObjectsHook", f"touch {site.place}/ran")
    site.install("mod 'ntp', :git => '../ntp'")
    assert not (site.place / "ran").exists()


def test_concurrent_installation_is_refused(site: Site) -> None:
    import fcntl

    site.commit("ntp", a="1")
    handle = os.open(site.environment, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        assert site.refused("mod 'ntp', :git => '../ntp'") == "MODULE-032"
    finally:
        os.close(handle)


def test_leftovers_of_an_interrupted_installation_are_removed(site: Site) -> None:
    site.commit("ntp", a="1")
    (site.environment / ".precast-modules-old/ntp").mkdir(parents=True)
    site.install("mod 'ntp', :git => '../ntp'")
    assert [path.name for path in site.environment.iterdir() if path.name.startswith(".")] == []


def test_tarball_of_a_version_or_the_newest_is_unpacked(site: Site) -> None:
    for version in ("1.9.0", "1.10.0", "2.0.0-rc1"):
        site.tarball(f"a-thing-{version}.tar.gz", {f"a-thing-{version}/metadata.json": version})
    assert site.install("mod 'a/thing', '1.9.0'")[0].resolved == "1.9.0"
    assert site.install("mod 'a/thing', :latest")[0].resolved == "1.10.0"
    assert (site.environment / "modules/thing/metadata.json").read_text() == "1.10.0"


@pytest.mark.parametrize(
    ("members", "link"),
    [
        ({"top/../../out": "x"}, None),
        ({"top/a": "x", "other/b": "x"}, None),
        ({"/abs/a": "x"}, ("/abs/l", "/etc/passwd")),
        ({"top/a": "x"}, ("top/link", "../../../out")),
        ({}, None),
    ],
)
def test_hostile_tarball_is_refused(site: Site, members: dict[str, str], link: tuple[str, str] | None) -> None:
    site.tarball("a-thing-1.0.0.tar.gz", members, link)
    assert site.refused("mod 'a/thing', '1.0.0'") in ("MODULE-026", "MODULE-027")
    assert not (site.place / "out").exists()


def test_missing_puppetfile_is_a_no_op_and_a_broken_one_is_reported(site: Site) -> None:
    assert install_modules(site.environment, cache=site.place / "cache") == []
    (site.environment / "Puppetfile").write_bytes(b"mod '\xff'")
    with pytest.raises(PrecastError) as failed:
        install_modules(site.environment, cache=site.place / "cache")
    assert failed.value.code == "MODULE-034"


def test_broken_tarball_and_missing_forge_are_reported(site: Site) -> None:
    (site.forge / "a-thing-1.0.0.tar.gz").write_bytes(b"nothing")
    assert site.refused("mod 'a/thing', '1.0.0'") == "MODULE-026"
    site.forge = None  # type: ignore[assignment]
    assert site.refused("mod 'a/thing', '1.0.0'") == "MODULE-024"

"""Fetching code that others wrote: whatever a repository contains, the fetch ends in time and stays below its directory."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from precast.base.errors import PrecastError
from precast.services.code.address_policy import AddressPolicy
from precast.services.code.fetching import CodeFetcher, FetchedTree, FetchLimits, prune_cache, remove_leftovers

pytestmark = pytest.mark.needs("git")
SITE = "notify { 'a': }\n"


class Site:
    """A repository of a server's hook, other repositories, and a secret file of the server."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.secret = place / "secret"
        self.secret.write_text("of the server")
        self.work = place / "work"

    def commit(self, name: str, files: Mapping[str, str | bytes], links: dict[str, str] | None = None) -> str:
        repository = self.place / name
        repository.mkdir(exist_ok=True)
        for path, text in files.items():
            (repository / path).parent.mkdir(parents=True, exist_ok=True)
            (repository / path).write_bytes(text.encode() if isinstance(text, str) else text)
        for path, target in (links or {}).items():
            (repository / path).symlink_to(target)
        for words in (["init", "--quiet", "-b", "main"], ["add", "--all"], ["commit", "--quiet", "--message=x"]):
            subprocess.run(["git", "-C", repository, *words], check=True, env={**os.environ, **IDENTITY})
        done = subprocess.run(
            ["git", "-C", repository, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    async def fetch(self, limits: FetchLimits | None = None, directories: tuple[str, ...] = ()) -> FetchedTree:
        self.work.mkdir()
        fetcher = CodeFetcher(self.place / "cache", directories, limits=limits)
        repository = str(self.place / "code")
        return await fetcher.fetch(repository, "main", AddressPolicy((), (repository,)), self.work)

    async def refused(self, limits: FetchLimits | None = None) -> PrecastError:
        with pytest.raises(PrecastError) as failed:
            await self.fetch(limits)
        assert "of the server" not in failed.value.message
        return failed.value


IDENTITY = {f"GIT_{who}_{what}": "a@example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def wait_until_none_runs(text: str) -> None:
    """Wait until no process has a text in its command line: a killed one may need a moment. The test's timeout is the deadline."""
    while _is_running(text):
        pass


def _is_running(text: str) -> bool:
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in process.read_bytes():
                return True
        except OSError:
            continue
    return False


async def test_files_of_the_commit_and_of_its_modules_are_fetched(site: Site) -> None:
    site.commit("ntp", {"manifests/init.pp": "class ntp { }"})
    code = {"manifests/site.pp": SITE, "Puppetfile": f"mod 'ntp', :git => '{site.place}/ntp'\n"}
    commit = site.commit("code", code)
    fetched = await site.fetch(directories=(str(site.place / "ntp"),))
    assert fetched.commit == commit
    assert {"manifests/site.pp", "modules/ntp/manifests/init.pp"} <= fetched.tree.files.keys()
    digest = fetched.tree.files["manifests/site.pp"].digest
    assert fetched.places[digest].read_text() == SITE


async def test_attributes_of_a_commit_change_no_byte(site: Site) -> None:
    attributes = (
        "* text eol=crlf ident export-subst\nhidden export-ignore\nz working-tree-encoding=UTF-16\n*.bin filter=lfs\n"
    )
    files: dict[str, str | bytes] = {
        ".gitattributes": attributes,
        "a.pp": "$Id$ $Format:%H$\n",
        "hidden": "x\n",
        "b.bin": b"a\nb\n",
    }
    site.commit("code", files)
    fetched = await site.fetch()
    written = {path: fetched.places[file.digest].read_bytes() for path, file in fetched.tree.files.items()}
    assert written == {"a.pp": b"$Id$ $Format:%H$\n", "hidden": b"x\n", "b.bin": b"a\nb\n"}


@pytest.mark.parametrize(
    "address",
    [
        "{place}/ntp",
        "file://{place}/ntp",
        "../../ntp",
        "h:x/../../..",
        "ext::sh -c touch% {place}/pwned",
        "https://127.0.0.1:1/x",
        "https://localhost/x",
        "https://[::1]/x",
        "https://169.254.169.254/latest",
        "ssh://git@127.0.0.1/x",
        "git@localhost:x",
        "http://10.0.0.1/x",
        "https://2130706433/x",
    ],
)
async def test_puppetfile_cannot_name_what_only_the_server_reaches(site: Site, address: str) -> None:
    site.commit("ntp", {"a": "x"})
    named = address.format(place=site.place)
    site.commit("code", {"a.pp": SITE, "Puppetfile": f"mod 'ntp', :git => '{named}'\n"})
    assert (await site.refused()).code in ("ENV-020", "MODULE-006")
    assert not (site.place / "pwned").exists()


async def test_resolved_commit_in_a_lock_never_reaches_git_as_an_option(site: Site) -> None:
    url = f"{site.place}/ntp"
    site.commit("ntp", {"a": "x"})
    lock = (
        '{"format": 1, "modules": {"ntp": {"files": "0", "resolved": "--prefix=/pwned/", "source": {"name": "ntp", '
        f'"origin": "git", "directory": "modules/ntp", "full_name": "ntp", "url": "{url}"}}}}}}}}'
    )
    site.commit("code", {"Puppetfile": f"mod 'ntp', :git => '{url}'\n", "Puppetfile.lock": lock})
    with pytest.raises(PrecastError) as failed:
        await site.fetch(directories=(url,))
    assert failed.value.code == "ENV-037"


async def test_puppetfile_that_takes_for_ever_is_killed_with_all_it_started(site: Site) -> None:
    # Comparing two lists of lists that double with each line would take longer than anybody lives.
    slow = "a = [1]\nb = [1]\n" + "a = [a, a]\nb = [b, b]\n" * 60 + "c = (a == b)\n"
    site.commit("code", {"Puppetfile": slow, "a.pp": SITE})
    error = await site.refused(FetchLimits(seconds=4.0))
    assert (error.code, "within 4 s" in error.message) == ("ENV-036", True)
    wait_until_none_runs(str(site.work))


async def test_puppetfile_that_needs_any_memory_fails_its_fetch(site: Site) -> None:
    large = "a = '" + "x" * 90_000 + "'\n" + "a = [a, a, a, a, a, a, a, a, a, a].join(a)\n" * 60
    site.commit("code", {"Puppetfile": large, "a.pp": SITE})
    assert (await site.refused()).code == "ENV-036"


async def test_repository_that_fills_the_disk_is_stopped(site: Site) -> None:
    site.commit("code", {f"{number}": os.urandom(1_000_000) for number in range(8)})
    error = await site.refused(FetchLimits(work_bytes=5_000_000, every_s=0.05))
    assert (error.code, "more than" in error.message) == ("ENV-036", True)
    wait_until_none_runs(str(site.work))


async def test_repository_of_very_many_files_is_stopped(site: Site) -> None:
    site.commit("code", {f"d/{number}": f"{number}" for number in range(400)})
    assert "300 files" in (await site.refused(FetchLimits(files=300))).message


@pytest.mark.parametrize("target", ["/etc/passwd", "../../secret", "../git/config", "missing", "link"])
async def test_link_that_leaves_the_repository_is_refused(site: Site, target: str) -> None:
    site.commit("code", {"a.pp": SITE}, {"link": target})
    assert (await site.refused()).code == "ENV-002"


def test_oldest_repositories_leave_the_cache_first(tmp_path: Path) -> None:
    for number, name in enumerate(("old", "new")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pack").write_bytes(b"x" * 10_000)
        os.utime(tmp_path / name, (number, number))
    prune_cache(tmp_path, 15_000)
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_directory_of_a_killed_server_is_removed_when_no_fetch_can_use_it(tmp_path: Path) -> None:
    for name, age in (("deploy-old", 0), ("deploy-new", None), ("other", 0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
        if age is not None:
            os.utime(tmp_path / name, (age, age))
    remove_leftovers(tmp_path, "deploy-")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deploy-new", "other"]

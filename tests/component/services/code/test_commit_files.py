"""A fetch that was taken over reports other files than those of the signed commit: real repositories, real signatures."""

import os
import shutil
import subprocess
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from precast.base import async_programs, digests
from precast.base.async_programs import ProgramOutcome
from precast.base.errors import PrecastError
from precast.services.code import fetch_child
from precast.services.code.address_policy import AddressPolicy
from precast.services.code.fetch_child import FetchedCode, FetchProblem, FetchRequest, FetchResult
from precast.services.code.fetching import CodeFetcher, FetchedTree
from precast.services.code.file_trees import FileTree, TreeFile, open_regular, read_directory
from precast.services.code.git_program import Git
from precast.services.code.git_sources import check_out
from precast.services.code.signatures import Signer, SigningPolicy
from precast.services.code.signing import _verify
from tests.component.services.code.test_signatures import Forge

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
TREE = FileTree({"site.pp": TreeFile(digests.of_bytes(b"x"), 1, False)})

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or shutil.which("ssh-keygen") is None, reason="needs git and ssh-keygen"
)


class SignedForge(Forge):
    """A team that signs what it commits, and the process that fetches for the server."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.ann = self.key("ann")
        self.fetched = directory / "fetched"

    def write(self, path: str, text: str) -> None:
        (self.work / path).parent.mkdir(parents=True, exist_ok=True)
        (self.work / path).write_text(text)

    def fetch_files(self, change: Callable[[Path], None] | None = None) -> FetchedTree:
        """Fetch as the child does; `change` is what an attacker does in its place before the files are listed."""
        shutil.rmtree(self.fetched, ignore_errors=True)
        self.fetched.mkdir()
        policy = AddressPolicy((), (str(self.work),))
        checkout = check_out(Git(policy), str(self.work), "main", self.fetched)
        if change is not None:
            change(checkout.place)
        tree, places = read_directory(checkout.place)
        return FetchedTree(checkout.commit, tree, places, checkout.repository)

    def check(self, fetched: FetchedTree, ref: str = "main") -> Signer:
        return _verify(fetched, ref, SigningPolicy("commit", self.signer("ann", self.ann)), NOW)

    def refused(self, fetched: FetchedTree, ref: str = "main") -> str:
        with pytest.raises(PrecastError) as caught:
            self.check(fetched, ref)
        assert caught.value.code == "ENV-028"
        return caught.value.message


@pytest.fixture
def forge(tmp_path: Path) -> SignedForge:
    made = SignedForge(tmp_path)
    made.write("manifests/nodes/web.pp", "node web { }")
    made.write("run.sh", "#!/bin/sh\n")
    made.write(".gitignore", "*.o\n")
    (made.work / "run.sh").chmod(0o755)
    (made.work / "same.pp").symlink_to("site.pp")
    (made.work / "more").symlink_to("manifests/nodes")
    made.commit("one", made.ann)
    return made


def test_files_of_the_signed_commit_are_accepted_with_their_links(forge: SignedForge) -> None:
    fetched = forge.fetch_files()
    assert forge.check(fetched).principal == "ann"
    assert {"same.pp", "more/web.pp", "run.sh"} < fetched.tree.files.keys()


def _change(place: Path) -> None:
    (place / "site.pp").write_text("exec { '/bin/evil': }")


def _add(place: Path) -> None:
    (place / "manifests/evil.pp").write_text("exec { '/bin/evil': }")


def _add_module(place: Path) -> None:
    (place / "modules/evil/facts.d").mkdir(parents=True)
    (place / "modules/evil/facts.d/evil.sh").write_text("#!/bin/sh")


def _remove(place: Path) -> None:
    (place / "manifests/nodes/web.pp").unlink()


def _make_executable(place: Path) -> None:
    (place / "site.pp").chmod(0o755)


def _turn_link(place: Path) -> None:
    (place / "same.pp").unlink()
    (place / "same.pp").symlink_to("run.sh")


@pytest.mark.parametrize("change", [_change, _add, _add_module, _remove, _make_executable, _turn_link])
def test_files_that_differ_from_the_signed_commit_are_refused(
    forge: SignedForge, change: Callable[[Path], None]
) -> None:
    assert "the commit" in forge.refused(forge.fetch_files(change))


def test_objects_that_are_not_what_their_hash_says_are_refused(forge: SignedForge) -> None:
    """git itself reads a tree from where its hash says, and does not hash it."""
    fetched = forge.fetch_files(_change)
    tree = forge.git("rev-parse", "HEAD^{tree}")
    listed = b"".join(
        f"{'100755' if file.is_executable else '100644'} {path}\0".encode()
        + bytes.fromhex(forge.git("hash-object", "-w", str(fetched.places[file.digest])))
        for path, file in sorted(fetched.tree.files.items())
        if "/" not in path
    )
    packs = [pack.read_bytes() for pack in fetched.repository.glob("objects/pack/*.pack")]
    for file in fetched.repository.glob("objects/pack/*"):
        file.unlink()
    for pack in packs:
        words = ["git", "unpack-objects", "-q"]
        subprocess.run(words, cwd=fetched.repository, env=forge.environment, input=pack, check=True)
    place = fetched.repository / "objects" / tree[:2] / tree[2:]
    place.chmod(0o644)
    place.write_bytes(zlib.compress(b"tree %d\0%s" % (len(listed), listed)))
    assert "not what its hash says" in forge.refused(fetched)


def test_only_modules_that_the_signed_puppetfile_names_may_be_added(forge: SignedForge) -> None:
    forge.write("Puppetfile", "moduledir 'vendor/modules'\nmod 'puppetlabs-stdlib', '1.0.0'\n# 'own'\n")
    forge.write("modules/own/manifests/init.pp", "class own { }")
    forge.commit("two", forge.ann)

    def install(*paths: str) -> Callable[[Path], None]:
        def change(place: Path) -> None:
            for path in paths:
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                (place / path).write_text("# installed")

        return change

    good = install("vendor/modules/stdlib/manifests/init.pp", "modules/stdlib/lib/x.rb", "Puppetfile.lock")
    assert forge.check(forge.fetch_files(good)).principal == "ann"
    for path in (
        "manifests/stdlib/init.pp",
        "manifests/evil.pp",
        "modules/evil/manifests/init.pp",
        "modules/own/manifests/more.pp",
        "modules/stdlib",
        "data/common.yaml",
    ):
        assert path in forge.refused(forge.fetch_files(install(path)))


def test_listed_digest_of_other_content_is_refused(forge: SignedForge) -> None:
    """The content at a place is not what the listing says: it is hashed again, not believed."""
    fetched = forge.fetch_files()
    evil = b"exec { '/bin/evil': }"
    listed = {**fetched.tree.files, "site.pp": TreeFile(digests.of_bytes(evil), len(evil), False)}
    places = {**fetched.places, digests.of_bytes(evil): fetched.places[fetched.tree.files["site.pp"].digest]}
    assert "site.pp" in forge.refused(FetchedTree(fetched.commit, FileTree(listed), places, fetched.repository))


def test_signed_commit_other_than_the_one_to_deploy_is_refused(forge: SignedForge) -> None:
    wanted = forge.git("rev-parse", "HEAD")
    forge.commit("two", forge.ann)
    assert wanted[:12] in forge.refused(forge.fetch_files(), wanted)


def test_pipe_in_the_place_of_a_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    for name in ("pipe", "link"):
        with pytest.raises(OSError, match=name):
            open_regular(tmp_path / name)


@pytest.mark.parametrize(
    "told",
    [
        b"not a message",
        msgspec.msgpack.encode(FetchResult()),
        msgspec.msgpack.encode(FetchResult(problem=FetchProblem("none of ours", "X-1", "x", ""))),
        msgspec.msgpack.encode(FetchResult(FetchedCode("a" * 40, TREE.encode(), {}))),
        msgspec.msgpack.encode(FetchResult(FetchedCode("a" * 40, TREE.encode(), {TREE.digests[0]: "../../secret"}))),
    ],
    ids=["garbage", "nothing", "unknown problem", "no place", "place outside"],
)
async def test_fetch_that_answers_nonsense_is_a_declared_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: bytes
) -> None:
    """Anything else would end the worker that deploys for hooks."""

    async def run(*values: object, **options: object) -> ProgramOutcome:
        return ProgramOutcome(told, "")

    monkeypatch.setattr(async_programs, "run", run)
    (tmp_path / "work/files").mkdir(parents=True)
    with pytest.raises(PrecastError) as caught:
        await CodeFetcher(tmp_path / "cache").fetch("/srv/x", "main", AddressPolicy(), tmp_path / "work")
    assert caught.value.code in ("ENV-036", "ENV-002")


async def test_directory_of_files_that_became_a_link_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/secret").write_text("x")
    answer = FetchResult(FetchedCode("a" * 40, TREE.encode(), {TREE.digests[0]: "secret"}))

    async def run(*values: object, **options: object) -> ProgramOutcome:
        (tmp_path / "work/files").symlink_to(tmp_path / "elsewhere")
        return ProgramOutcome(msgspec.msgpack.encode(answer), "")

    monkeypatch.setattr(async_programs, "run", run)
    (tmp_path / "work").mkdir()
    with pytest.raises(PrecastError, match="outside"):
        await CodeFetcher(tmp_path / "cache").fetch("/srv/x", "main", AddressPolicy(), tmp_path / "work")


def test_password_of_a_repository_is_in_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*values: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fetch_child, "check_out", fail)
    policy = AddressPolicy()
    address = "https://bot:hunter22@git.example.com/code.git"
    request = FetchRequest(address, "main", str(tmp_path), str(tmp_path), policy, policy)
    told = msgspec.json.encode(fetch_child._result(request))
    assert b"No space left" in told
    assert b"hunter22" not in told

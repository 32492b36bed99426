"""Signatures of real commits and tags, made by ssh-keygen and gpg, as git verifies them."""

import os
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from precast.base.errors import PrecastError
from precast.services.code.signatures import Signer, SigningPolicy, check_policy, verify_signature

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or shutil.which("ssh-keygen") is None, reason="needs git and ssh-keygen"
)


class Forge:
    """A repository of a team, the keys of its people, and a bare copy as a deployment fetches it."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.work, self.bare = directory, directory / "work", directory / "git"
        self.work.mkdir()
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": "2026-11-01T12:00:00Z",
            "GIT_COMMITTER_DATE": "2026-11-01T12:00:00Z",
        }
        self.git("init", "--quiet", "-b", "main")
        self.git("config", "user.name", "Ann")
        self.git("config", "user.email", "ann@example.com")
        self.git("config", "gpg.format", "ssh")

    def git(self, *words: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *words], cwd=cwd or self.work, env=self.environment, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def key(self, name: str) -> Path:
        path = self.directory / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path], check=True)
        return path

    def signer(self, name: str, key: Path, options: str = "") -> str:
        kind, text, *_ = key.with_suffix(".pub").read_text().split()
        return f"{name} {options}{' ' if options else ''}{kind} {text}\n"

    def commit(self, text: str, key: Path | None = None) -> str:
        (self.work / "site.pp").write_text(text)
        self.git("add", ".")
        signing = [f"--gpg-sign={key}"] if key is not None else ["--no-gpg-sign"]
        self.git("commit", "--quiet", "-m", text, *signing)
        return self.git("rev-parse", "HEAD")

    def tag(self, name: str, key: Path | None, commit: str = "HEAD") -> None:
        signing = ["-u", str(key), "-s"] if key is not None else ["-a"]
        self.git("tag", "-f", *signing, "-m", name, name, commit)

    def fetch(self, ref: str) -> str:
        """Fetch as a deployment does; returns the commit."""
        shutil.rmtree(self.bare, ignore_errors=True)
        self.git("init", "--quiet", "--bare", str(self.bare))
        self.git("fetch", "--quiet", "--no-tags", "--depth=1", "--", str(self.work), ref, cwd=self.bare)
        return self.git("rev-parse", "FETCH_HEAD^{commit}", cwd=self.bare)

    def verify(self, policy: SigningPolicy, ref: str = "main", now: datetime = NOW) -> Signer:
        return verify_signature(self.bare, self.fetch(ref), ref, policy, now)


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path)


def refused(attempt: Callable[[], Signer]) -> str:
    with pytest.raises(PrecastError) as caught:
        attempt()
    assert caught.value.code == "ENV-028"
    return caught.value.message


def test_commit_signed_by_an_allowed_key_names_its_signer(forge: Forge) -> None:
    key = forge.key("ann")
    forge.commit("one", key)
    signer = forge.verify(SigningPolicy("commit", "# the team\n\n" + forge.signer("ann@example.com", key)))
    fingerprint = subprocess.run(["ssh-keygen", "-lf", key], capture_output=True, text=True, check=True).stdout
    assert signer == Signer("ann@example.com", fingerprint.split()[1])


def test_unsigned_commit_is_refused(forge: Forge) -> None:
    key = forge.key("ann")
    forge.commit("one", key)
    forge.commit("two")
    assert "no signature" in refused(lambda: forge.verify(SigningPolicy("commit", forge.signer("ann", key))))


def test_commit_signed_by_a_stranger_is_refused(forge: Forge) -> None:
    allowed, stranger = forge.key("ann"), forge.key("mallory")
    forge.commit("one", stranger)
    told = refused(lambda: forge.verify(SigningPolicy("commit", forge.signer("ann", allowed))))
    assert "not allowed" in told


def test_home_of_the_server_allows_nobody(forge: Forge, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signers that the user's own configuration allows do not count."""
    allowed, stranger = forge.key("ann"), forge.key("mallory")
    (forge.directory / "all").write_text(forge.signer("mallory", stranger))
    (forge.directory / ".gitconfig").write_text(f'[gpg "ssh"]\nallowedSignersFile = {forge.directory}/all\n')
    monkeypatch.setenv("HOME", str(forge.directory))
    forge.commit("one", stranger)
    refused(lambda: forge.verify(SigningPolicy("commit", forge.signer("ann", allowed))))


def test_configuration_of_the_fetched_repository_has_no_effect(forge: Forge) -> None:
    allowed, stranger = forge.key("ann"), forge.key("mallory")
    commit = forge.commit("one", stranger)
    forge.fetch("main")
    (forge.directory / "all").write_text(forge.signer("mallory", stranger))
    for name, value in (
        ("gpg.ssh.program", "/bin/true"),
        ("gpg.ssh.allowedSignersFile", str(forge.directory / "all")),
        ("core.fsmonitor", f"touch {forge.directory}/ran"),
    ):
        forge.git("config", name, value, cwd=forge.bare)
    policy = SigningPolicy("commit", forge.signer("ann", allowed))
    refused(lambda: verify_signature(forge.bare, commit, "main", policy, NOW))
    assert not (forge.directory / "ran").exists()


def test_key_that_is_no_longer_valid_is_refused_even_for_a_commit_dated_back(forge: Forge) -> None:
    key = forge.key("ann")
    forge.commit("one", key)  # dated 1 November
    until = forge.signer("ann", key, 'valid-before="20261110"')
    assert forge.verify(SigningPolicy("commit", until), now=NOW - timedelta(days=10)).principal == "ann"
    assert "not valid now" in refused(lambda: forge.verify(SigningPolicy("commit", until)))
    later = forge.signer("ann", key, "valid-after=20270101")
    refused(lambda: forge.verify(SigningPolicy("commit", later)))


def test_key_for_another_purpose_is_refused(forge: Forge) -> None:
    key = forge.key("ann")
    forge.commit("one", key)
    refused(lambda: forge.verify(SigningPolicy("commit", forge.signer("ann", key, 'namespaces="file"'))))


def test_signature_of_another_commit_is_refused(forge: Forge) -> None:
    key = forge.key("ann")
    signed = forge.commit("one", key)
    text = forge.git("cat-file", "commit", signed)
    forged = text.replace("\n\none", "\n\nsomething else")
    path = forge.directory / "forged"
    path.write_text(forged + "\n")
    other = forge.git("hash-object", "-w", "-t", "commit", str(path))
    forge.git("update-ref", "refs/heads/main", other)
    refused(lambda: forge.verify(SigningPolicy("commit", forge.signer("ann", key))))


def test_merge_needs_a_signature_of_its_own(forge: Forge) -> None:
    key = forge.key("ann")
    policy = SigningPolicy("commit", forge.signer("ann", key))
    forge.commit("one", key)
    forge.git("checkout", "--quiet", "-b", "side")
    forge.commit("side", key)
    forge.git("checkout", "--quiet", "main")
    forge.git("merge", "--quiet", "--no-ff", "--no-gpg-sign", "-m", "unsigned merge", "side")
    refused(lambda: forge.verify(policy))
    forge.git("reset", "--quiet", "--hard", "HEAD^")
    forge.git("merge", "--quiet", "--no-ff", f"--gpg-sign={key}", "-m", "signed merge", "side")
    assert forge.verify(policy).principal == "ann"


def test_signed_tag_is_verified_and_its_commit_need_not_be_signed(forge: Forge) -> None:
    key = forge.key("ann")
    forge.commit("one")
    forge.tag("v1", key)
    assert forge.verify(SigningPolicy("tag", forge.signer("ann", key)), "v1").principal == "ann"


@pytest.mark.parametrize("kind", ["unsigned", "stranger", "lightweight", "branch", "renamed"])
def test_tag_that_proves_nothing_is_refused(forge: Forge, kind: str) -> None:
    key, stranger = forge.key("ann"), forge.key("mallory")
    forge.commit("one", key)
    ref = "main" if kind == "branch" else "v2"
    if kind in ("unsigned", "stranger"):
        forge.tag("v2", stranger if kind == "stranger" else None)
    elif kind == "lightweight":
        forge.git("tag", "v2")
    elif kind == "renamed":
        # An old signed tag, passed off as a newer one.
        forge.tag("v1", key)
        forge.git("update-ref", "refs/tags/v2", forge.git("rev-parse", "refs/tags/v1"))
    refused(lambda: forge.verify(SigningPolicy("tag", forge.signer("ann", key)), ref))


def test_tag_of_another_commit_than_the_deployed_one_is_refused(forge: Forge) -> None:
    key = forge.key("ann")
    forge.commit("one")
    forge.tag("v1", key)
    moved = forge.commit("two")
    forge.fetch("v1")
    policy = SigningPolicy("tag", forge.signer("ann", key))
    assert "not a tag of the commit" in refused(lambda: verify_signature(forge.bare, moved, "v1", policy, NOW))


@pytest.mark.skipif(shutil.which("gpg") is None, reason="needs gpg")
def test_commit_signed_with_gpg_is_verified(forge: Forge) -> None:
    home = forge.directory / "gnupg"
    home.mkdir(mode=0o700)
    environment = {**forge.environment, "GNUPGHOME": str(home)}

    def gpg(*words: str) -> str:
        done = subprocess.run(["gpg", "--batch", *words], env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    try:
        gpg("--passphrase", "", "--quick-gen-key", "Ann <ann@example.com>", "ed25519", "sign", "never")
        public = gpg("--armor", "--export", "ann@example.com")
        forge.environment["GNUPGHOME"] = str(home)
        forge.git("config", "gpg.format", "openpgp")
        (forge.work / "site.pp").write_text("x")
        forge.git("add", ".")
        forge.git("commit", "--quiet", "-S", "-m", "x")
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], env=environment, check=False)
    signer = forge.verify(SigningPolicy("commit", gpg_keys=public))
    assert signer.principal == "Ann <ann@example.com>"
    assert len(signer.key) == 40
    refused(lambda: forge.verify(SigningPolicy("commit", forge.signer("bob", forge.key("bob")))))


@pytest.mark.parametrize(
    "policy",
    [
        SigningPolicy("commit"),
        SigningPolicy("push", "ann ssh-ed25519 AAAA"),
        SigningPolicy("commit", "ann"),
        SigningPolicy("commit", "x" * 70_000),
    ],
)
def test_policy_that_nothing_satisfies_is_refused(policy: SigningPolicy) -> None:
    with pytest.raises(PrecastError) as caught:
        check_policy(policy)
    assert caught.value.code == "ENV-029"


@pytest.mark.parametrize("commit", ["--help", "HEAD", "main", "a" * 39])
def test_commit_that_is_not_a_hash_never_reaches_git(forge: Forge, commit: str) -> None:
    refused(lambda: verify_signature(forge.bare, commit, "main", SigningPolicy("commit", "a b c"), NOW))

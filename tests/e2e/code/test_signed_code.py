"""An environment that requires signed commits, with a real server, real git and real ssh keys."""

import hmac
import shutil
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tests.e2e.code.test_env_cli import SITE, git, write
from tests.e2e.precast_command import assert_fine, assert_refused
from tests.e2e.precast_server import Server, running

SECRET = "a secret that only the forge knows"

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or shutil.which("ssh-keygen") is None, reason="needs git and ssh-keygen"
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("repository")
    write(place / "manifests/site.pp", SITE)
    git(place, "init", "--quiet", "--initial-branch=main")
    git(place, "config", "gpg.format", "ssh")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "-m", "unsigned")
    return place


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The private key of a person of the team, and the allowed-signers file."""
    place = tmp_path_factory.mktemp("keys")
    for name in ("ann", "mallory"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", place / name], check=True)
    write(place / "allowed", f"ann@example.com {(place / 'ann.pub').read_text()}")
    return place


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Iterator[Server]:
    made = Server.init(tmp_path_factory.mktemp("site") / "data")
    hooks = made.data.parent / "hooks.toml"
    hooks.write_text(f'[production]\nrepository = "{repository}"\nref = "main"\nsecret = "{SECRET}"\n')
    hooks.chmod(0o600)
    made.more = ["--hooks", str(hooks)]
    with running(made) as running_server:
        yield running_server


def test_only_code_that_is_signed_by_an_allowed_key_is_deployed(server: Server, repository: Path, keys: Path) -> None:
    assert_fine(server.command("env", "signing", "production", "commit", "--signers", keys / "allowed"))
    # Files from a working copy prove nothing, and the refusal names the next step.
    refused = server.command("env", "deploy", "production", "--from", repository)
    assert_refused(refused, 77, "ENV-041")
    assert "--from-repository" in refused.err
    assert_refused(server.command("env", "deploy", "production", "--git", repository, "--ref", "main"), 77, "ENV-041")
    assert_refused(server.command("env", "deploy", "production", "--from-repository"), 77, "ENV-028")
    _commit(repository, "by a stranger", keys / "mallory")
    assert_refused(server.command("env", "deploy", "production", "--from-repository"), 77, "ENV-028")
    _commit(repository, "by ann", keys / "ann")
    assert_fine(server.command("env", "deploy", "production", "--from-repository"))
    (current,) = [row["current"] for row in server.read("env", "list")]
    assert (current["commit_id"], current["signer"]) == (git(repository, "rev-parse", "main"), "ann@example.com")
    assert current["signing_key"].startswith("SHA256:")
    assert "signed by ann@example.com" in server.command("env", "show", "production").out
    (entry,) = [row for row in server.read("audit") if row["action"] == "environment.deploy"]
    assert entry["detail"]["signer"] == "ann@example.com"


def test_hook_refuses_an_unsigned_push_and_the_signed_version_stays(server: Server, repository: Path) -> None:
    write(repository / "manifests/site.pp", SITE + "# pushed without a signature\n")
    git(repository, "commit", "--quiet", "--no-gpg-sign", "-am", "unsigned again")
    signature = "sha256=" + hmac.new(SECRET.encode(), b"", sha256).hexdigest()
    headers = {"X-Hub-Signature-256": signature}
    assert server.ask("POST", "/v1/hooks/production", None, b"", headers=headers).status == 200
    while not (refusals := [row for row in server.read("audit") if row["action"] == "environment.refuse"]):
        pass
    assert "ENV-028" in refusals[0]["detail"]["reason"]
    (current,) = [row["current"] for row in server.read("env", "list")]
    assert current["signer"] == "ann@example.com"


def _commit(repository: Path, text: str, key: Path) -> None:
    write(repository / "manifests/site.pp", f"{SITE}# {text}\n")
    git(repository, "commit", "--quiet", f"--gpg-sign={key}", "-am", text)

"""Hooks and the external node classifier with a real server: the server follows its configuration, never the request."""

import hmac
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.code.test_env_cli import SITE, git, write
from tests.e2e.precast_command import DEADLINE_S, assert_fine
from tests.e2e.precast_server import HttpResponse, Server, running

SECRET = "a secret that only the forge knows"
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("repository")
    write(place / "manifests/site.pp", SITE)
    git(place, "init", "--quiet", "--initial-branch=main")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "-m", "one")
    return place


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Iterator[Server]:
    made = Server.init(tmp_path_factory.mktemp("site") / "data")
    hooks = made.data.parent / "hooks.toml"
    hooks.write_text(
        "".join(
            f'[{name}]\nrepository = "{repository}"\nref = "{ref}"\nsecret = "{SECRET}"\n'
            for name, ref in (("production", "main"), ("testing", "test"))
        )
    )
    hooks.chmod(0o600)
    enc = made.data.parent / "enc"
    write(enc, "#!/bin/sh\ncat <<END\nclasses: [base]\nparameters: {asked: $1}\nenvironment: testing\nEND\n")
    enc.chmod(0o755)
    made.more = ["--hooks", str(hooks), "--enc", str(enc)]
    with running(made) as running_server:
        yield running_server


def call(server: Server, environment: str, body: bytes, secret: str = SECRET) -> HttpResponse:
    signature = "sha256=" + hmac.new(secret.encode(), body, sha256).hexdigest()
    path = f"/v1/hooks/{environment}"
    return server.ask("POST", path, None, body, headers={"X-Hub-Signature-256": signature})


def until(read: Callable[[], Any], is_expected: Callable[[Any], bool]) -> Any:
    """Read until the value satisfies the condition. Each attempt starts a command, which is slow enough without a pause."""
    deadline_s = time.monotonic() + DEADLINE_S
    while not is_expected(value := read()):
        assert time.monotonic() < deadline_s, value
    return value


def environments(server: Server) -> dict[str, dict[str, Any]]:
    return {row["name"]: row["current"] for row in server.read("env", "list")}


def test_signed_call_deploys_what_is_configured_and_a_replay_changes_nothing(server: Server, repository: Path) -> None:
    body = json.dumps({"ref": "refs/heads/evil", "repository": {"clone_url": "https://evil.example.org/x"}}).encode()
    came = call(server, "production", body)
    assert (came.status, came.body) == (200, {"environment": "production", "is_queued": True})
    now = until(lambda: environments(server), lambda value: "production" in value)["production"]
    assert now["commit_id"] == git(repository, "rev-parse", "main")
    assert (now["source"], now["deployed_by"]) == (f"{repository} main", "hook:production")
    assert call(server, "production", body).status == 200
    write(repository / "manifests/site.pp", SITE + "# two\n")
    git(repository, "commit", "--quiet", "-am", "two")
    call(server, "production", b"")
    now = until(lambda: environments(server)["production"], lambda value: value["number"] != 1)
    assert (now["number"], now["commit_id"]) == (2, git(repository, "rev-parse", "main"))


@pytest.mark.parametrize(
    ("environment", "secret"), [("production", "a secret that somebody guesses"), ("nowhere", SECRET), ("nowhere", "")]
)
def test_call_that_is_badly_signed_is_refused_with_the_same_answer(
    server: Server, environment: str, secret: str
) -> None:
    came = call(server, environment, b"{}", secret)
    assert (came.status, came.body["code"]) == (401, "API-002")
    assert server.ask("POST", f"/v1/hooks/{environment}", None, b"{}").status == 401


def test_broken_code_is_refused_and_audited(server: Server, repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "test")
    write(repository / "manifests/site.pp", "node default {")
    git(repository, "commit", "--quiet", "-am", "broken")
    git(repository, "checkout", "--quiet", "main")
    assert call(server, "testing", b"{}").status == 200
    audit = until(lambda: server.read("audit"), lambda rows: any(row["action"] == "environment.refuse" for row in rows))
    (entry,) = [row for row in audit if row["action"] == "environment.refuse"]
    assert (entry["actor"], entry["target"]) == ("hook:testing", "testing")
    assert "manifests/site.pp:1:" in entry["detail"]["reason"]
    assert "testing" not in environments(server)


def test_hooks_are_limited(server: Server) -> None:
    codes = [call(server, "production", b"%d" % number).status for number in range(20)]
    assert codes[-1] == 429
    assert 200 in codes or codes[0] == 429


@pytest.mark.needs("curl")
@pytest.mark.needs("openssl")
def test_example_hook_of_a_repository_calls_the_server(server: Server, repository: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), str(bare))
    shutil.copy(ROOT / "examples/post-receive", bare / "hooks/post-receive")
    (bare / "hooks/post-receive").chmod(0o755)
    write(bare / "precast-hook-secret", SECRET)
    for name, value in (("url", server.url), ("ca", str(server.authority)), ("main", "production")):
        git(bare, "config", f"precast.{name}", value)
    work = tmp_path / "work"
    git(tmp_path, "clone", "--quiet", str(bare), str(work))
    write(work / "manifests/new.pp", "# new\n")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "-m", "new")
    pushed = subprocess.run(
        ["git", "push", "origin", "main"], cwd=work, capture_output=True, text=True, check=True, timeout=DEADLINE_S
    )
    assert "production" in pushed.stderr
    assert "is_queued" in pushed.stderr or "ENV-025" in pushed.stderr


def test_hooks_file_that_others_may_read_keep_the_server_from_starting(server: Server, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks.toml"
    hooks.write_text(f'[x]\nrepository = "/x"\nref = "main"\nsecret = "{SECRET}"\n')
    hooks.chmod(0o644)
    ran = server.command("server", "--data", server.data, "--listen", "127.0.0.1:0", "--hooks", hooks)
    assert (ran.code, "ENV-024" in ran.err) == (64, True), ran


def test_external_classifier_is_asked_at_enrolment(server: Server, tmp_path: Path) -> None:
    token = server.read("token", "enrol", "enc1.test")["token"]
    assert_fine(server.enrol(tmp_path, "enc1.test", token))
    view = until(lambda: server.read("node", "show", "enc1.test"), lambda view: bool(view["sources"]))
    assert (view["node"]["environment"], view["classes"], view["parameters"]) == (
        "testing",
        {"base": {}},
        {"asked": "enc1.test"},
    )
    write(server.data.parent / "enc", "#!/bin/sh\necho the directory is away >&2\nexit 1\n")
    assert_fine(server.command("node", "refresh", "enc1.test"))
    shown = until(lambda: server.command("node", "show", "enc1.test").out, lambda text: "could not be asked" in text)
    assert "the directory is away" in shown
    assert "testing" in shown

"""Secrets of a real server from all its sources: eyaml, files, and a Vault (the stand-in for its API in lab/vault_server.py)."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.key_pairs import OPENSSL, PUBLIC, encrypt, make_pair
from lab.server_process import PRECAST
from lab.site import Site
from lab.vault_server import ROLE_ID, SECRET_ID, VaultServer, VaultThread
from precast.base import digests, https

pytestmark = [pytest.mark.timeout(240), pytest.mark.skipif(OPENSSL is None, reason="openssl makes the keys")]

DEADLINE_S = 60.0
HIERA = """\
version: 5
hierarchy:
  - {name: vault, lookup_key: precast::secrets, path: "app/%{trusted.certname}", options: {source: vault}}
  - {name: files, lookup_key: precast::secrets, path: common, options: {source: local}}
  - name: encrypted
    path: secrets.eyaml
    lookup_key: eyaml_lookup_key
    options: {pkcs7_private_key: keys/private_key.pkcs7.pem, pkcs7_public_key: keys/public_key.pkcs7.pem}
"""
MANIFEST = """\
file { '/etc/all': content => Sensitive(['own', 'shared', 'locked'].map |$key| { lookup($key).unwrap }.join(' ')) }
if $facts['late'] { file { '/etc/late': content => precast::secret('vault', 'late', 'password') } }
if $facts['role'] { file { '/etc/role': content => precast::secret('vault', "app/${facts['role']}", 'own') } }
"""
SECRETS = ("hunter2-own", "hunter2-shared", "hunter2-locked", "hunter2-late", "hunter2-new", ROLE_ID, SECRET_ID)


class Place:
    """A server, its Vault, its files and its code."""

    def __init__(self, site: Site, vault: VaultServer, directory: Path) -> None:
        self.site, self.vault, self.directory = site, vault, directory

    def command(self, *words: str) -> str:
        done = subprocess.run([PRECAST, *words], env=self.site.environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    def node(self, name: str, **facts: Any) -> None:
        identity = self.site.enrol(name)
        self.submit(name, identity.context(), **facts)

    def submit(self, name: str, context: Any, **facts: Any) -> None:
        stable = {"networking": {"hostname": name}, "late": False, "role": None, **facts}
        body = json.dumps({"digest": digests.of_value(stable), "volatile": {}, "stable": stable}).encode()
        assert https.call(self.site.url, context, "POST", "/v1/facts", body).status == 200

    def until(self, node: str, other_than: str | None = None) -> dict[str, Any]:
        """What `catalog show` says when a catalog is staged."""
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s:
            words = [PRECAST, "catalog", "show", node, "--json"]
            done = subprocess.run(words, env=self.site.environment, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                shown: dict[str, Any] = json.loads(done.stdout)
                if shown["staged"] not in (None, other_than):
                    return shown
        raise AssertionError(
            f"nothing was staged for {node}: {done.stdout}{done.stderr}{self.command('catalog', 'errors')}"
        )

    def until_said(self, what: str, *words: str) -> str:
        """The output of a command, when it says something."""
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s:
            if what in (said := self.command(*words)):
                return said
        raise AssertionError(f"{words} does not say {what}: {said}")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("secrets")
    with VaultThread(directory) as vault:
        vault.put("secret", "app/web1", {"own": "hunter2-own"})
        vault.put("secret", "app/web2", {"own": "hunter2-own"})
        make_pair(directory / "site" / "eyaml" / "production")
        sources = _write_sources(directory, vault)
        with Site(directory / "site", words=["--secret-sources", str(sources)]) as site:
            made = Place(site, vault, directory)
            _deploy(made)
            yield made


def _write_sources(directory: Path, vault: VaultServer) -> Path:
    files = {"role": ROLE_ID, "secret": SECRET_ID, "files/production/common.yaml": "shared: hunter2-shared\n"}
    files["sources.toml"] = f"""
        [vault]
        kind = "vault"
        url = "{vault.url}"
        ca = "{vault.ca}"
        role_id_file = "{directory / "role"}"
        secret_id_file = "{directory / "secret"}"
        environments = {{ production = ["app/", "late"] }}
        [local]
        kind = "file"
        directory = "{directory / "files"}"
        environments = {{ production = ["/"] }}
    """
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(0o600)
        path.write_text(text)
    return directory / "sources.toml"


def _deploy(place: Place) -> None:
    encrypted = encrypt("hunter2-locked", place.directory / "site" / "eyaml" / "production" / PUBLIC)
    code = {"hiera.yaml": HIERA, "manifests/site.pp": MANIFEST, "data/secrets.eyaml": f"locked: {encrypted}\n"}
    for name, text in code.items():
        path = place.directory / "code" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    place.site.run("env", "deploy", "production", "--from", str(place.directory / "code"))


def test_catalog_gets_secrets_of_all_sources(place: Place) -> None:
    place.node("web1")
    shown = place.until("web1")
    assert shown["error"] in (None, ""), shown
    said = place.command("secrets", "sources")
    assert "app/, late" in said
    (vault,) = [row for row in place.site.run("secrets", "sources") if row["name"] == "vault"]
    assert vault["environments"][0]["known"] == 1
    assert vault["place"] == f"{place.vault.url} secret"


def test_changed_secret_reaches_the_node_after_a_refresh(place: Place) -> None:
    place.node("web2")
    before = place.until("web2")["staged"]
    place.vault.put("secret", "app/web2", {"own": "hunter2-new"})
    assert "vault: " in place.command("secrets", "refresh", "vault")
    assert place.until("web2", other_than=before)["staged"] != before
    assert "SECRET-024" in place.command("secrets", "refresh", "nowhere")
    assert any(entry["action"] == "secret.refresh" for entry in place.site.run("audit"))


def test_new_secret_of_a_sealed_vault_waits_with_a_reason(place: Place) -> None:
    place.vault.put("secret", "late", {"password": "hunter2-late"})
    place.vault.sealed = True
    place.vault.put("secret", "app/late1", {"own": "hunter2-own"})
    place.node("late1", late=True)
    said = place.until_said("sealed", "secrets", "sources")
    assert "SECRET-021" in said
    place.until_said("SECRET-022", "catalog", "errors")
    place.until_said("of secret sources could not be read", "status")
    place.vault.sealed = False
    place.command("secrets", "refresh", "vault")
    assert place.until("late1")["error"] in (None, "")


def test_fact_that_chooses_a_secret_warns_or_is_refused_by_policy(place: Place) -> None:
    place.vault.put("secret", "app/role1", {"own": "hunter2-own"})
    place.node("role1", role="web1")
    assert place.until("role1")["problems"]
    assert "SECRET-033" in place.command("catalog", "errors")
    assert "is a warning" in place.command("secrets", "policy", "production")
    assert "is an error" in place.command("secrets", "policy", "production", "refuse")
    place.until_said("error: the fact facts, which the node itself sends, chooses a secret", "catalog", "errors")
    place.command("secrets", "policy", "production", "warn")


def test_no_secret_is_in_the_files_and_the_log_of_the_server(place: Place) -> None:
    place.site.stop()
    try:
        data = place.directory / "site"
        for path in data.rglob("*"):
            if path.is_file() and "authority" not in path.parts:
                content = path.read_bytes()
                assert not [secret for secret in SECRETS if secret.encode() in content], path
    finally:
        place.site.start()


def test_invalid_sources_keep_the_server_from_starting(place: Place) -> None:
    path = place.directory / "bad.toml"
    path.touch(0o600)
    path.write_text('[vault]\nkind = "vault"\nurl = "http://vault"\nenvironments = {}\ntoken_file = "/x"\n')
    words = [
        PRECAST,
        "server",
        "--data",
        str(place.site.directory),
        "--listen",
        "127.0.0.1:0",
        "--secret-sources",
        str(path),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 64
    assert "SECRET-020" in done.stderr
    assert "Traceback" not in done.stderr

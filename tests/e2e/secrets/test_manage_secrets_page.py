"""The how-to of secrets: its commands and files work as they stand there, with eyaml itself and the stand-in for Vault."""

import base64
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.server_process import PRECAST
from lab.vault_server import ROLE_ID, SECRET_ID, VaultServer, VaultThread
from precast.services.code.decryption import KeyDirectory
from precast.services.secrets.sources.configuration import load_sources
from tests.e2e.precast_server import Server, running

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "howto" / "manage-secrets.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def block(kind: str, contains: str) -> str:
    (found,) = [text for text in blocks(kind) if contains in text]
    return found


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[VaultServer]:
    with VaultThread(tmp_path) as vault:
        yield vault


@pytest.mark.skipif(shutil.which("eyaml") is None, reason="needs eyaml (hiera-eyaml)")
def test_keys_and_values_of_eyaml_are_decrypted_by_the_server(tmp_path: Path) -> None:
    keys = tmp_path / "eyaml"
    shell = block("sh", "createkeys").replace("/var/lib/precast/server/eyaml", str(keys))
    subprocess.run(["sh", "-eu"], input=shell, text=True, check=True, capture_output=True, timeout=120)
    encrypt = block("sh", "eyaml encrypt")
    done = subprocess.run(
        ["sh", "-eu"], input=encrypt, text=True, check=True, capture_output=True, timeout=120, cwd=keys / "production"
    )
    (options,) = re.findall(r"options:\n((?:      .*\n)+)", block("yaml", "eyaml_lookup_key"))
    named = dict(re.findall(r"(\w+): (\S+)", options))
    data = re.fullmatch(r"ENC\[PKCS7,([A-Za-z0-9+/=]+)\]", done.stdout.strip())
    assert data is not None
    plain = KeyDirectory(keys).find("production").decrypt(base64.b64decode(data[1]), named)
    assert plain == b"correct horse battery"


def write_private(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.touch(0o600)
    path.write_text(text)
    return path


def test_sources_of_the_page_serve_the_code_of_the_page(tmp_path: Path, vault: VaultServer) -> None:
    written = block("toml", 'kind = "vault"').replace("/etc/precast", str(tmp_path / "etc"))
    written = written.replace("https://vault.example.com:8200", vault.url)
    sources = write_private(tmp_path / "etc" / "secret-sources.toml", written)
    shutil.copy(vault.ca, tmp_path / "etc" / "vault-ca.pem")
    write_private(tmp_path / "etc" / "vault-role-id", ROLE_ID)
    write_private(tmp_path / "etc" / "vault-secret-id", SECRET_ID)
    write_private(tmp_path / "etc" / "secrets" / "production" / "app" / "db.yaml", "password: hunter2\n")
    configured = load_sources(sources)
    assert configured["vault"].allows("production", "shared/smtp")
    assert not configured["vault"].allows("staging", "shared/smtp")
    (setting,) = re.findall(r'secret_sources = "(.*)"', block("toml", "secret_sources ="))
    assert setting == "/etc/precast/secret-sources.toml"
    server = Server.init(tmp_path / "data")
    server.more = ["--secret-sources", str(sources)]
    with running(server):
        shown = server.read("secrets", "sources")
        assert [row["name"] for row in shown] == ["local", "vault"]
        deploy(server, tmp_path / "code")
        for command in block("sh", "secrets refresh vault").splitlines():
            ran = server.command(*command.split()[1:])
            assert ran.code == 0, ran
        ran = server.command(*block("sh", "secrets policy").split()[1:])
        assert (ran.code, "refuse" in ran.out) == (0, True), ran


def deploy(server: Server, code: Path) -> None:
    write_private(code / "hiera.yaml", block("yaml", "precast::secrets"))
    write_private(code / "manifests" / "site.pp", block("puppet", "precast::secret("))
    ran = server.command("env", "deploy", "production", "--from", code)
    assert ran.code == 0, ran


def test_compile_of_the_page_uses_the_values_of_its_file(tmp_path: Path) -> None:
    write_private(tmp_path / "hiera.yaml", block("yaml", "precast::secrets"))
    code = block("puppet", "precast::secret(") + "notice(lookup('smtp::password'))\n"
    write_private(tmp_path / "manifests" / "site.pp", code)
    write_private(tmp_path / "secrets.yaml", block("yaml", "# secrets.yaml"))
    words = block("sh", "--secrets secrets.yaml").split()
    done = subprocess.run([PRECAST, *words[1:]], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "File[/etc/app/password]" in done.stdout
    assert "example" not in done.stdout.replace("web1.example.com", "")

"""`--secrets`: a compile on this machine with values for the secret sources of a server."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PRECAST = str(Path(sys.executable).with_name("precast"))
HIERA = """\
version: 5
hierarchy:
  - {name: vault, lookup_key: precast::secrets, path: app/db, options: {source: vault}}
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "hiera.yaml").write_text(HIERA)
    (tmp_path / "manifests" / "site.pp").write_text("file { '/etc/db': content => lookup('password') }\n")
    (tmp_path / "secrets.yaml").write_text("vault: {app/db: {password: example, port: 1}}\n")
    return tmp_path


def run(environment: Path, *words: str) -> subprocess.CompletedProcess[str]:
    named = ["--environment", str(environment), "--node", "web1"]
    done = subprocess.run([PRECAST, *words, *named], capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in done.stderr
    return done


def test_compile_uses_the_values_and_shows_them_nowhere_but_in_the_catalog(environment: Path) -> None:
    secrets = "--secrets", str(environment / "secrets.yaml")
    catalog = json.loads(run(environment, "compile", "--json", *secrets).stdout)
    (resource,) = [each for each in catalog["resources"] if each["type"] == "File"]
    assert resource["parameters"]["content"] == "example"
    trace = run(environment, "compile", "--trace", *secrets).stdout
    assert "app/db" in trace
    assert "example" not in trace
    assert "redacted" in run(environment, "lookup", "password", *secrets).stdout


def test_without_values_the_error_says_how_to_give_them(environment: Path) -> None:
    done = run(environment, "compile")
    assert done.returncode == 64
    assert "SECRET-030" in done.stderr
    assert "--secrets" in done.stderr


@pytest.mark.parametrize("text", ["[1]", "vault: {app/db: 1}", "a: *b", "{1: {}}"])
def test_file_of_another_form_is_refused(environment: Path, text: str) -> None:
    path = environment / "bad.yaml"
    path.write_text(text)
    done = run(environment, "compile", "--secrets", str(path))
    assert done.returncode == 64
    assert "CLI-057" in done.stderr

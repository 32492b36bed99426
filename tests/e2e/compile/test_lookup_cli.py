"""`precast lookup`, as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PRECAST = str(Path(sys.executable).with_name("precast"))
HIERA = """\
version: 5
hierarchy:
  - {name: node, path: "nodes/%{trusted.certname}.yaml"}
  - {name: role, path: "roles/%{role}.yaml"}
  - {name: extra, glob: "extra/*.yaml"}
  - {name: common, path: common.yaml}
"""
COMMON = """\
port: 80
users: [{name: ann}]
packages: [vim]
tree: {a: {x: 1}}
answer: "on %{facts.kernel} at %{lookup('port')}"
secret: hidden
lookup_options:
  packages: {merge: unique}
  secret: {convert_to: Sensitive}
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    files = {
        "hiera.yaml": HIERA,
        "data/common.yaml": COMMON,
        "data/nodes/web1.example.com.yaml": "port: 8080\npackages: [git]\ntree: {a: {y: 2}}\n",
        "data/roles/web.yaml": "packages: [nginx]\n",
        "manifests/site.pp": "$role = 'web'\n",
        "modules/ntp/hiera.yaml": "version: 5\n",
        "modules/ntp/data/common.yaml": "ntp::servers: [pool.example.com]\n",
    }
    place = tmp_path / "env"
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    (tmp_path / "facts.json").write_text('{"kernel": "Linux"}')
    return place


def lookup(environment: Path, *words: str, node: str = "web1.example.com", code: int = 0) -> tuple[str, str]:
    """What the command prints to standard output and standard error."""
    given = [PRECAST, "lookup", "--environment", str(environment), "--node", node, *words]
    facts = ["--facts", str(environment.parent / "facts.json")]
    done = subprocess.run([*given, *facts], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def test_value_is_printed_unchanged(environment: Path) -> None:
    assert lookup(environment, "port")[0] == "8080\n"
    assert lookup(environment, "port", node="db1.example.com")[0] == "80\n"
    assert lookup(environment, "answer")[0] == "on Linux at 8080\n"
    assert lookup(environment, "users.0.name")[0] == "ann\n"
    assert (
        lookup(environment, "ntp::servers", "--json")[0]
        == json.dumps({"found": True, "key": "ntp::servers", "value": ["pool.example.com"]}, indent=2) + "\n"
    )


def test_first_key_with_a_value_counts(environment: Path) -> None:
    assert lookup(environment, "nope", "port")[0] == "8080\n"


def test_values_are_merged_by_flag_or_by_lookup_options(environment: Path) -> None:
    assert json.loads(lookup(environment, "packages", "--json")[0])["value"] == ["git", "vim"]
    assert json.loads(lookup(environment, "tree", "--merge", "deep", "--json")[0])["value"] == {"a": {"x": 1, "y": 2}}
    assert "CLI-036" in lookup(environment, "tree", "--sort-merged-arrays", code=64)[1]


def test_manifests_are_compiled_first_on_request(environment: Path) -> None:
    assert json.loads(lookup(environment, "packages", "--compile", "--json")[0])["value"] == ["git", "nginx", "vim"]


def test_global_layer_comes_first(environment: Path) -> None:
    place = environment.parent / "global"
    (place / "data").mkdir(parents=True)
    (place / "hiera.yaml").write_text("version: 5\n")
    (place / "data" / "common.yaml").write_text("port: 1\npackages: [global]\n")
    words = ("--hiera", str(place / "hiera.yaml"))
    assert lookup(environment, "port", *words)[0] == "1\n"
    assert json.loads(lookup(environment, "packages", *words, "--json")[0])["value"] == ["global", "git", "vim"]
    assert "CLI-010" in lookup(environment, "port", "--hiera", str(place / "nope.yaml"), code=66)[1]


def test_global_data_outside_of_its_directory_is_refused(environment: Path) -> None:
    file = environment.parent / "hiera.yaml"
    file.write_text(
        "version: 5\ndefaults: {datadir: /etc, data_hash: yaml_data}\nhierarchy: [{name: x, path: passwd}]\n"
    )
    assert "HIERA-021" in lookup(environment, "port", "--hiera", str(file), code=64)[1]


def test_key_without_value_is_exit_code_1_with_a_guess(environment: Path) -> None:
    out, err = lookup(environment, "prot", code=1)
    assert out == ""
    assert "precast: no value for prot (did you mean port?)\n" in err
    assert json.loads(lookup(environment, "prot", "--json", code=1)[0])["guess"] == "(did you mean port?)"
    assert lookup(environment, "prot", "--default", "5")[0] == "5\n"


def test_explanation_names_every_layer_path_and_reason(environment: Path) -> None:
    out, _ = lookup(environment, "packages", "--explain")
    data = environment.resolve() / "data"
    for line in (
        "Global layer: no hiera.yaml configured",
        f'Using configuration "{environment.resolve()}/hiera.yaml"',
        f'Path "{data}/nodes/web1.example.com.yaml"',
        'Original path: "nodes/%{trusted.certname}.yaml"',
        "Path not found",
        "No files match: extra/*.yaml",
        'Using merge options from "lookup_options" hash',
        "Merge strategy unique",
        'Found key: "packages" value: [',
        "Merged result: [",
    ):
        assert line in out, line
    steps = json.loads(lookup(environment, "answer", "--explain", "--json")[0])["steps"]
    assert steps[-1]["step"] == 'Searching for "answer"'


def test_sensitive_value_is_not_printed(environment: Path) -> None:
    assert lookup(environment, "secret")[0] == "#<Sensitive [value redacted]>\n"
    assert "hidden" not in lookup(environment, "secret", "--json")[0]


def test_wrong_type_and_wrong_files_are_one_clear_line(environment: Path) -> None:
    assert "LANG-451" in lookup(environment, "answer", "--type", "Integer", code=64)[1]
    (environment / "data" / "common.yaml").write_text("port: 80\nbroken: [1,\n")
    _, err = lookup(environment, "nope", code=64)
    assert "data/common.yaml:3:1: error: invalid YAML" in err
    (environment / "hiera.yaml").write_text("version: 4\n")
    _, err = lookup(environment, "port", code=64)
    assert "has Hiera version 4, which is not supported [HIERA-010]" in err
    assert "docs/howto/look-up-data.md" in err
    (environment / "hiera.yaml").write_text("version: 5\nhierarchy:\n  - {name: x, pth: common.yaml}\n")
    _, err = lookup(environment, "port", code=64)
    assert "unrecognized key 'pth'" in err


def test_unknown_variable_in_a_path_is_reported(environment: Path) -> None:
    _, err = lookup(environment, "port")
    assert err == "warning: Undefined variable 'role' in a Hiera string\n"
    assert "HIERA-037" in lookup(environment, "port", "--strict", code=64)[1]

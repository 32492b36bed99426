"""`precast compile`, as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PRECAST = str(Path(sys.executable).with_name("precast"))
ENVIRONMENT = str(ROOT / "examples" / "environment")


def compile_node(*words: str, name: str = "web1", environment: str = ENVIRONMENT, code: int = 0) -> tuple[str, str]:
    """What the command prints to standard output and standard error."""
    done = subprocess.run(
        [PRECAST, "compile", "--environment", environment, "--node", f"{name}.example.com", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def facts(name: str) -> tuple[str, str]:
    return "--facts", f"examples/facts-{name}.json"


def test_summary_shows_order_places_and_version() -> None:
    out, err = compile_node(*facts("web1"))
    assert err == ""
    assert out.splitlines()[1].split() == ["Package[nginx-light]", "modules/web/manifests/install.pp:7"]
    assert "web1.example.com: 7 resources" in out


def test_like_nodes_share_a_version_and_get_their_own_fill() -> None:
    web1, web2 = (json.loads(compile_node(*facts(name), "--json", name=name)[0]) for name in ("web1", "web2"))
    assert web1["version"] == web2["version"]
    assert "web1.example.com" in json.dumps(web1)
    assert "web1.example.com" not in json.dumps(web2)
    assert "Precast::" not in json.dumps(web1)


def test_trace_lists_all_reads() -> None:
    reads = json.loads(compile_node(*facts("web1"), "--trace", "--json")[0])
    asked = [read["question"] for read in reads]
    assert {"ask": "fact", "path": ["os", "family"]} in asked
    assert not any(question.get("path") == ["uptime_seconds"] for question in asked)
    out, _ = compile_node(*facts("web1"), "--trace")
    assert "os.family" in out


def test_missing_facts_are_an_error_where_they_are_needed() -> None:
    _, err = compile_node(code=64)
    assert "LANG-603" in err
    assert "^" in err


@pytest.mark.parametrize(
    ("words", "environment", "code", "message"),
    [
        ((), "nowhere", 66, "nowhere"),
        (("--facts", "nowhere.json"), ENVIRONMENT, 66, "nowhere.json"),
        (("--fact", "x", "--node"), ENVIRONMENT, 64, "--node"),
    ],
)
def test_wrong_words_are_one_clear_line(words: tuple[str, ...], environment: str, code: int, message: str) -> None:
    out, err = compile_node(*words, environment=environment, code=code)
    assert out == ""
    assert message in err


def test_cycle_is_named_after_the_catalog(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "site.pp").write_text(
        "notify { ['a', 'b']: }\nNotify['a'] -> Notify['b'] -> Notify['a']\n"
    )
    _, err = compile_node(environment=str(tmp_path), code=64)
    assert "Notify[a] => Notify[b] => Notify[a]" in err or "Notify[b] => Notify[a] => Notify[b]" in err


def test_syntax_error_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "site.pp").write_text("notify { 'x': message => }\n")
    _, err = compile_node(environment=str(tmp_path), code=64)
    assert err.startswith("manifests/site.pp:1:26: error:")


EXPORTS = [
    {"node": "db1.example.com", "type": "Notify", "title": "from db1", "parameters": {"message": "m"}, "tags": ["db"]},
    {"node": "web1.example.com", "type": "Notify", "title": "from this node", "tags": ["db"]},
]


def collector(tmp_path: Path) -> str:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "site.pp").write_text("Notify <<| tag == 'db' |>>\n")
    return str(tmp_path)


def test_exports_of_other_nodes_are_read_from_a_file(tmp_path: Path) -> None:
    environment = collector(tmp_path)
    (tmp_path / "exports.json").write_text(json.dumps(EXPORTS))
    words = ("--exports", str(tmp_path / "exports.json"), "--json")
    out, err = compile_node(*words, environment=environment)
    assert err == ""
    assert [each["title"] for each in json.loads(out)["resources"] if each["type"] == "Notify"] == ["from db1"]


def test_collector_without_exports_warns(tmp_path: Path) -> None:
    out, err = compile_node(environment=collector(tmp_path))
    assert "without storeconfigs" in err
    assert "0 resources" in out


@pytest.mark.parametrize("text", ["{}", "[1]", "[", '[{"type": "Notify"}]'])
def test_file_that_does_not_contain_exports_is_one_clear_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "exports.json").write_text(text)
    words = ("--exports", str(tmp_path / "exports.json"))
    _, err = compile_node(*words, environment=collector(tmp_path), code=64)
    assert "CLI-055" in err
    assert "exports.json" in err

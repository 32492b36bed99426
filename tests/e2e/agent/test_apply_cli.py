"""`precast apply`, as a user runs it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.lease import lease_held
from precast.agent.state.store import LocalStore

PRECAST = str(Path(sys.executable).with_name("precast"))


def apply(root: Path, *words: str, code: int = 0, stdin: str = "") -> tuple[str, str]:
    """Run the command with its state below the root. Returns its standard output and standard error."""
    done = subprocess.run(
        [PRECAST, "apply", *words, "--root", str(root), "--node", "n.example.com"],
        capture_output=True,
        text=True,
        input=stdin,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def document(root: Path, *words: str, code: int = 0) -> dict[str, Any]:
    printed: dict[str, Any] = json.loads(apply(root, *words, "--json", code=code)[0])
    return printed


def test_manifest_is_applied_once_and_then_in_sync(tmp_path: Path) -> None:
    code = "file { '/motd': content => 'hello' } -> notify { 'done': }"
    out, _ = apply(tmp_path, "-e", code)
    assert (tmp_path / "motd").read_text() == "hello"
    assert "changed  File[/motd]" in out
    assert "notice   Notify[done]: done" in out
    again = document(tmp_path, "-e", code)
    assert [report["resource"] for report in again["resources"]] == ["Notify[done]"]
    assert again["summary"]["unchanged"] == 1


def test_noop_changes_nothing_and_wins_over_the_resource(tmp_path: Path) -> None:
    printed = document(tmp_path, "--noop", "-e", "file { '/motd': content => 'hello', noop => false }")
    assert not (tmp_path / "motd").exists()
    assert printed["summary"]["noop"] == 1
    assert printed["resources"][0]["events"][0]["status"] == "noop"


def test_exit_codes_say_what_happened(tmp_path: Path) -> None:
    good, bad = "file { '/a': content => 'x' }", "exec { '/bin/false': }"
    apply(tmp_path, "--detailed-exitcodes", "-e", good, code=2)
    apply(tmp_path, "--detailed-exitcodes", "-e", good, code=0)
    apply(tmp_path, "-e", bad, code=4)
    apply(tmp_path, "--detailed-exitcodes", "-e", f"{bad} file {{ '/b': content => 'x' }}", code=6)
    apply(tmp_path, "-e", "file { '/c': content => future('k') }", code=1)


def test_failure_names_its_source_line_and_the_skipped_resource(tmp_path: Path) -> None:
    manifest = tmp_path / "site.pp"
    manifest.write_text("file { '/no/such/directory': content => 'x' }\n-> notify { 'after': }\n")
    out, _ = apply(tmp_path, str(manifest), code=4)
    assert f"declared at {manifest}:1" in out
    assert "skipped  Notify[after]: it depends on File[/no/such/directory], which failed" in out


def test_corrective_change_is_reported_as_such(tmp_path: Path) -> None:
    code = "file { '/motd': content => 'hello' }"
    apply(tmp_path, "-e", code)
    (tmp_path / "motd").write_text("by hand")
    assert "(corrective)" in apply(tmp_path, "-e", code)[0]


def test_catalog_of_ours_and_of_puppet_are_applied(tmp_path: Path) -> None:
    catalog = {
        "name": "n.example.com",
        "version": 1,
        "environment": "production",
        "resources": [
            {"type": "Stage", "title": "main", "tags": ["stage"], "kind": "compilable_type", "parameters": {}},
            {"type": "Class", "title": "main", "tags": ["class"], "kind": "unknown"},
            {"type": "Web", "title": "a", "tags": ["web"], "kind": "defined_type"},
            {
                "type": "File",
                "title": "/a",
                "tags": ["file"],
                "kind": "compilable_type",
                "file": "/etc/site.pp",
                "line": 3,
                "parameters": {"content": {"__ptype": "Sensitive", "__pvalue": "hunter2"}, "mode": "0600"},
            },
        ],
        "edges": [
            {"source": "Stage[main]", "target": "Class[main]"},
            {"source": "Class[main]", "target": "Web[a]"},
            {"source": "Web[a]", "target": "File[/a]"},
        ],
        "classes": ["settings"],
    }
    place = tmp_path / "catalog.json"
    place.write_text(json.dumps(catalog))
    out, _ = apply(tmp_path, "--catalog", str(place))
    assert (tmp_path / "a").read_text() == "hunter2"
    assert "hunter2" not in out


def test_catalog_that_our_compile_printed_is_applied_with_its_contents(tmp_path: Path) -> None:
    module = tmp_path / "env" / "modules" / "m"
    (module / "files").mkdir(parents=True)
    (module / "manifests").mkdir()
    (module / "files" / "x").write_text("from the module")
    (module / "manifests" / "init.pp").write_text("class m { file { '/x': source => 'puppet:///modules/m/x' } }")
    (tmp_path / "env" / "manifests").mkdir()
    (tmp_path / "env" / "manifests" / "site.pp").write_text("include m")
    environment = ["--environment", str(tmp_path / "env")]
    words = [PRECAST, "compile", *environment, "--node", "n", "--json"]
    printed = subprocess.run(words, capture_output=True, check=True, timeout=60).stdout
    (tmp_path / "catalog.json").write_bytes(printed)
    apply(tmp_path, "--catalog", str(tmp_path / "catalog.json"), *environment)
    assert (tmp_path / "x").read_text() == "from the module"
    (tmp_path / "x").unlink()
    apply(tmp_path, *environment)
    assert (tmp_path / "x").read_text() == "from the module"
    (tmp_path / "x").unlink()
    unpinned = {key: value for key, value in json.loads(printed).items() if key != "content"}
    (tmp_path / "catalog.json").write_text(json.dumps(unpinned))
    apply(tmp_path, "--catalog", str(tmp_path / "catalog.json"), *environment)
    assert (tmp_path / "x").read_text() == "from the module"


def test_deferred_is_called_on_the_node(tmp_path: Path) -> None:
    apply(tmp_path, "-e", "file { '/d': content => Deferred('join', [['a', 'b'], '-']) }")
    assert (tmp_path / "d").read_text() == "a-b"


def test_second_run_names_the_process_that_holds_the_lease(tmp_path: Path) -> None:
    store = LocalStore.open(tmp_path, lambda: "i")
    with lease_held(store, "process 42 since noon"):
        _, err = apply(tmp_path, "-e", "notify { 'x': }", code=73)
    store.close()
    assert "process 42 since noon" in err
    assert "[APPLY-001]" in err


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((), 64, "give one of MANIFEST"),
        (("nowhere.pp",), 66, "nowhere.pp"),
        (("-e", "file { '/a': ensur => present }"), 64, "ensur"),
        (("-e", "notify { 'a': require => Notify['b'] } notify { 'b': require => Notify['a'] }"), 64, "[CATALOG-002]"),
        (("--catalog", "/etc/passwd"), 64, "is not a catalog"),
        (("--at-once", "0", "-e", ""), 64, "--at-once 0"),
    ],
)
def test_wrong_usage_is_one_clear_line(tmp_path: Path, words: tuple[str, ...], code: int, text: str) -> None:
    _, err = apply(tmp_path, *words, code=code)
    assert text in err


def test_root_that_does_not_exist_is_not_created(tmp_path: Path) -> None:
    _, err = apply(tmp_path / "typo", "-e", "notify { 'x': }", code=66)
    assert "typo" in err
    assert not (tmp_path / "typo").exists()


def test_manifest_from_standard_input(tmp_path: Path) -> None:
    apply(tmp_path, "-", stdin="file { '/a': content => 'x' }")
    assert (tmp_path / "a").read_text() == "x"


def test_run_that_gets_a_signal_finishes_the_current_resource_and_ends(tmp_path: Path) -> None:
    waiting = f"echo x > {tmp_path}/begun; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo x > {tmp_path}/ended"
    code = f"exec {{ 'one': command => '/bin/sh -c \"{waiting}\"' }} exec {{ '/bin/touch {tmp_path}/second': }}"
    words = [PRECAST, "apply", "-e", code, "--state", str(tmp_path / "state")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while not (tmp_path / "begun").exists():
            assert time.monotonic() < until
            time.sleep(0.01)
        process.terminate()
        (tmp_path / "go").touch()
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "stopped before the end" in out
    assert (tmp_path / "ended").exists()
    assert not (tmp_path / "second").exists()


def test_user_other_than_root_has_state_of_their_own(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("we are root")
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    subprocess.run([PRECAST, "apply", "-e", "notify { 'x': }"], env=environment, check=True, timeout=60)
    assert list(tmp_path.rglob("state.db"))


def test_agents_run_applies_the_cached_catalog_and_is_noop_where_configured(tmp_path: Path) -> None:
    def agent(*words: str, code: int = 0) -> str:
        command = [PRECAST, "agent", *words, "--root", str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    assert "[APPLY-005]" in agent("apply", code=66)
    kept = tmp_path / "var/lib/precast/agent/catalog.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    resources = [{"type": "File", "title": "/a", "parameters": {"content": "x"}}]
    kept.write_text(json.dumps({"name": "n", "version": "v1", "resources": resources}))
    settings = tmp_path / "etc/precast/agent.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("noop = true\n")
    agent("apply")
    assert not (tmp_path / "a").exists()
    agent("apply", "--enforce")
    assert (tmp_path / "a").read_text() == "x"
    assert "last run" in agent("status", code=1)


# Each of these takes milliseconds to import, and a run in which everything is in sync needs none of them.
HEAVY = {
    "argparse": True,  # proves that the list is compared: this one is imported
    "asyncio": False,
    "base64": False,
    "concurrent": False,
    "dataclasses": False,
    "inspect": False,  # typing_extensions imports it, and msgspec would import that
    "json": False,
    "logging": False,
    "precast.app": False,
    "precast.lang.compile": False,
    "precast.running.threads": False,
    "precast.services": False,
    "shutil": False,
    "ssl": False,
    "subprocess": False,
    "yaml": False,
}


def test_run_without_a_change_imports_no_large_module(tmp_path: Path) -> None:
    words = ["-e", "file { '/motd': content => 'hello' }"]
    apply(tmp_path, *words)
    command = [sys.executable, "-X", "importtime", PRECAST, "apply", *words, "--root", str(tmp_path)]
    done = subprocess.run(
        [*command, "--node", "n.example.com"], capture_output=True, text=True, timeout=60, check=False
    )
    assert "all in sync" in done.stdout
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "import time:" in line}
    assert {name: name in imported for name in HEAVY} == HEAVY

"""What is refused: commands without the right, nodes without consent, other environments' runs, and every kind of wrong input."""

import json
from pathlib import Path

import pytest

from tests.e2e.plans.plan_fleet import PlanFleet, runs_of

pytestmark = pytest.mark.timeout(300)
INPUT, NOT_FOUND, CONFLICT, DENIED = 64, 66, 73, 77
GOOD = "- {id: one, type: shell, roles: [web], parameters: {cmd: 'true'}}\n"
LOOK = "- {id: look, type: skipped, roles: ['*'], test_pre: {fact: os.name}}\n"


def test_commands_without_the_role_start_nothing(plans: PlanFleet) -> None:
    operator = plans.site.run("token", "person", "otto", "--role", "operator")["token"]
    before = runs_of(plans)
    text = LOOK + GOOD
    code, error = plans.refused("plan", "start", plans.write(text), "--nodes", "web1", token=operator)
    assert (code, "the tasks one run commands, which needs the role commands" in error) == (DENIED, True)
    # The signer seals commands for people of the whole site only.
    limited = plans.site.run("token", "person", "lea", "--role", "commands", "--environment", "production")["token"]
    code, error = plans.refused("plan", "start", plans.write(text), "--nodes", "web1", token=limited)
    assert (code, "which needs the role commands for all environments" in error) == (DENIED, True), error
    assert runs_of(plans) == before
    # Without the task it starts; the output of others' commands is not for this person.
    run = plans.read("plan", "start", plans.write(text), "--nodes", "web1", "--skip", "one", token=operator)["run"]
    assert run["counts"] == {"successful": 1, "skipped": 1}
    loud = plans.start("- {id: one, type: shell, roles: [web], parameters: {cmd: 'echo loud'}}\n", nodes="web1")
    assert "loud" in plans.command("plan", "watch", loud["run"]["id"])
    assert "loud" not in plans.command("plan", "watch", loud["run"]["id"], token=operator)


def test_commands_on_a_node_without_consent_start_nothing(plans: PlanFleet) -> None:
    before = runs_of(plans)
    text = GOOD.replace("[web]", "['*']")
    code, error = plans.refused("plan", "start", plans.write(text), "--nodes", "web1,web3")
    assert (code, "one on web3" in error) == (INPUT, True)
    assert runs_of(plans) == before


def test_node_that_has_withdrawn_its_consent_refuses_and_what_follows_cannot_begin(plans: PlanFleet) -> None:
    settings = plans.root("web2") / "etc/precast/agent.toml"
    text = """
- {id: wait, type: skipped, roles: [web], test_pre: {file: /srv/consent, state: absent, within: 1m}}
- {id: one, type: shell, roles: [web], cross_depends: [{name: wait}], parameters: {cmd: 'true'}}
- {id: two, type: shell, roles: [web], requires: [one], parameters: {cmd: 'true'}}
"""
    marks = [plans.root(node) / "srv/consent" for node in ("web1", "web2")]
    for mark in marks:
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
    run = plans.begin(text)
    given = settings.read_text()
    settings.write_text("allow_exec = false\n")
    try:
        for mark in marks:
            mark.unlink()
        plans.until_ended(run, code=4)
    finally:
        settings.write_text(given)
    instances = plans.instances(run)
    assert (instances["one on web2"]["state"], instances["one on web2"]["reason"]) == ("failed", "refused")
    assert instances["two on web2"]["cause"] == "one on web2"
    plans.site.run("facts", "collect", "web2")


def test_token_of_another_environment_sees_and_starts_nothing(plans: PlanFleet) -> None:
    run = plans.start(LOOK, nodes="web1")["run"]["id"]
    words = ("token", "person", "eve", "--role", "commands", "--environment", "testing")
    other = str(plans.site.run(*words)["token"])
    assert json.loads(plans.command("plan", "list", "--json", token=other)) == []
    requests = (
        ("status", run),
        ("watch", run),
        ("stop", run),
        ("abort", run),
        ("resume", run),
        ("retry", run),
        ("approve", run, "look"),
        ("run-task", run, "look", "web1"),
        ("draw", "--run", run),
        ("explain", "look", "--run", run),
    )
    for verb, *more in requests:
        code, error = plans.refused("plan", verb, *more, token=other)
        assert (code, "PLAN-115" in error) == (NOT_FOUND, True), (verb, error)
    code, error = plans.refused("plan", "start", plans.write(LOOK), "--nodes", "web1", token=other)
    assert code in (DENIED, NOT_FOUND), error
    assert plans.refused("plan", "list", "--environment", "production", token=other)[0] in (DENIED, NOT_FOUND)


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["{}/none.yaml"], NOT_FOUND, "none.yaml"),
        (["none"], NOT_FOUND, "the environment production has no plan none"),
        (["{}/broken.yaml"], INPUT, "broken.yaml:2:"),
        (["{}/good.yaml", "--only", "oen"], INPUT, "did you mean one?"),
        (["{}/good.yaml", "--from", "zero"], INPUT, "zero matches no task"),
        (["{}/given.yaml"], INPUT, "version"),
        (["{}/given.yaml", "--param", "version=x"], INPUT, "version"),
        (["{}/given.yaml", "--param", "vresion=1", "--param", "version=1"], INPUT, "vresion"),
        (["{}/given.yaml", "--param", "version"], INPUT, "NAME=VALUE"),
        (["{}/master.yaml"], INPUT, "no node was named as master"),
        (["{}/entry.yaml"], INPUT, "was given as an entry point [LANG-768] [PLAN-105]"),
        (["{}/good.yaml", "--master", "web9"], NOT_FOUND, "web9"),
        (["{}/good.yaml", "--at-once", "many"], INPUT, "--at-once"),
    ],
)
def test_wrong_input_is_one_clear_line(
    plans: PlanFleet, tmp_path: Path, words: list[str], code: int, text: str
) -> None:
    write_files(tmp_path)
    given = [word.format(tmp_path) for word in words]
    found, error = plans.refused("plan", "start", *given, "--nodes", "web1")
    assert (found, text in error) == (code, True), error


def test_wrong_nodes_are_one_clear_line(plans: PlanFleet, tmp_path: Path) -> None:
    write_files(tmp_path)
    for words in (["--nodes", "web9"], ["--nodes", "role = 'none'"], []):
        code, error = plans.refused("plan", "start", str(tmp_path / "good.yaml"), *words)
        assert code in (INPUT, NOT_FOUND), error


def test_dry_run_shows_the_place_of_every_error(plans: PlanFleet, tmp_path: Path) -> None:
    write_files(tmp_path)
    shown = plans.command("plan", "start", str(tmp_path / "wrong.yaml"), "--nodes", "web1", "--dry-run", code=1)
    assert "wrong.yaml:2:9: error:" in shown
    assert "wrong.yaml:3:3: error:" in shown


def write_files(directory: Path) -> None:
    files = {
        "good": GOOD,
        "broken": "- id: one\n type: shell\n",
        "wrong": "- id: one\n  type: shel\n- id: two\n  type: shell\n  roles: [web]\n",
        "given": f"parameters: {{version: {{type: Integer}}}}\ntasks: [{GOOD.removeprefix('- ').strip()}]\n",
        "master": GOOD.replace("[web]", "[master]"),
        "entry": "- {id: one, type: manifest, roles: [web], parameters: {manifest: none.pp}}\n",
    }
    for name, text in files.items():
        (directory / f"{name}.yaml").write_text(text)

"""The commands of `precast plan` that need no server, over real files: one clear line for every mistake, and no traceback."""

import contextlib
import io
import json
import re
import subprocess
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from precast.cli.main import main

PLAN = """\
- id: install
  type: shell
  roles: [web]
  parameters: {cmd: echo installed}
  test_post: {cmd: test -d /tmp}
- id: migrate
  type: shell
  roles: [db]
  cross-depends: [{name: install, role: web}]
  parameters: {cmd: 'echo {yaql}'}
- id: start
  type: shell
  roles: [web]
  condition: {yaql_exp: '$.starts'}
  cross-depends: [{name: migrate, role: db}]
  parameters: {cmd: {yaql_exp: '"start " + $.release'}}
"""
NODES = """\
- {name: web1, roles: [web], data: {starts: true, release: four}}
- {name: web2, roles: [web], data: {starts: false, release: five}}
- {name: db1, roles: [db], data: {}}
"""


class Ran(NamedTuple):
    """The exit code and the output of a command."""

    returncode: int
    stdout: str
    stderr: str


def precast(*arguments: str | Path) -> Ran:
    """Run a command of the group in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["plan", *map(str, arguments)])
    return Ran(code, out.getvalue(), err.getvalue())


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(PLAN, encoding="utf-8")
    return path


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    path = tmp_path / "nodes"
    path.write_text(NODES, encoding="utf-8")
    return path


def test_check_of_a_sound_plan_says_its_size_and_over_what_it_was_checked(plan: Path) -> None:
    done = precast("check", plan)
    assert (done.returncode, done.stderr) == (0, "")
    assert "shop: 3 tasks, 3 on 2 nodes: sound\n" in done.stdout
    assert "runs commands, which needs the role for commands: install, migrate, start" in done.stdout
    assert "checked over made-up nodes, one for each role (web, db); list yours with --nodes-file" in done.stdout


def test_check_over_nodes_with_data_evaluates_conditions_and_expressions(plan: Path, nodes: Path) -> None:
    done = precast("check", plan, "--nodes-file", nodes)
    assert "shop: 3 tasks, 5 on 3 nodes, of which 4 would run: sound\n" in done.stdout
    nodes.write_text(NODES.replace(", release: five", ""), encoding="utf-8")
    assert precast("check", plan, "--nodes-file", nodes).returncode == 0  # the task does not run on web2
    nodes.write_text(NODES.replace(", release: four", ""), encoding="utf-8")
    broken = precast("check", plan, "--nodes-file", nodes)
    assert broken.returncode == 1
    assert re.match(r".*/shop\.yaml:11:3: error: .*start.* on web1.* \[PLAN-063\]\n  hint: ", broken.stdout)


def test_check_prints_every_mistake_with_its_place_and_a_hint(plan: Path) -> None:
    text = PLAN.replace("name: migrate", "name: migrat").replace(
        "id: install\n  type: shell", "id: install\n  type: shel"
    )
    plan.write_text(text, encoding="utf-8")
    done = precast("check", plan)
    assert done.returncode == 1
    first, hint, *_ = done.stdout.splitlines()
    assert re.fullmatch(rf"{plan}:2:9: error: .*'?shel'?.* \[PLAN-\d+\]", first)
    assert hint.startswith("  hint: ")
    done = precast("check", plan, "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, [(error["line"], error["column"]) for error in report["errors"]]) == (1, [(2, 9)])
    assert report["digest"] == ""


def test_check_of_an_expression_that_cannot_be_read_names_its_task(plan: Path) -> None:
    plan.write_text(PLAN.replace("'$.starts'", "'$.(('"), encoding="utf-8")
    done = precast("check", plan)
    assert done.returncode == 1
    assert f"{plan}:11:3: error: the condition of task start cannot be read" in done.stdout


def test_check_without_nodes_warns_of_a_cycle_that_one_node_would_have(tmp_path: Path) -> None:
    one = "- {id: a, type: skipped, roles: [x], requires: [b]}\n- {id: b, type: skipped, roles: [y], requires: [a]}\n"
    file, nodes = tmp_path / "p.yaml", tmp_path / "n.yaml"
    file.write_text(one, encoding="utf-8")
    done = precast("check", file)
    assert done.returncode == 0
    assert "warning: on a node with all roles, tasks wait for each other in a cycle" in done.stdout
    assert "[PLAN-081]" in done.stdout
    nodes.write_text("- {name: n, roles: [x, y]}\n", encoding="utf-8")
    done = precast("check", file, "--nodes-file", nodes)
    assert done.returncode == 1
    assert "error: tasks wait for each other in a cycle" in done.stdout


def test_check_without_nodes_says_nothing_about_limits_that_one_node_of_each_role_cannot_reach(plan: Path) -> None:
    plan.write_text(
        PLAN.replace("cmd: echo installed", "cmd: echo, strategy: {type: one_by_one, canary: true}"), encoding="utf-8"
    )
    assert "sound" in precast("check", plan).stdout


def test_check_with_parameters_refuses_one_of_a_wrong_type(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    tasks = "tasks: [{id: a, type: shell, roles: x, parameters: {cmd: echo}}]\n"
    file.write_text(f"parameters: {{count: {{type: Integer}}}}\n{tasks}", encoding="utf-8")
    assert precast("check", file).returncode == 0
    assert precast("check", file, "--param", "count=3").returncode == 0
    done = precast("check", file, "--param", "count=many")
    assert done.returncode == 1
    assert "count" in done.stdout
    assert precast("check", file, "--param", "count").returncode == 64


def test_files_of_a_later_directory_replace_tasks_of_an_earlier_one(tmp_path: Path) -> None:
    for layer, command in (("base", "echo base"), ("site", "echo site")):
        (tmp_path / layer).mkdir()
        text = f"- {{id: a, type: shell, roles: x, parameters: {{cmd: {command}}}}}\n"
        (tmp_path / layer / "tasks.yaml").write_text(text, encoding="utf-8")
    graph = json.loads(precast("export", tmp_path / "base", tmp_path / "site", "--as", "json").stdout)
    assert [task["parameters"] for task in graph["tasks"]] == [{"cmd": "echo site"}]
    together = precast("check", tmp_path / "base" / "tasks.yaml", tmp_path / "site" / "tasks.yaml")
    assert together.returncode == 1


def test_plan_includes_the_plan_beside_it(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text("- {id: sub, type: run_plan, parameters: {plan: part}}\n", encoding="utf-8")
    (tmp_path / "part.yaml").write_text("- {id: a, type: skipped, roles: x}\n", encoding="utf-8")
    done = precast("show", tmp_path / "all.yaml")
    assert done.returncode == 0
    assert re.search(r"^\S*a +skipped +x", done.stdout, re.MULTILINE)
    (tmp_path / "part.yaml").unlink()
    assert precast("show", tmp_path / "all.yaml").returncode == 1


def test_show_lists_tasks_in_order_with_nodes_and_gates(plan: Path, nodes: Path) -> None:
    done = precast("show", plan, "--nodes-file", nodes)
    rows = [re.split(r"  +", line) for line in done.stdout.splitlines()[:4]]
    assert rows[0] == ["TASK", "TYPE", "ON", "WAITS FOR", "GATES"]
    assert [row[0] for row in rows[1:]] == ["install", "migrate", "start"]
    assert rows[1][2:] == ["web1, web2", "1 test after"]
    assert rows[3][3:] == ["migrate", "condition"]
    on_db = precast("show", plan, "--nodes-file", nodes, "--node", "db1").stdout
    assert "shop: 1 task on db1" in on_db
    unknown = precast("show", plan, "--nodes-file", nodes, "--node", "web3")
    assert (unknown.returncode, "PLAN-037" in unknown.stderr, "web2" in unknown.stderr) == (64, True, True)


def test_show_as_json_is_the_graph(plan: Path) -> None:
    graph = json.loads(precast("show", plan, "--json").stdout)
    assert [edge["reasons"][0]["field"] for edge in graph["edges"]] == ["cross-depends", "cross-depends"]


def test_draw_writes_svg_or_dot_of_the_plan_or_a_node(plan: Path, nodes: Path, tmp_path: Path) -> None:
    svg = tmp_path / "plan.svg"
    assert precast("draw", plan, "-o", svg).returncode == 0
    assert "migrate" in "".join(ElementTree.parse(svg).getroot().itertext())
    assert precast("draw", plan, "--format", "dot").stdout.startswith('digraph "shop"')
    node = precast("draw", plan, "--nodes-file", nodes, "--node", "db1", "--format", "dot").stdout
    assert node.startswith('digraph "shop on db1"')
    assert "on web1, web2" in node


def test_diff_shows_tasks_order_and_nodes_and_exits_2(plan: Path, nodes: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.yaml"
    dropped = PLAN.replace("  cross-depends: [{name: install, role: web}]\n", "").replace("echo installed", "echo done")
    new.write_text(dropped, encoding="utf-8")
    done = precast("diff", plan, new, "--nodes-file", nodes)
    assert (done.returncode, done.stderr) == (2, "")
    assert '    parameters.cmd: "echo installed" → "echo done"' in done.stdout
    assert "    install is no longer before migrate" in done.stdout
    assert "    1 other pair of tasks follow from these" in done.stdout
    assert "    web1: ~ install; 1 task in another order" in done.stdout
    report = json.loads(precast("diff", plan, new, "--json").stdout)
    assert [change["id"] for change in report["tasks"]] == ["install", "migrate"]
    same = precast("diff", plan, plan)
    assert (same.returncode, "the versions do the same" in same.stdout) == (0, True)
    new.write_text("- {id: a}\n", encoding="utf-8")
    assert precast("diff", plan, new).returncode == 1


def test_explain_names_fields_with_their_places(plan: Path, nodes: Path) -> None:
    done = precast("explain", "migrate", plan, "--nodes-file", nodes)
    assert done.returncode == 0
    assert f"    because of cross-depends: install of migrate, {plan}:6" in done.stdout
    assert "  install, on all of web1, web2, for db1" in done.stdout
    assert "runs on role db: db1" in done.stdout
    assert json.loads(precast("explain", "migrate", plan, "--json").stdout)["position"] == 2
    unknown = precast("explain", "migrat", plan)
    assert (unknown.returncode, "did you mean" in unknown.stderr) == (64, True)


def test_dependencies_that_expressions_give_are_those_of_the_nodes_with_data(tmp_path: Path) -> None:
    file, nodes = tmp_path / "p.yaml", tmp_path / "n.yaml"
    second = "- {id: b, type: skipped, roles: x, requires: {yaql_exp: '$.needs'}}"
    file.write_text(f"- {{id: a, type: skipped, roles: x}}\n{second}\n", encoding="utf-8")
    data = "- {name: n1, roles: x, data: {needs: [a]}}\n- {name: n2, roles: x, data: {needs: []}}\n"
    nodes.write_text(data, encoding="utf-8")
    done = precast("explain", "b", file, "--nodes-file", nodes)
    assert "  a, on the same node (n1)\n    because of requires: (an expression) of b" in done.stdout
    assert "waits for nothing" in precast("explain", "b", file).stdout
    nodes.write_text(data.replace("needs: [a]", "other: 1"), encoding="utf-8")
    assert precast("check", file, "--nodes-file", nodes).returncode == 1
    file.write_text(file.read_text(encoding="utf-8").replace("$.needs", "$.(("), encoding="utf-8")
    broken = precast("check", file)
    assert (broken.returncode, "[PLAN-062]" in broken.stdout) == (1, True)


def test_parameters_are_taken_by_every_command_that_evaluates_dependencies(tmp_path: Path) -> None:
    file, nodes = tmp_path / "p.yaml", tmp_path / "n.yaml"
    needs = "{yaql_exp: 'switch($parameters.strict => [a], true => [])'}"
    old = (
        "parameters: {strict: {type: Boolean}}\ntasks:\n- {id: a, type: skipped, roles: x}\n"
        f"- {{id: b, type: skipped, roles: x, requires: {needs}}}\n"
    )
    file.write_text(old, encoding="utf-8")
    nodes.write_text("- {name: n1, roles: x, data: {}}\n", encoding="utf-8")
    strict = (file, "--nodes-file", nodes, "--param", "strict=true")
    for words in (("check",), ("show",), ("draw",), ("explain", "b"), ("export", "--as", "json")):
        assert precast(*words, *strict).returncode == 0, words
        missing = precast(*words, *strict[:3])
        assert (missing.returncode, "parameter strict has no value" in missing.stdout + missing.stderr) == (1, True)
        wrong = precast(*words, *strict, "--param", "strcit=1")
        assert "the plan has no parameter strcit; did you mean strict?" in wrong.stdout + wrong.stderr
    assert "  a, on the same node (n1)" in precast("explain", "b", *strict).stdout

    new = tmp_path / "new.yaml"
    new.write_text(old.replace("$parameters.strict", "not $parameters.strict"), encoding="utf-8")
    found = precast("diff", file, new, "--nodes-file", nodes, "--param", "strict=true")
    assert (found.returncode, "    a is no longer before b" in found.stdout.splitlines()) == (2, True)
    new.write_text("- {id: a, type: skipped, roles: x}\n", encoding="utf-8")
    assert precast("diff", file, new, "--nodes-file", nodes, "--param", "strict=true").returncode == 2
    assert precast("diff", file, new, "--nodes-file", nodes, "--param", "strcit=true").returncode == 1


def test_export_writes_a_script_with_the_values_of_the_nodes(plan: Path, nodes: Path, tmp_path: Path) -> None:
    script = tmp_path / "plan.sh"
    done = precast("export", plan, "--as", "script", "--nodes-file", nodes, "-o", script)
    assert (done.returncode, done.stderr) == (0, "")
    text = script.read_text(encoding="utf-8")
    assert "start four" in text
    assert "start five" not in text  # its condition is false
    assert "# level 3: web1\n" in text
    ran = subprocess.run(["/bin/sh", str(script), "web1", "1"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "== install on web1\ninstalled\n")


def test_export_says_how_many_steps_have_no_command(plan: Path) -> None:
    done = precast("export", plan, "--as", "steps")
    assert done.returncode == 0
    assert "1 of 3 steps have no command" in done.stderr
    steps = json.loads(done.stdout)["steps"]
    assert [step["task"] for step in steps] == ["install", "migrate", "start"]
    assert "has not been evaluated" in steps[2]["work"]["obstacle"]


@pytest.mark.parametrize(("name", "begin"), [("pnml", "<?xml"), ("dot", "digraph"), ("svg", "<svg"), ("json", "{")])
def test_export_writes_other_formats(plan: Path, name: str, begin: str) -> None:
    assert precast("export", plan, "--as", name).stdout.startswith(begin)


def test_files_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    missing = precast("check", tmp_path / "none.yaml")
    assert (missing.returncode, missing.stderr.count("\n")) == (66, 2)
    (tmp_path / "empty").mkdir()
    empty = precast("check", tmp_path / "empty")
    assert (empty.returncode, "no YAML files" in empty.stderr) == (64, True)


def test_draw_and_explain_want_files_or_a_run_and_not_both(plan: Path) -> None:
    for words in ((), (plan, "--run", "x")):
        done = precast("draw", *words)
        assert (done.returncode, "name the files of a plan, or a run" in done.stderr) == (64, True)
        assert precast("explain", "install", *words).returncode == 64
    done = precast("draw", "--run", "x", "--param", "a=1")
    assert (done.returncode, "a run has its own nodes and parameters" in done.stderr) == (64, True)


def test_picture_is_not_written_where_nothing_can_be(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("- {id: one, type: stage}\n")
    for place in (tmp_path / "none" / "x.svg", plan / "x.svg"):
        done = precast("draw", plan, "-o", place)
        assert (done.returncode, done.stderr.count("\n")) == (66, 2)
        assert f"cannot write {place}" in done.stderr


def test_schema_is_one_json_document() -> None:
    assert json.loads(precast("schema").stdout)["title"] == "Precast plan"


def test_choice_of_tasks_is_checked_and_shown_as_a_start_would_run_it(plan: Path, nodes: Path) -> None:
    shown = precast("show", plan, "--nodes-file", nodes, "--from", "migrate").stdout
    assert [line.split()[0] for line in shown.splitlines()[1:3]] == ["migrate", "start"]
    assert shown.splitlines()[3] == ""
    checked = precast("check", plan, "--nodes-file", nodes, "--only", "migrate").stdout
    assert "3 tasks, 5 on 3 nodes, of which 1 would run" in checked
    assert "runs commands, which needs the role for commands: migrate\n" in checked
    there = precast("check", plan, "--nodes-file", nodes, "--nodes", "web1,db1").stdout
    assert "3 tasks, 5 on 3 nodes, of which 3 would run" in there
    wrong = precast("check", plan, "--skip", "migrat")
    assert wrong.returncode == 1
    assert "migrat matches no task of the plan; did you mean migrate?" in wrong.stdout + wrong.stderr


def test_task_with_two_inputs_of_another_is_explained_by_them_once(tmp_path: Path) -> None:
    path = tmp_path / "inputs.yaml"
    path.write_text(
        "- {id: one, type: shell, roles: [web], parameters: {cmd: 'true'}}\n"
        "- {id: two, type: shell, roles: [web], inputs: {a: {task: one}, b: {task: one, key: b}}, parameters: {cmd: 'true'}}\n"
    )
    shown = precast("explain", "two", path).stdout
    assert shown.count("because of inputs: one of two") == 1

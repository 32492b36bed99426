"""The program of each type of task, what a no-op run leaves of it, and values that cannot be used."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import pytest

from precast.base.errors import InputError, Issue
from precast.plans import issues
from precast.plans.model import PlanNode, PlanTask, Position, TaskInput, TaskType
from precast.plans.programs import (
    build_collect_program,
    build_program,
    describe_noop,
    find_givers,
    find_program_problems,
)
from precast.plans.values.works import TaskFile, read_entry_point
from precast.wire.jobs.programs import (
    AnyWork,
    CatalogWork,
    CollectWork,
    CommandTest,
    CopiedFile,
    CopyWork,
    ExecutableWork,
    FileTest,
    HttpTest,
    ManifestWork,
    NoWork,
    RebootWork,
    ShellWork,
    SyncWork,
    TaskProgram,
    UploadWork,
)

AT = Position("a.yaml", 3, 1)
NODE = PlanNode("web1")


class Values(NamedTuple):
    """The values of a run."""

    mode: Literal["noop", "enforce"] = "enforce"
    parameters: Mapping[str, Any] = {}
    tasks: Mapping[str, TaskFile] = {}
    givers: frozenset[str] = frozenset()

    def find_task(self, name: str) -> TaskFile | None:
        return self.tasks.get(name)


NOOP = Values(mode="noop")


def task(type_: TaskType, **parameters: Any) -> PlanTask:
    return PlanTask("t", type_, AT, parameters=parameters)


def build(type_: TaskType, values: Values = Values(), **parameters: Any) -> AnyWork:  # noqa: B008 - it never changes
    return build_program(task(type_, **parameters), NODE, values).work


def refusal(type_: TaskType, issue: Issue = issues.BAD_TASK_VALUE, values: Values = Values(), **parameters: Any) -> str:  # noqa: B008
    with pytest.raises(InputError) as caught:
        build(type_, values, **parameters)
    assert issue.matches(caught.value)
    return caught.value.message


def test_shell_has_its_command_and_directory() -> None:
    assert build("shell", cmd="ls | wc", cwd="/tmp") == ShellWork("ls | wc", "/tmp")
    assert build("shell", cmd="ls") == ShellWork("ls", "/")


def test_shell_returns_something_only_if_another_task_takes_an_input_from_it() -> None:
    giver = task("shell", cmd="ls")
    taker = PlanTask("u", "shell", AT, inputs={"of_t": TaskInput("t")}, parameters={"cmd": "ls"})
    values = Values(givers=find_givers([giver, taker]))
    works = [build_program(one, NODE, values).work for one in (giver, taker)]
    assert works == [ShellWork("ls", returns=True), ShellWork("ls")]


def test_plan_parameters_reach_a_command_as_variables_and_not_as_text() -> None:
    values = Values(parameters={"name": "a; rm -rf /", "count": 3, "on": True, "list": ["x", 1], "none": None})
    work = build("shell", values, cmd="echo $PT_name {name}", environment={"PATH_OF_DATA": {"a": 1}, "PT_count": "own"})
    assert isinstance(work, ShellWork)
    assert work.cmd == "echo $PT_name {name}"
    assert work.environment == {
        "PT_name": "a; rm -rf /",
        "PT_count": "own",
        "PT_on": "true",
        "PT_list": '["x",1]',
        "PT_none": "null",
        "PATH_OF_DATA": '{"a":1}',
    }


def test_module_task_gets_only_the_parameters_that_the_plan_states() -> None:
    values = Values(parameters={"name": "x"}, tasks={"mysql::backup": TaskFile("d" * 64, "stdin")})
    work = build("task", values, task="mysql::backup", parameters={"database": "shop"})
    assert work == ExecutableWork("mysql::backup", "d" * 64, {"database": "shop"}, "stdin")


def test_module_task_that_does_not_exist_is_refused() -> None:
    assert "names mysql::bakcup" in refusal("task", issues.UNKNOWN_MODULE_TASK, task="mysql::bakcup")


def test_upload_has_its_text_and_permissions() -> None:
    work = build("upload_file", path="/etc/x", data="text\n", permissions="0640", dir_permissions=0o750)
    assert work == UploadWork("/etc/x", "text\n", "0640", "0750")


@pytest.mark.parametrize("path", ["/etc/x.yaml", "/etc/x"])
def test_uploaded_value_is_yaml(path: str) -> None:
    assert build("upload_file", path=path, data={"b": None, "a": [1, "é"]}) == UploadWork(
        path, "a:\n- 1\n- é\nb: null\n"
    )


def test_uploaded_value_is_json_if_the_path_says_so() -> None:
    text = '{\n  "a": [\n    1,\n    "é"\n  ],\n  "b": null\n}\n'
    assert build("upload_file", path="/x.json", data={"b": None, "a": [1, "é"]}) == UploadWork("/x.json", text)


def test_upload_without_data_takes_the_input_of_that_name() -> None:
    upload = PlanTask("t", "upload_file", AT, parameters={"path": "/x"}, inputs={"data": TaskInput("other")})
    assert build_program(upload, NODE, Values()).work == UploadWork("/x", None)
    assert "data is missing" in refusal("upload_file", path="/x")


def test_copied_files_are_collected_on_the_master_first() -> None:
    copy = task("copy_files", files=[{"src": "/a", "dst": "/b"}, {"src": "/a", "dst": "/c"}], permissions="0600")
    assert build_program(copy, NODE, Values()).work == CopyWork(
        [CopiedFile("/a", "/b"), CopiedFile("/a", "/c")], "0600"
    )
    other = task("copy_files", files=[{"src": "/d", "dst": "/b"}, {"src": "/a", "dst": "/b"}])
    assert build_collect_program(copy, [copy], NODE) == TaskProgram("t", CollectWork(["/a"]))
    assert build_collect_program(copy, [copy, other], NODE) == TaskProgram("t", CollectWork(["/a", "/d"]))


def test_other_types_have_their_work() -> None:
    assert build("sync", src="rsync://m/x", dst="/x") == SyncWork("rsync://m/x", "/x")
    assert build("reboot") == RebootWork()
    assert build("catalog", tags=["a"], stages="pre") == CatalogWork("enforce", ["a"], [], ["pre"])
    assert build("catalog", mode="noop") == CatalogWork("noop")
    assert build("manifest", manifest="manifests/db.pp") == ManifestWork("manifests/db.pp")
    assert build("manifest", puppet_manifest="/etc/puppet/modules/x/examples/y.pp") == ManifestWork(
        "modules/x/examples/y.pp"
    )


@pytest.mark.parametrize("type_", ["stage", "group", "skipped", "run_plan"])
def test_type_without_work_has_only_tests(type_: TaskType) -> None:
    program = build_program(PlanTask("t", type_, AT, test_pre=(FileTest(path="/x"),)), NODE, Values())
    assert program == TaskProgram("t", NoWork(), [FileTest(path="/x")])


def test_program_has_the_tests_and_the_retries_of_its_task() -> None:
    before, after = (CommandTest(cmd="true"),), (HttpTest(url="http://x/"),)
    shell = PlanTask(
        "t", "shell", AT, parameters={"cmd": "x"}, test_pre=before, test_post=after, retries=2, interval_s=5.0
    )
    assert build_program(shell, NODE, Values()) == TaskProgram("t", ShellWork("x"), list(before), list(after), 2, 5.0)


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("modules/x/examples/y.pp", "modules/x/examples/y.pp"),
        ("site.pp", "site.pp"),
        ("/etc/puppet/modules/osnailyfacter/modular/a.pp", "modules/osnailyfacter/modular/a.pp"),
        ("/etc/puppetlabs/code/environments/production/manifests/db.pp", "manifests/db.pp"),
        ("/a/modules/x/files/modules/y.pp", "modules/x/files/modules/y.pp"),
        ("/etc/puppet/x.pp", None),
        ("modules/../../x.pp", None),
        ("/etc/puppet/modules/../x.pp", None),
        ("modules//x.pp", None),
        ("./x.pp", None),
        ("modules/x/y.rb", None),
        ("", None),
    ],
)
def test_entry_point_is_a_path_within_the_environment(path: str, entry: str | None) -> None:
    assert read_entry_point(path) == entry


@pytest.mark.parametrize(
    ("type_", "parameters", "reason"),
    [
        ("shell", {}, "task t cannot be used on web1: cmd is missing"),
        ("shell", {"cmd": ""}, "cmd is empty"),
        ("shell", {"cmd": ["a"]}, "cmd is not a text"),
        ("shell", {"cmd": {"yaql_exp": "$.a"}}, "parameters.cmd is an expression that has not been evaluated"),
        ("shell", {"cmd": "x" * 70_000}, "$.work.cmd"),
        ("shell", {"cmd": "x", "environment": {"A": "\0"}}, "NUL"),
        ("shell", {"cmd": "x", "environment": {"A": "a" * 100_001}}, "A has more than 100000 bytes"),
        ("shell", {"cmd": "x", "environment": ["A"]}, "environment is not a mapping"),
        ("upload_file", {"path": "/x", "data": "y" * 1_100_000}, "$.work.data"),
        ("copy_files", {"files": "a"}, "files is not a list"),
        ("copy_files", {"files": [{"src": "a"}]}, "files is not a list of mappings"),
        ("catalog", {"tags": [1]}, "tags is not a list of texts"),
        ("manifest", {"manifest": "/opt/x.pp"}, "manifest is not a manifest of the environment"),
        ("sync", {"src": "a"}, "dst is missing"),
    ],
)
def test_value_that_cannot_be_used_is_refused(type_: TaskType, parameters: dict[str, Any], reason: str) -> None:
    assert reason in refusal(type_, **parameters)


def test_noop_run_applies_catalogs_without_changes() -> None:
    assert build("catalog", NOOP, tags=["a"]) == CatalogWork("noop", ["a"])
    assert build("manifest", NOOP, manifest="a.pp") == ManifestWork("a.pp", "noop")
    assert describe_noop(task("catalog")) == ""


@pytest.mark.parametrize("type_", ["shell", "task", "upload_file", "copy_files", "sync", "reboot"])
def test_noop_run_executes_nothing_else(type_: TaskType) -> None:
    tests = (CommandTest(cmd="true"), FileTest(path="/x"), FileTest(path="/x", contains="y"), HttpTest(url="http://x/"))
    program = build_program(PlanTask("t", type_, AT, test_pre=tests, test_post=tests), NODE, NOOP)
    assert program == TaskProgram("t", NoWork(), [FileTest(path="/x")])
    assert not program.needs_command_right
    assert describe_noop(task(type_)) == f"a no-op run executes no tasks of the type {type_}"


def test_noop_run_of_a_catalog_needs_no_right_for_commands() -> None:
    checked = PlanTask("t", "catalog", AT, test_pre=(CommandTest(cmd="x"),), test_post=(FileTest(path="/x"),))
    program = build_program(checked, NODE, NOOP)
    assert program == TaskProgram("t", CatalogWork("noop"))
    assert not program.needs_command_right


def test_placeholders_of_fuel_are_warned_of_and_stay() -> None:
    shell = PlanTask(
        "t",
        "shell",
        AT,
        parameters={"cmd": "sync {MASTER_IP} {CLUSTER_ID} {CLUSTER_ID} ${HOME} {lower}", "data": "{IN_DATA}"},
        test_post=(CommandTest(cmd="ls {CLUSTER_ID}"),),
    )
    problems = find_program_problems(shell)
    assert [(problem.code, problem.at) for problem in problems] == [(issues.PLACEHOLDER.code, AT)] * 3
    assert "task t has {MASTER_IP} in parameters" in problems[0].text
    assert "task t has {CLUSTER_ID} in parameters" in problems[1].text
    assert "task t has {CLUSTER_ID} in test_post" in problems[2].text
    assert build("shell", cmd="ls {CLUSTER_ID}") == ShellWork("ls {CLUSTER_ID}")

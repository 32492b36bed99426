"""Tests and works as commands of a shell: complete, quoted, and honest about what has none."""

from typing import Any

import pytest

from precast.plans.model import TaskInput
from precast.plans.views.commands import StepCommand, make_test, make_work
from precast.wire.jobs.programs import (
    AnyTest,
    CatalogWork,
    CleanTest,
    CommandTest,
    FactTest,
    FileTest,
    HttpTest,
    ManifestWork,
    ResourceTest,
    TcpTest,
)
from tests.unit.plans.example_plans import task

EVIL = "a'; rm -rf / #"
QUOTED = """'a'"'"'; rm -rf / #'"""


def work(kind: str, /, **parameters: Any) -> StepCommand:
    found = make_work(task("t", kind, parameters=parameters, timeout_s=90.0), "n1", {"count": 3})
    assert found is not None
    assert found.timeout_s == 90.0
    return found


MODULES = '"$ENVIRONMENT/modules"'
NO_CHANGE = """ && ! printf '%s' "$out" | grep -qF '(noop)'"""
NTP = """'service { '"'"'ntp'"'"': ensure => '"'"'running'"'"', enable => true }'"""
EVIL_URL = f"'http://h/{QUOTED[1:]}"
ANSWERS = """case "$out" in *200|*204) ;; *) false ;; esac && printf '%s' "$out" | grep -qF -- ok"""


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (CommandTest(cmd="test -d /x && true"), "test -d /x && true"),
        (TcpTest(host="db", port=3306), "bash -c 'exec 3<>/dev/tcp/db/3306'"),
        (FileTest(path="/a b"), "{ [ -e '/a b' ] || [ -L '/a b' ]; }"),
        (FileTest(path="/a", state="absent"), "! { [ -e /a ] || [ -L /a ]; }"),
        (FileTest(path="/a", state="file", contains=EVIL), f"[ -f /a ] && grep -qF -- {QUOTED} /a"),
        (FactTest(fact="os.family"), '[ -n "$(facter os.family)" ]'),
        (FactTest(fact="is_virtual", equals=True), '[ "$(facter is_virtual)" = true ]'),
        (
            ResourceTest(type="Service", title="ntp", parameters={"ensure": "running", "enable": True}),
            f"out=$(puppet apply --noop --color=false --execute {NTP}){NO_CHANGE}",
        ),
        (
            CleanTest(work=ManifestWork("modules/x/y.pp")),
            f'out=$(puppet apply --noop --color=false --modulepath {MODULES} "$ENVIRONMENT"/modules/x/y.pp){NO_CHANGE}',
        ),
        (
            HttpTest(url=f"http://h/{EVIL}", status=[200, 204], contains="ok"),
            f"out=$(curl --silent --show-error --write-out '%{{http_code}}' {EVIL_URL}) && {ANSWERS}",
        ),
    ],
)
def test_test_as_a_command(test: AnyTest, text: str) -> None:
    command = make_test(test)
    assert (command.text, command.obstacle) == (text, "")


def test_test_without_a_command_says_why() -> None:
    assert make_test(FactTest(fact="os", equals={"family": "Debian"})).obstacle
    assert make_test(CleanTest(work=CatalogWork(stages=["pre"]))).obstacle
    assert make_test(CommandTest(cmd="x", timeout_s=5.0, within_s=30.0)).within_s == 30.0


def test_manifest_is_applied_where_it_is_and_may_change_something() -> None:
    found = work("manifest", puppet_manifest="/etc/puppet/x.pp", puppet_modules="/etc/puppet/modules")
    assert found.text == "puppet apply --detailed-exitcodes --modulepath /etc/puppet/modules /etc/puppet/x.pp"
    assert found.exit_codes == (0, 2)
    relative = work("manifest", manifest="modules/x/examples/y.pp", mode="noop")
    applied = "puppet apply --detailed-exitcodes --noop"
    assert relative.text == f'{applied} --modulepath {MODULES} "$ENVIRONMENT"/modules/x/examples/y.pp'


def test_catalog_is_that_of_the_node_with_tags_for_classes() -> None:
    found = work("catalog", tags=["a"], classes=["::Ntp::Server"])
    assert found.text == 'puppet apply --detailed-exitcodes --tags a,ntp::server --catalog "$CATALOGS/$NODE.json"'
    assert work("catalog", stages=["pre"]).obstacle == "plain Puppet applies no stage alone"


def test_shell_gets_its_directory_and_variables_with_those_of_the_plan() -> None:
    found = work("shell", cmd="echo a; echo b", cwd="/tmp/a b", environment={"X": EVIL})
    assert found.text == f"cd '/tmp/a b' || exit 1; export PT_count=3; export X={QUOTED}; echo a; echo b"


def test_files_are_written_copied_and_synced() -> None:
    found = work("upload_file", path="/etc/a/b", data=EVIL, permissions="0640", dir_permissions="0750")
    assert found.text == f"mkdir -p -m 0750 /etc/a && printf '%s' {QUOTED} > /etc/a/b && chmod 0640 /etc/a/b"
    copies = work("copy_files", files=[{"src": "/s/1", "dst": "/d/1"}, {"src": "/s 2", "dst": "/d2"}])
    assert copies.text == ('mkdir -p /d && scp -p "$MASTER":/s/1 /d/1 && mkdir -p / && scp -p "$MASTER":\'/s 2\' /d2')
    assert work("sync", src="rsync://h/m", dst="/d").text.endswith("--delete -- rsync://h/m/ /d")
    assert work("reboot").text == "shutdown -r now"


def test_work_without_a_command_says_why() -> None:
    assert work("task", task="mysql::backup").obstacle == "mysql::backup is a task of a module; Bolt runs it too"
    assert "has not been evaluated" in work("shell", cmd={"yaql_exp": "$.a"}).obstacle
    taking = task("t", "shell", parameters={"cmd": "x"}, inputs={"a": TaskInput("b"), "c": TaskInput("b")})
    command = make_work(taking, "n1", {})
    assert command is not None
    assert command.obstacle == "it takes a, c from the results of other tasks"


@pytest.mark.parametrize("kind", ["skipped", "stage", "run_plan"])
def test_task_without_work_has_no_command(kind: str) -> None:
    assert make_work(task("t", kind), "n1", {}) is None

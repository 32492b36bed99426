"""Nodes of a job that would wait for each other for ever are found before the job starts, in the names of their resources."""

from collections.abc import Collection

from precast.catalog.futures import list_needs, list_promises
from precast.catalog.joint_check import JointReport, check_joint
from precast.catalog.joint_net import JointPart
from precast.types.ordering import graph
from tests.unit.lang.small_manifests import compiled


def part(name: str, code: str, after: tuple[str, ...] = ()) -> JointPart:
    catalog = compiled(code)
    body = catalog.body
    return JointPart(name, graph(body), list_promises(body), list_needs(body), catalog.source_map, after)


def check(*parts: JointPart, standing: Collection[str] = ()) -> JointReport:
    return check_joint(parts, standing)


def text(report: JointReport) -> str:
    return "\n".join(f"{problem.code}: {problem.text}" for problem in report.problems)


DATABASE = "exec { '/bin/start': } -> promise { 'db/endpoint': value => 'db1:5432' }"
WEB = "file { '/etc/app': content => \"db=${future('db/endpoint')}\" } -> promise { 'web/address': value => 'w' }"
BALANCER = "file { '/etc/lb': content => futures('web/address').join(',') }"


def test_nodes_that_wait_in_a_row_are_sound() -> None:
    report = check(part("db1", DATABASE), part("web1", WEB), part("web2", WEB), part("lb1", BALANCER))
    assert report.is_sound, text(report)
    assert report.waits == 3


def test_job_without_needs_builds_no_net() -> None:
    assert check(part("db1", DATABASE)) == JointReport(())


def test_key_that_nobody_promises_is_named_with_who_needs_it() -> None:
    report = check(part("web1", WEB), part("web2", WEB))
    assert [problem.code for problem in report.problems] == ["CATALOG-011"]
    assert report.problems[0].text.startswith(
        "File[/etc/app] of web1 needs db/endpoint, which no node of the job promises"
    )


def test_key_that_nobody_promises_may_have_a_standing_value() -> None:
    assert check(part("web1", WEB), standing=["db/endpoint"]).is_sound


def test_key_of_two_promises_is_refused_where_one_value_is_asked_for() -> None:
    report = check(part("db1", DATABASE), part("db2", DATABASE), part("web1", WEB))
    assert [problem.code for problem in report.problems] == ["CATALOG-012"]
    assert "Promise[db/endpoint] of db1, Promise[db/endpoint] of db2" in report.problems[0].text


def test_too_few_promises_for_at_least_are_told() -> None:
    needs_two = "file { '/etc/lb': content => futures('db/endpoint', { at_least => 2 }).join(',') }"
    report = check(part("db1", DATABASE), part("lb1", needs_two))
    assert [problem.code for problem in report.problems] == ["CATALOG-013"]
    assert "needs at least 2 values of db/endpoint, and 1 nodes of the job promise it" in report.problems[0].text


def test_cycle_over_two_nodes_is_named_with_resources_and_lines() -> None:
    one = "file { '/a': content => future('two') }\n-> promise { 'one': value => '1' }"
    two = "file { '/b': content => future('one') } -> promise { 'two': value => '2' }\nfile { '/b/c': }"
    report = check(part("n1", one), part("n2", two))
    assert [problem.code for problem in report.problems] == ["CATALOG-014", "CATALOG-015"]
    cycle = report.problems[0].text
    assert "File[/a] of n1 waits for the value two, promised by Promise[two] of n2" in cycle
    assert "Promise[one] of n1 follows File[/a] of n1" in cycle
    assert "File[/b] of n2 waits for the value one, promised by Promise[one] of n1" in cycle
    assert "Promise[one] at main.pp:2" in report.problems[0].hint.replace("site.pp", "main.pp")
    assert "File[/b/c] of n2" in report.problems[1].text


def test_node_that_waits_for_its_own_later_promise_is_a_cycle() -> None:
    report = check(part("n1", "file { '/a': content => future('own') } -> promise { 'own': value => '1' }"))
    assert [problem.code for problem in report.problems] == ["CATALOG-014"]


def test_manifest_order_is_no_reason_to_wait() -> None:
    assert check(part("n1", "file { '/a': content => future('own') } promise { 'own': value => '1' }")).is_sound


def test_member_of_a_group_may_wait_for_the_first_of_them() -> None:
    first = "promise { 'joined': value => 'first' }"
    other = (
        "file { '/a': content => futures('joined', { at_least => 1 }).join(',') } -> promise { 'joined': value => 'x' }"
    )
    assert check(part("n1", first), part("n2", other), part("n3", other)).is_sound
    report = check(part("n2", other), part("n3", other))
    assert report.problems[0].code == "CATALOG-014"


def test_part_that_begins_after_another_does_not_wait_for_it() -> None:
    consumer = part("web", "file { '/a': content => future('late') }")
    producer = "promise { 'late': value => '1' }"
    assert check(consumer, part("db", producer)).is_sound
    report = check(consumer, part("db", producer, after=("web",)))
    assert [problem.code for problem in report.problems] == ["CATALOG-014"]


def test_containers_wait_with_what_they_contain() -> None:
    code = """
    class app { file { '/a': content => future('key') } }
    include app
    promise { 'key': value => '1', require => Class['app'] }
    """
    assert [problem.code for problem in check(part("n1", code)).problems] == ["CATALOG-014"]

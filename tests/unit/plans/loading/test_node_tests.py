"""The tests of tasks: each kind as it is read, and errors for what would make a test pass where it should not."""

from typing import Any

import pytest

from precast.wire.jobs.programs import (
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
from tests.unit.plans.loading.plan_texts import find_errors, find_warnings, load_task


@pytest.mark.parametrize(
    ("written", "test"),
    [
        ("{cmd: ruby test.rb}", CommandTest(cmd="ruby test.rb")),
        ("{cmd: 'true', timeout: 5m, within: 1h}", CommandTest(300.0, 3600.0, "true")),
        ("{http: 'https://a.example/x?y'}", HttpTest(url="https://a.example/x?y")),
        ("{http: 'http://a', status: 204}", HttpTest(url="http://a", status=[204])),
        (
            "{http: 'http://a', status: [200, 301], contains: ok}",
            HttpTest(url="http://a", status=[200, 301], contains="ok"),
        ),
        ("{tcp: 'db.example:5432'}", TcpTest(host="db.example", port=5432)),
        ("{tcp: 10.0.0.1:80}", TcpTest(host="10.0.0.1", port=80)),
        ("{tcp: '[::1]:80'}", TcpTest(host="::1", port=80)),
        ("{tcp: 8080}", TcpTest(port=8080)),
        ("{tcp: 10:80}", TcpTest(host="10", port=80)),
        ("{file: /etc/motd}", FileTest(path="/etc/motd")),
        ("{file: /srv, state: directory}", FileTest(path="/srv", state="directory")),
        ("{file: /etc/motd, contains: Welcome}", FileTest(path="/etc/motd", contains="Welcome")),
        ("{fact: os.family}", FactTest(fact="os.family")),
        ("{fact: os.family, equals: Debian}", FactTest(fact="os.family", equals="Debian")),
        ("{fact: x, equals: {a: [1, no]}}", FactTest(fact="x", equals={"a": [1, False]})),
        ("{resource: 'Service[nginx]'}", ResourceTest(type="service", title="nginx")),
        (
            "{resource: 'Apt::Key[a[b]]', parameters: {ensure: present}}",
            ResourceTest(type="apt::key", title="a[b]", parameters={"ensure": "present"}),
        ),
        ("{clean: {manifest: manifests/site.pp}}", CleanTest(work=ManifestWork("manifests/site.pp", "noop"))),
        ("{clean: {catalog: }}", CleanTest(work=CatalogWork("noop"))),
        (
            "{clean: {catalog: {tags: a, classes: [b, c], stages: [d]}}}",
            CleanTest(work=CatalogWork("noop", ["a"], ["b", "c"], ["d"])),
        ),
    ],
)
@pytest.mark.parametrize("field", ["test_pre", "test_post"])
def test_test_is_read_alone_and_in_a_list(field: str, written: str, test: Any) -> None:
    assert getattr(load_task(f"  {field}: {written}"), field) == (test,)
    assert getattr(load_task(f"  {field}: [{{cmd: a}}, {written}]"), field) == (CommandTest(cmd="a"), test)


@pytest.mark.parametrize(
    ("written", "error"),
    [
        ("ruby test.rb", "5:13 PLAN-009 TEST must be a test, not 'ruby test.rb'"),
        ("{}", "5:13 PLAN-014 TEST tests nothing"),
        ("{fil: /x}", "5:13 PLAN-014 TEST tests nothing; did you mean file?"),
        ("{cmd: a, tcp: b}", "5:13 PLAN-009 TEST must be one test, not cmd and tcp"),
        ("{cmd: ''}", "5:19 PLAN-009 cmd of TEST must be a command, not ''"),
        ("{cmd: {yaql_exp: a}}", "5:19 PLAN-009 cmd of TEST must be a command, not a mapping"),
        ("{cmd: a, timeout: 0}", "5:31 PLAN-009 timeout of TEST must be more than 0 and at most 86400 seconds, not 0"),
        ("{http: 'ftp://x'}", "5:20 PLAN-009 http of TEST must be a URL with http:// or https://, not 'ftp://x'"),
        ("{http: 'http://x', status: [99]}", "5:41 PLAN-009 item 1 of status of TEST must be a whole number from 100 to 599, not 99"),
        ("{http: 'http://x', contians: a}", "5:32 PLAN-016 contians is not an option of TEST; did you mean contains?"),
        ("{tcp: x}", "5:19 PLAN-009 tcp of TEST must be an address as 'HOST:PORT', not 'x'"),
        ("{tcp: 'x:0'}", "5:19 PLAN-009 tcp of TEST must be an address as 'HOST:PORT', not 'x:0'"),
        ("{tcp: 'x:65536'}", "5:19 PLAN-009 tcp of TEST must be an address as 'HOST:PORT', not 'x:65536'"),
        ("{file: etc/motd}", "5:20 PLAN-009 file of TEST must be an absolute path, not 'etc/motd'"),
        ("{file: /x, state: ensent}", "5:31 PLAN-009 state of TEST must be one of present, absent, file, directory, link, not 'ensent'"),
        ("{fact: x, equal: y}", "5:23 PLAN-016 equal is not an option of TEST; did you mean equals?"),
        ("{resource: nginx}", "5:24 PLAN-009 resource of TEST must be a resource as 'Type[title]', not 'nginx'"),
        ("{clean: x}", "5:21 PLAN-009 clean of TEST must be what must be clean, not 'x'"),
        ("{clean: {}}", "5:21 PLAN-009 clean of TEST must be a manifest or a catalog, not an empty mapping"),
        ("{clean: {manifest: ''}}", "5:32 PLAN-009 manifest of clean of TEST must be an entry point, not ''"),
        ("{clean: {catalog: {tgs: [a]}}}", "5:32 PLAN-016 tgs is not an option of catalog of clean of TEST; did you mean tags?"),
        ("{clean: {catalog: all}}", "5:31 PLAN-009 catalog of clean of TEST must be a part of the catalog, not 'all'"),
    ],
)  # fmt: skip
def test_test_that_is_wrong_is_an_error_with_its_place(written: str, error: str) -> None:
    assert find_errors(f"  test_pre: {written}") == [error.replace("TEST", "test_pre of task web")]


def test_unknown_option_beside_a_command_is_a_warning_as_for_fuel() -> None:
    assert find_warnings("  test_pre: {cmd: a, retry: 5}") == [
        "5:22 PLAN-020 retry of test_pre of task web is not known, and has no effect"
    ]


def test_too_many_tests_are_an_error() -> None:
    error = "5:14 PLAN-009 test_post of task web must be at most 50 tests, not a list"
    assert find_errors(f"  test_post: [{','.join(['{cmd: a}'] * 51)}]") == [error]

"""promise: its value or the output of its command, given in every enforcing run that reaches it."""

from pathlib import Path
from typing import Any

import pytest

from precast.agent.applying.engine import Engine
from precast.agent.applying.machine import Machine
from precast.agent.applying.options import RunOptions
from precast.agent.applying.plan import make_plan
from precast.agent.applying.resource_memory import ResourceMemory
from precast.agent.futures.run_values import Fulfilment, RunValues
from precast.base.clock import SystemClock
from precast.wire.reports.events import ResourceReport
from tests.unit.agent.applying.world import body, resource


class Given(RunValues):
    """The values of several runs of one node, which count what was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Fulfilment] = []

    def fulfil(self, given: Fulfilment) -> None:
        super().fulfil(given)
        self.given.append(given)


def apply(values: RunValues, *, is_noop: bool = False, **parameters: Any) -> ResourceReport:
    reports: list[ResourceReport] = []
    machine = Machine("", "/nowhere", SystemClock(), values=values)
    plan = make_plan(body(resource("promise", "k", **parameters)), None, machine)
    Engine(plan, machine, ResourceMemory(), RunOptions(is_noop=is_noop), reports.append, values=values).run()
    return reports[0]


def script(directory: Path, text: str) -> list[str]:
    path = directory / "produce"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return [str(path)]


def test_value_is_given_in_each_run_and_reported_when_it_changes() -> None:
    values = Given()
    assert [apply(values, value=value).status.value for value in (1, 1, 2)] == ["changed", "unchanged", "changed"]
    assert [given.value for given in values.given] == [1, 1, 2]


def test_no_op_run_gives_nothing() -> None:
    values = Given()
    assert apply(values, value=1, is_noop=True).status.value == "noop"
    assert values.given == []


def test_scope_ttl_and_secrecy_are_passed_on() -> None:
    values = Given()
    apply(values, value={"__ptype": "Sensitive", "__pvalue": "hunter2"}, scope="run", ttl=60)
    assert values.given == [Fulfilment("k", "hunter2", "run", 60.0, True)]


def test_output_of_a_command_is_the_value(tmp_path: Path) -> None:
    values = Given()
    command = script(tmp_path, "echo '{\"port\": 5432}'")
    first = apply(values, command=command, format="json", type="Struct[{port => Integer}]")
    again = apply(values, command=command, format="json")
    assert (first.status.value, again.status.value) == ("changed", "unchanged")
    assert [given.value for given in values.given] == [{"port": 5432}] * 2
    assert apply(values, command=script(tmp_path, "echo text")).status.value == "changed"
    assert values.given[-1].value == "text"


def test_command_of_a_promise_is_never_run_in_a_no_op(tmp_path: Path) -> None:
    values = Given()
    apply(values, command=script(tmp_path, f"touch {tmp_path}/ran"), is_noop=True)
    assert not (tmp_path / "ran").exists()
    assert values.given == []


@pytest.mark.parametrize(
    ("text", "more", "reason"),
    [
        ("exit 3", {}, "returned 3"),
        ("echo x", {"format": "json"}, "it is not JSON"),
        ("echo x", {"type": "Integer"}, "it is no Integer"),
        ("echo 123456", {"max_bytes": 5}, "max_bytes is 5"),
        ("printf '\\377'", {}, "not text in UTF-8"),
    ],
)
def test_output_of_another_form_fails_the_resource(
    tmp_path: Path, text: str, more: dict[str, Any], reason: str
) -> None:
    values = Given()
    report = apply(values, command=script(tmp_path, text), **more)
    assert report.status.value == "failed"
    assert reason in report.events[0].message
    assert values.given == []


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({}, "value must be given"),
        ({"value": 1, "scope": "fleet"}, "scope cannot be"),
        ({"value": 1, "ttl": 0}, "ttl cannot be"),
        ({"value": 1, "command": ["/bin/true"]}, "a value or a command"),
        ({"value": 1, "user": "www"}, "only a promise with a command"),
        ({"command": "hostname"}, "an array of a program"),
        ({"command": ["/bin/true"], "format": "yaml"}, "format cannot be"),
        ({"value": 1, "key": "k" * 201}, "key cannot be"),
    ],
)
def test_wrong_parameter_is_one_clear_line(parameters: dict[str, Any], text: str) -> None:
    report = apply(Given(), **parameters)
    assert report.status.value == "failed"
    assert text in report.events[0].message

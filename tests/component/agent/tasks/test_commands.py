"""Works that run a file of the environment: what it gets, and what of its output is a result."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from lab.catalog_server import CatalogServer
from precast.wire.jobs.orders import MAX_RESULT_CHARS
from precast.wire.jobs.programs import ExecutableWork, ShellWork
from tests.component.agent.tasks.stage import Outcome, Stage


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CatalogServer]:
    (tmp_path / "site").mkdir()
    with CatalogServer(tmp_path / "site") as made:
        yield made


@pytest.fixture
def stage(server: CatalogServer) -> Iterator[Stage]:
    with Stage(server.authority, server.root) as made:
        made.configure(url=f'"{server.url}"', allow_exec="true")
        yield made


def run(
    stage: Stage,
    server: CatalogServer,
    script: str,
    given: Literal["both", "stdin", "environment"] = "both",
    parameters: dict[str, Any] | None = None,
    **options: Any,
) -> Outcome:
    content = server.put(f"#!/bin/sh\n{script}\n".encode())
    return stage.run(ExecutableWork("site::deploy", content, parameters or {}, given), **options)


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("both", ['{"port":8080,"word":"input"}', "input 8080"]),
        ("stdin", ['{"port":8080,"word":"input"}', " "]),
        ("environment", ["input 8080"]),
    ],
)
def test_parameters_and_inputs_are_given_as_data(
    stage: Stage, server: CatalogServer, given: Literal["both", "stdin", "environment"], seen: list[str]
) -> None:
    script = 'cat; test -t 0 || echo; echo "$PT_word $PT_port"'
    parameters = {"word": "parameter", "port": 8080}
    outcome = run(stage, server, script, given, parameters, inputs='{"word": "input"}')
    assert outcome.ended.is_success, outcome.ended.message
    assert sorted(line for line in outcome.lines if line) == sorted(seen)


@pytest.mark.parametrize(("size", "seen"), [(131_072 - len("PT_large=") - 2, "1 there"), (131_072, "1 ")])
def test_input_that_is_too_large_for_a_variable_is_on_standard_input_alone(
    stage: Stage, server: CatalogServer, size: int, seen: str
) -> None:
    inputs = f'{{"small":1,"large":"{"x" * size}"}}'
    outcome = run(stage, server, 'echo "$PT_small ${PT_large:+there}"; wc -c', inputs=inputs)
    assert outcome.ended.is_success, outcome.ended.message
    assert outcome.lines == [seen, str(len(inputs))]


def test_object_that_is_printed_is_the_result_also_of_a_task_that_fails(stage: Stage, server: CatalogServer) -> None:
    outcome = run(stage, server, """echo '{"a": [1, "x"],'; echo noise >&2; echo ' "b": null}'; exit 3""")
    assert (outcome.ended.is_success, outcome.ended.code) == (False, 3)
    assert json.loads(outcome.ended.result) == {"a": [1, "x"], "b": None}


@pytest.mark.parametrize(
    ("count", "returns", "is_success", "size"),
    [(1, True, True, 9), (1, False, True, 0), (MAX_RESULT_CHARS, True, False, 0), (MAX_RESULT_CHARS, False, True, 0)],
)
def test_shell_returns_the_object_that_it_prints_if_others_take_inputs_from_it(
    stage: Stage, count: int, returns: bool, is_success: bool, size: int
) -> None:
    command = f"""printf '{{"a": "'; head -c {count} /dev/zero | tr '\\0' x; printf '"}}'"""
    outcome = stage.run(ShellWork(command, returns=returns))
    assert (outcome.ended.is_success, len(outcome.ended.result)) == (is_success, size)


@pytest.mark.parametrize("printed", ["hello", "[1, 2]", '{"a": 1} and more', "{", '"text"', ""])
def test_output_that_is_no_object_is_no_result(stage: Stage, server: CatalogServer, printed: str) -> None:
    outcome = run(stage, server, f"printf '%s' '{printed}'")
    assert (outcome.ended.is_success, outcome.ended.result) == (True, "")


@pytest.mark.parametrize("count", [MAX_RESULT_CHARS, 20 * MAX_RESULT_CHARS])
def test_result_that_is_too_large_fails_the_task(stage: Stage, server: CatalogServer, count: int) -> None:
    script = f"""printf '{{"a": "'; head -c {count} /dev/zero | tr '\\0' x; printf '"}}'"""
    outcome = run(stage, server, script, retries=2, interval_s=0.0)
    assert (outcome.ended.is_success, outcome.ended.result) == (False, "")
    assert f"larger than {MAX_RESULT_CHARS} characters" in outcome.ended.message
    assert len(outcome.phases) == 1


def test_file_that_no_server_has_fails_the_task(stage: Stage) -> None:
    ended = stage.run(ExecutableWork("site::deploy", "0" * 64), timeout_s=20.0).ended
    assert (ended.is_success, ended.phase, ended.is_overdue) == (False, "task", False)
    assert "AGENT-062" in ended.message


def test_file_that_is_no_program_fails_with_the_reason(stage: Stage, server: CatalogServer) -> None:
    content = server.put(b"#!/no/such/interpreter\n")
    ended = stage.run(ExecutableWork("site::deploy", content)).ended
    assert (ended.is_success, "cannot be run: No such file or directory" in ended.message) == (False, True)

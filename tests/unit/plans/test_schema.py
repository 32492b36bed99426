"""The JSON schema of plans: it knows what the loader knows, and accepts and refuses the same plans."""

import os
import re
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml  # type: ignore[import-untyped] # it has no types of its own

from precast.plans.loading.node_tests import NODE_TESTS
from precast.plans.loading.plan_files import PLAN_FIELDS
from precast.plans.loading.task_fields import FIELDS_BY_NAME
from precast.plans.loading.task_types import TASK_TYPES
from precast.plans.schema import make_schema
from tests.unit.plans.loading.plan_texts import load

SCHEMA = make_schema()
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)


def test_schema_is_itself_valid() -> None:
    jsonschema_rs.meta.validate(SCHEMA)


def test_schema_describes_every_field_that_the_loader_knows() -> None:
    properties = SCHEMA["$defs"]["task"]["properties"]
    assert set(properties) == {"id", "type", *FIELDS_BY_NAME}
    assert set(SCHEMA["$defs"]["plan"]["properties"]) == set(PLAN_FIELDS)
    described = [*properties.items(), *SCHEMA["$defs"]["plan"]["properties"].items()]
    assert all(schema["title"] == name and schema["description"].endswith(".") for name, schema in described)


def test_schema_describes_every_type_and_its_parameters() -> None:
    rules = {rule["if"]["properties"]["type"]["const"]: rule["then"] for rule in SCHEMA["$defs"]["task"]["allOf"]}
    assert set(rules) == set(TASK_TYPES) == set(SCHEMA["$defs"]["task"]["properties"]["type"]["enum"])
    for name, declaration in TASK_TYPES.items():
        parameters = rules[name]["properties"]["parameters"]
        assert set(parameters["properties"]) == set(declaration.parameters)
        assert parameters["description"] == declaration.description


REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "plan-format.md"


def test_example_of_the_reference_is_a_plan() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", REFERENCE.read_text(encoding="utf-8"), re.DOTALL)
    assert load(example).errors == load(example).warnings == []
    assert VALIDATOR.is_valid(yaml.safe_load(example))


def test_reference_names_every_field_type_parameter_and_test() -> None:
    page = REFERENCE.read_text(encoding="utf-8")
    parameters = {name for declaration in TASK_TYPES.values() for name in declaration.parameters}
    names = {
        "id",
        "type",
        *FIELDS_BY_NAME,
        *PLAN_FIELDS,
        *TASK_TYPES,
        *parameters,
        "amount",
        "canary",
        "within",
        *NODE_TESTS,
    }
    assert {name for name in names if not re.search(rf"`[^`]*\b{re.escape(name)}\b[^`]*`", page)} == set()


ACCEPTED = """
name: shop
description: The shop.
parameters:
  version: {type: 'Pattern[/^[0-9.]+$/]', description: The release.}
  workers: {type: 'Integer[1, 64]', default: 4}
  any:
tasks:
  - {id: web, type: group, roles: [web], tasks: [a], fault_tolerance: 10%}
  - {id: start, type: stage, version: 2.1.0}
  - id: a
    type: shell
    roles: '*'
    requires: start
    required_for: [b, {yaql_exp: $.x}]
    cross-depends: [{name: /b/, role: self, policy: any}, {name: c, role: }, d]
    cross_depended_by: {yaql_exp: $.x}
    condition: {yaql_exp: changed($.a)}
    parameters: {cmd: 'true', cwd: /, environment: {A: 1}, timeout: 10m, strategy: {type: parallel, amount: 30%, canary: true}}
    test_pre: {cmd: 'true', timeout: 5}
    test_post:
      - {http: 'http://localhost/', status: [200, 204], contains: ok, within: 1m}
      - {tcp: 'localhost:80'}
      - {file: /etc/motd, state: file, contains: x}
      - {fact: os.family, equals: Debian}
      - {resource: 'Service[nginx]', parameters: {ensure: running}}
      - {clean: {manifest: site.pp}}
      - {clean: {catalog: {tags: [a]}}}
    inputs: {version: {task: b, key: a.b, role: [web]}}
    approval: true
    lost_after: 90
    refresh_on: ['*']
    node_attributes: {status: error}
  - {id: c, type: catalog, role: web, parameters: {tags: [a], classes: b, mode: noop}}
  - {id: m, type: manifest, tags: web, parameters: {manifest: site.pp}}
  - {id: p, type: puppet, groups: [web], parameters: {puppet_manifest: /x.pp, puppet_modules: '', timeout: 3600}}
  - {id: t, type: task, roles: web, parameters: {task: a::b, parameters: {c: 1}}}
  - {id: u, type: upload_file, roles: web, parameters: {path: /x, permissions: '0644'}, inputs: {data: {task: b}}}
  - {id: f, type: copy_files, roles: web, parameters: {files: [{src: /a, dst: /b}]}}
  - {id: s, type: sync, roles: web, parameters: {src: a, dst: b}, retries: 3, interval: 10, always: true}
  - {id: r, type: reboot, roles: web, condition: 'settings:a.b == true', fail_on_error: false}
"""


def test_plan_with_everything_is_accepted_by_both() -> None:
    assert [error.message for error in VALIDATOR.iter_errors(yaml.safe_load(ACCEPTED))] == []
    assert load(ACCEPTED).errors == load(ACCEPTED).warnings == []


@pytest.mark.parametrize(
    "text", ["", "[]", "tasks:", "- {id: a, type: stage, requires: }", "- {id: a, type: erase_node}"]
)
def test_plan_of_little_is_accepted_by_both(text: str) -> None:
    assert VALIDATOR.is_valid(yaml.safe_load(text))
    assert load(text).errors == []


@pytest.mark.parametrize(
    "text",
    [
        "word",
        "tasks: {a: b}",
        "parameters: [a]",
        "parameters: {a: {typ: String}}",
        "- {type: stage}",
        "- {id: a}",
        "- {id: a, type: unknown}",
        "- {id: [a], type: stage}",
        "- {id: a, type: shell, roles: x}",
        "- {id: a, type: catalog, roles: x, parameters: {tag: [a]}}",
        "- {id: a, type: shell, roles: x, parameters: {cmd: [a]}}",
        "- {id: a, type: shell, roles: x, parameters: {cmd: ''}}",
        "- {id: a, type: manifest, roles: x, parameters: {}}",
        "- {id: a, type: copy_files, roles: x, parameters: {files: [{src: a}]}}",
        "- {id: a, type: upload_file, roles: x, parameters: {path: a, data: b, permissions: rw}}",
        "- {id: a, type: stage, requires: {a: b}}",
        "- {id: a, type: stage, cross-depends: [{role: a}]}",
        "- {id: a, type: stage, cross-depends: [{name: a, policy: some}]}",
        "- {id: a, type: stage, timeout: soon}",
        "- {id: a, type: stage, retries: -1}",
        "- {id: a, type: stage, always: 5}",
        "- {id: a, type: stage, parameters: {strategy: {type: serial}}}",
        "- {id: a, type: stage, parameters: {strategy: {amount: 0}}}",
        "- {id: a, type: stage, test_pre: {}}",
        "- {id: a, type: stage, test_pre: {http: 'http://x', contians: a}}",
        "- {id: a, type: stage, test_pre: {file: /x, state: gone}}",
        "- {id: a, type: stage, test_pre: {clean: {}}}",
        "- {id: a, type: stage, inputs: {a: {key: b}}}",
        "- {id: a, type: stage, condition: {yaql: a}}",
    ],
)
def test_plan_that_is_wrong_is_refused_by_both(text: str) -> None:
    assert not VALIDATOR.is_valid(yaml.safe_load(text))
    assert load(text).errors


@pytest.mark.parametrize(
    "text", ["- {id: a, type: stage, required_form: [b]}", "colour: blue", "- {id: a, type: skipped, cwd: /, roles: x}"]
)
def test_unknown_field_is_refused_by_the_schema_where_the_loader_warns(text: str) -> None:
    assert not VALIDATOR.is_valid(yaml.safe_load(text))
    assert load(text).warnings


def test_schema_accepts_the_corpus() -> None:
    directory = Path(os.environ.get("PRECAST_CORPORA", "/nonexistent")) / "fuel"
    if not directory.is_dir():
        pytest.skip("PRECAST_CORPORA names no directory with fuel")
    for path in sorted(directory.rglob("*.yaml")):
        document: Any = yaml.safe_load(path.read_text())
        assert [error.message for error in VALIDATOR.iter_errors(document)] == [], path

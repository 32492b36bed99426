"""Every type that can be applied is declared, and its handler uses no attribute that the declaration lacks."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

from precast.agent.applying.machine import Machine
from precast.base.clock import SystemClock
from precast.resources import registry
from precast.resources.properties import PropertyHandler
from precast.types import catalogue

TYPES = registry.names()
LISTED = ["cron", "group", "host", "package", "sshkey", "user"]


@pytest.mark.parametrize("name", TYPES)
def test_type_that_can_be_applied_is_declared(name: str) -> None:
    assert registry.find(name) is not None
    assert catalogue.find_any(name) is not None


def test_declarations_say_which_types_can_be_applied() -> None:
    declared = [*catalogue.names(), *catalogue.module_names()]
    containers = {"stage"}  # needs no handler
    assert sorted({name for name in declared if catalogue.is_applied(name)} - containers) == TYPES
    assert not catalogue.is_applied("of_no_module")


@pytest.mark.parametrize("name", TYPES)
def test_attributes_that_a_handler_asks_for_are_declared(name: str) -> None:
    handler, declared = registry.find(name), catalogue.find_any(name)
    assert handler is not None
    assert declared is not None
    assert _asked_for(handler) - declared.attributes - set(catalogue.METAPARAMETERS) == set()
    if issubclass(handler, PropertyHandler):
        assert set(handler.order) <= set(declared.properties)


def test_attributes_that_a_handler_asks_for_are_found_in_its_source() -> None:
    handler = registry.find("user")
    assert handler is not None
    assert _asked_for(handler) >= {"purge_ssh_keys", "managehome", "membership"}


@pytest.mark.parametrize("name", LISTED)
def test_what_is_listed_has_declared_attributes(name: str) -> None:
    handler, declared = registry.find(name), catalogue.find_any(name)
    assert handler is not None
    assert declared is not None
    machine = Machine("", "", SystemClock())
    try:
        instances = list(handler.instances(machine))
    except Exception as error:  # noqa: BLE001 - without root the shadow file is unreadable
        pytest.skip(str(error))
    assert {key for instance in instances for key in instance.properties} <= declared.attributes


def _asked_for(handler: type) -> set[str]:
    """The names in `resource.get("…")` and the like, in the handler's module."""
    module = importlib.import_module(handler.__module__)
    tree = ast.parse(Path(inspect.getfile(module)).read_text())
    names = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        words = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        target = ast.unparse(node.func)
        if words and (target.endswith("resource.get") or target in _READERS):
            names.add(words[0])
    return names


_READERS = {f"properties.{name}" for name in ("read_boolean", "one_of", "number")}

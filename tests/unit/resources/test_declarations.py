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


@pytest.mark.parametrize("name", TYPES)
def test_attributes_that_a_handler_asks_for_are_declared(name: str) -> None:
    handler, declared = registry.find(name), catalogue.find_any(name)
    assert handler is not None
    assert declared is not None
    assert _asked_for(handler) - declared.attributes - set(catalogue.METAPARAMETERS) == set()
    if issubclass(handler, PropertyHandler):
        assert set(handler.order) <= set(declared.properties)


@pytest.mark.parametrize("name", LISTED)
def test_what_is_listed_has_declared_attributes(name: str) -> None:
    handler, declared = registry.find(name), catalogue.find_any(name)
    assert handler is not None
    assert declared is not None
    machine = Machine("", "", SystemClock())
    try:
        found = list(handler.instances(machine))
    except Exception as error:  # noqa: BLE001 - who may not read the shadow file has nothing to look at
        pytest.skip(str(error))
    assert {key for each in found for key in each.properties} <= declared.attributes


def _asked_for(handler: type) -> set[str]:
    """The names in `wanted.get("…")` and the like, in the handler's module."""
    module = importlib.import_module(handler.__module__)
    tree = ast.parse(Path(inspect.getfile(module)).read_text())
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        words = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        target = ast.unparse(node.func)
        if words and (target.endswith("wanted.get") or target in _READERS):
            found.add(words[0])
    return found


_READERS = {f"properties.{name}" for name in ("truth", "one_of", "number")}

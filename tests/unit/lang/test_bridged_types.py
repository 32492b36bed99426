"""The files that a catalog pins for types in Ruby, and what a compile says of nodes without a Puppet."""

from typing import Any

import pytest

from precast.catalog.body import PLUGIN_SCHEME
from precast.lang.compile import CompileFailure
from precast.lang.settings import Settings
from tests.unit.lang.small_manifests import compiled

TYPE = "modules/cells/lib/puppet/type/cell.rb"
FILES = {
    TYPE: "Puppet::Type.newtype(:cell) do\n  newparam(:name)\nend\n",
    "modules/cells/lib/puppet/provider/cell/json.rb": "require 'helper/store'\nPuppet::Type.type(:cell).provide(:json) {}\n",
    "modules/cells/lib/puppet/functions/cells/of.rb": "",
    "modules/cells/metadata.json": '{"dependencies": [{"name": "puppet/bases"}, {"name": "puppet-absent"}, 3]}',
    "modules/bases/lib/puppet/util/base.rb": "Puppet::Type.type(:drawer)\n",
    "modules/helper/lib/helper/store.rb": "",
    "modules/helper/files/not_in_lib.rb": "",
    "modules/more/lib/puppet/provider/cell/yaml.rb": "",
    "modules/drawers/lib/puppet/type/drawer.rb": "Puppet::Type.newtype(:drawer) { newparam(:name) }\n",
    "modules/unrelated/lib/puppet/type/other.rb": "Puppet::Type.newtype(:other) { newparam(:name) }\n",
}
EXPECTED = [
    "bases/lib/puppet/util/base.rb",
    "cells/lib/puppet/provider/cell/json.rb",
    "cells/lib/puppet/type/cell.rb",
    "drawers/lib/puppet/type/drawer.rb",
    "helper/lib/helper/store.rb",
    "more/lib/puppet/provider/cell/yaml.rb",
]


def library(code: str, files: dict[str, str]) -> list[str]:
    content = compiled(code, files).body.content
    return sorted(name.removeprefix(PLUGIN_SCHEME) for name in content if name.startswith(PLUGIN_SCHEME))


def test_catalog_pins_what_a_provider_needs_and_nothing_else() -> None:
    assert library("cell { 'a': }", FILES) == EXPECTED


@pytest.mark.parametrize("code", ["notify { 'a': }", "@cell { 'a': }", "file { '/a': }"])
def test_catalog_without_such_a_resource_pins_no_ruby(code: str) -> None:
    assert library(code, FILES) == []


@pytest.mark.parametrize(
    ("given", "files"), [("val => '1'", []), ("value => '1'", ["sysctl/lib/puppet/type/sysctl.rb"])]
)
def test_resource_of_another_version_of_a_type_that_precast_applies_pins_its_module(
    given: str, files: list[str]
) -> None:
    text = "Puppet::Type.newtype(:sysctl) do\n  newparam(:name)\n  newproperty(:val)\n  newproperty(:value)\nend\n"
    assert library(f"sysctl {{ 'a': {given} }}", {"modules/sysctl/lib/puppet/type/sysctl.rb": text}) == files


def test_modules_that_need_each_other_are_pinned_once() -> None:
    files = {
        **FILES,
        "modules/bases/metadata.json": '{"dependencies": [{"name": "puppet/cells"}]}',
        "modules/helper/metadata.json": "not JSON",
    }
    assert library("cell { 'a': }", files) == EXPECTED


def problems(level: Any, facts: dict[str, Any], code: str = "cell { 'a': }") -> list[str]:
    result = compiled(code, FILES, settings=Settings(types_without_puppet=level), facts=facts)
    return [problem.code for problem in result.problems]


@pytest.mark.parametrize(
    ("level", "facts", "codes"),
    [
        ("warning", {"precast_bridge": {"available": False}}, ["CATALOG-006"]),
        ("warning", {}, ["CATALOG-007"]),
        ("error", {}, ["CATALOG-007"]),
        ("error", {"precast_bridge": {"available": True}}, []),
        ("ignore", {"precast_bridge": {"available": False}}, []),
    ],
)
def test_node_without_puppet_is_a_problem_of_the_catalog(level: str, facts: dict[str, Any], codes: list[str]) -> None:
    assert problems(level, facts) == codes


def test_node_without_puppet_gets_no_catalog_if_that_is_an_error() -> None:
    with pytest.raises(CompileFailure) as failure:
        problems("error", {"precast_bridge": {"available": False}})
    assert failure.value.error.code == "CATALOG-006"
    assert problems("error", {"precast_bridge": {"available": False}}, "notify { 'a': }") == []

"""Parts of catalogs: what is chosen, what is kept around it, and which relationships are dropped."""

import pytest

from precast.base.errors import InputError
from precast.catalog.body import Body
from precast.catalog.part import CatalogPart, PartSelection, take_part
from precast.types.ordering import application_order, resolver
from tests.unit.lang.small_manifests import compiled

CODE = """
stage { 'setup': before => Stage['main'] }
class a { contain inner  notify { 'a': require => Notify['inner'], notify => Notify['b'] } }
class inner { notify { 'inner': tag => 'mine' } }
class { 'a': stage => 'setup' }
define d() { notify { "d ${name}": } }
class b { d { 'one': } notify { 'b': alias => 'also b' } }
include b
notify { 'top': require => [Class['b'], Notify['also b']], before => Notify['last'] }
notify { 'last': subscribe => D['one'], tag => 'mine' }
"""


def part(selection: PartSelection, code: str = CODE) -> CatalogPart:
    body = compiled(code).body
    return take_part(body, selection, resolver(body))


def applied(body: Body) -> list[str]:
    order, cycle = application_order(body)
    assert cycle == []
    return order


def dropped(found: CatalogPart) -> list[str]:
    return sorted(map(str, found.dropped))


def test_part_without_a_selection_is_the_whole_catalog() -> None:
    body = compiled(CODE).body
    assert take_part(body, PartSelection()) == CatalogPart(body, ())


def test_part_by_tag_has_the_resources_with_the_tag() -> None:
    found = part(PartSelection(tags=["Mine"]))
    assert applied(found.body) == ["Notify[inner]", "Notify[last]"]
    assert dropped(found) == ["D[one] ~> Notify[last]", "Notify[inner] -> Notify[a]", "Notify[top] -> Notify[last]"]


@pytest.mark.parametrize("name", ["a", "A", "::a"])
def test_part_by_class_has_all_that_the_class_contains(name: str) -> None:
    found = part(PartSelection(classes=[name]))
    assert applied(found.body) == ["Notify[inner]", "Notify[a]"]
    assert dropped(found) == ["Notify[a] ~> Notify[b]", "Stage[setup] -> Stage[main]"]


def test_part_by_stage_has_the_classes_of_the_stage_and_what_they_contain() -> None:
    assert applied(part(PartSelection(stages=["setup"])).body) == ["Notify[inner]", "Notify[a]"]
    assert applied(part(PartSelection(stages=["Setup"])).body) == []


def test_part_of_several_names_is_their_union() -> None:
    found = part(PartSelection(tags=["mine"], classes=["b"]))
    assert applied(found.body) == ["Notify[inner]", "Notify[b]", "Notify[d one]", "Notify[last]"]


def test_relationship_with_a_container_holds_for_what_the_part_has_of_it() -> None:
    code = """
    class b { notify { 'b1': tag => 'mine' } notify { 'b2': } }
    notify { 'first': require => Class['b'], tag => 'mine' }
    include b
    """
    found = part(PartSelection(tags=["mine"]), code)
    assert (applied(found.body), found.dropped) == (["Notify[b1]", "Notify[first]"], ())


def test_relationship_by_another_name_of_a_resource_is_kept_within_the_part() -> None:
    code = """
    notify { 'one': require => Notify['second'], tag => 'mine' }
    notify { 'two': alias => 'second', tag => 'mine' }
    """
    found = part(PartSelection(tags=["mine"]), code)
    assert (applied(found.body), found.dropped) == (["Notify[two]", "Notify[one]"], ())


def test_relationship_with_a_resource_that_does_not_exist_is_an_error_as_in_the_whole_catalog() -> None:
    body = compiled("notify { 'one': }").body
    (one,) = (resource for resource in body.resources if resource.type == "Notify")
    one.parameters["require"] = "Notify[none]"
    with pytest.raises(InputError) as raised:
        take_part(body, PartSelection(tags=["one"]), resolver(body))
    assert raised.value.code == "CATALOG-001"


def test_parts_of_all_stages_have_every_resource_once() -> None:
    whole = compiled(CODE).body
    parts = [applied(part(PartSelection(stages=[stage])).body) for stage in ("setup", "main")]
    assert sorted([*parts[0], *parts[1]]) == sorted(applied(whole))


def test_part_keeps_the_contents_of_the_whole() -> None:
    body = Body((), (), (), (), {"puppet:///modules/m/f": "0" * 64})
    assert take_part(body, PartSelection(tags=["x"])).body.content == body.content

"""The body's digest: what changes it, and what must not."""

from precast.catalog.body import Body, Edge, ResourceData, decode
from precast.catalog.envelope import seal
from precast.catalog.source_map import SourceLocation, SourceMap
from tests.unit.lang.small_manifests import compiled

BODY = Body(
    resources=(
        ResourceData("Notify", "x", {"message": "m", "n": 1.0}, ("class", "notify"), sensitive_parameters=("message",)),
    ),
    edges=(Edge("Class[main]", "Notify[x]"),),
    classes=("settings",),
    tags=("class",),
    content={},
)


def test_body_reads_back_as_it_was() -> None:
    assert decode(BODY.encoded()) == BODY


def test_comment_and_place_change_no_version() -> None:
    before = compiled("notify { 'x': message => 'm' }")
    after = compiled("# a comment\n\n  notify { 'x':\n message => 'm', }")
    assert before.body.digest() == after.body.digest()
    assert before.source_map.digest() != after.source_map.digest()


def test_parameter_changes_the_version() -> None:
    assert (
        compiled("notify { 'x': message => 1 }").body.digest()
        != compiled("notify { 'x': message => 1.0 }").body.digest()
    )


def test_pinned_file_changes_the_version() -> None:
    code = "file { '/x': source => 'puppet:///modules/m/d/f' }"
    one = compiled(code, {"modules/m/files/d/f": "one"})
    two = compiled(code, {"modules/m/files/d/f": "two"})
    assert list(one.body.content) == ["puppet:///modules/m/d/f"]
    assert one.body.digest() != two.body.digest()


def test_sourced_directory_pins_all_below_it() -> None:
    files = {"modules/m/files/d/a": "1", "modules/m/files/d/e/b": "2", "modules/m/files/other": "3"}
    result = compiled("file { '/x': source => 'puppet:///modules/m/d', recurse => true }", files)
    assert list(result.body.content) == ["puppet:///modules/m/d/a", "puppet:///modules/m/d/e/b"]


def test_envelope_holds_what_the_body_must_not() -> None:
    places = SourceMap({"Notify[x]": SourceLocation("site.pp", 3)})
    sealed = seal(BODY, BODY.digest(), name="n1", environment="production", code_id=None, places=places)
    assert (sealed["name"], sealed["version"], sealed["catalog_format"]) == ("n1", BODY.digest(), 2)
    assert sealed["catalog_uuid"] == seal(BODY, BODY.digest(), name="n2", environment="e", code_id="c")["catalog_uuid"]
    assert sealed["resources"][0]["file"] == "site.pp"
    assert sealed["resources"][0]["sensitive_parameters"] == ["message"]

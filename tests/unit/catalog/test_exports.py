"""The exported resources of a catalog, and what their digest covers."""

import msgspec

from precast.catalog.body import Body, ResourceData
from precast.catalog.exports import decode_exports, digest_exports, encode_exports, exports_of
from precast.catalog.source_map import SourceLocation, SourceMap


def make_body(*resources: ResourceData) -> Body:
    return Body(resources, (), (), (), {})


NOTE = ResourceData("Notify", "n", {"message": "m"}, ("notify", "n"), exported=True, virtual=True)


def test_exports_of_a_catalog_are_its_exported_resources_in_order() -> None:
    own = msgspec.structs.replace(NOTE, title="a", virtual=False)
    body = make_body(NOTE, ResourceData("Notify", "here", {}, ()), own)
    assert [export.ref for export in exports_of("a.example", body)] == ["Notify[a]", "Notify[n]"]


def test_sensitive_parameter_is_marked() -> None:
    hidden = msgspec.structs.replace(NOTE, sensitive_parameters=("message",))
    (export,) = exports_of("a.example", make_body(hidden))
    assert export.parameters == {"message": {"__ptype": "Sensitive", "__pvalue": "m"}}


def test_digest_does_not_depend_on_place_and_order() -> None:
    places = SourceMap({"Notify[n]": SourceLocation("site.pp", 3)})
    (placed,) = exports_of("a.example", make_body(NOTE), places)
    (other,) = exports_of("b.example", make_body(NOTE))
    assert (placed.file, placed.line) == ("site.pp", 3)
    bare = msgspec.structs.replace(placed, file=None, line=None)
    assert digest_exports([placed, other]) == digest_exports([other, bare])
    assert digest_exports([placed]) != digest_exports([other])


def test_list_is_read_back() -> None:
    exports = exports_of("a.example", make_body(NOTE), SourceMap({"Notify[n]": SourceLocation("site.pp", 3)}))
    assert decode_exports(encode_exports(exports)) == exports

"""PNML files of other tools, hostile files, and our own exports."""

import pytest

from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.net.exchange.notation import parse
from precast.net.exchange.notation_writer import write
from precast.net.exchange.pnml_reader import read_pnml
from precast.net.exchange.pnml_writer import PT_NET, write_pnml

HEAD = f'<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml"><net id="n" type="{PT_NET}">'
TAIL = "</net></pnml>"
PAGES = (
    HEAD
    + """<name><text>pages</text></name>
  <page id="g1">
    <place id="p1"><name><graphics/><text>in</text></name><initialMarking><text> 2 </text></initialMarking></place>
    <transition id="t1"/>
    <arc id="a1" source="p1" target="t1"/>
    <page id="g2">
      <referencePlace id="r2" ref="r1"/><referencePlace id="r1" ref="p1"/>
      <place id="p2"/><transition id="t2"><name><text>back</text></name></transition>
      <arc id="a2" source="t1" target="p2"><inscription><text>3</text></inscription></arc>
      <arc id="a3" source="p2" target="t2"/><arc id="a4" source="p2" target="t2"/>
      <arc id="a5" source="t2" target="r2"/>
    </page>
  </page>"""
    + TAIL
)


def read(text: str) -> str:
    return write(read_pnml("x.pnml", text.encode()).declared)


def test_net_on_nested_pages_with_references_is_flattened() -> None:
    assert read(PAGES) == (
        "net pages\n\nplace in = 2\nplace p2\n\n"
        "transition t1\n  takes in\n  gives 3*p2\n\n"
        "transition back\n  takes 2*p2\n  gives in\n"
    )


CONTEST = """<?xml version="1.0" encoding="{encoding}"?>
<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
  <net id="Dräger-PT-2" type="{kind}">
    <page id="page0">
      <name><text>DefaultPage</text></name>
      <place id="P-1"><name><graphics><offset x="1" y="2"/></graphics><text>idle</text></name>
        <initialMarking><text>300</text></initialMarking></place>
      <place id="P-2"><name><text>idle</text></name></place>
      <transition id="T-1"><name><text>fire</text></name><graphics><position x="0" y="0"/></graphics></transition>
      <arc id="P-1-T-1" source="P-1" target="T-1"><inscription><text>2</text></inscription></arc>
      <arc id="T-1-P-2" source="T-1" target="P-2"/>
      <toolspecific tool="nupn" version="1.1"><size places="2" transitions="1" arcs="2"/>
        <structure units="1" root="u" safe="false"><unit id="u"><places>P-1 P-2</places><subunits/></unit></structure>
      </toolspecific>
    </page>
    <name><text>Dräger-PT-2</text></name>
  </net>
</pnml>"""


@pytest.mark.parametrize("kind", [PT_NET, "http://www.pnml.org/version-2009/grammar/pnmlcoremodel"])
@pytest.mark.parametrize("encoding", ["UTF-8", "ISO-8859-1", "cp1252", "UTF-16"])
def test_net_as_the_model_checking_contest_has_them_is_read(encoding: str, kind: str) -> None:
    data = CONTEST.format(encoding=encoding, kind=kind).encode(encoding)
    assert write(read_pnml("model.pnml", data).declared) == (
        'net Dräger-PT-2\n\nplace "idle (P-1)" = 300\nplace "idle (P-2)"\n\n'
        'transition fire\n  takes 2*"idle (P-1)"\n  gives "idle (P-2)"\n'
    )


def test_net_with_equal_labels_keeps_its_nodes_apart() -> None:
    text = HEAD + "".join(f'<place id="p{n}"><name><text>x</text></name></place>' for n in (1, 2)) + TAIL
    assert read(text) == 'net n\n\nplace "x (p1)"\nplace "x (p2)"\n'


def test_net_without_namespace_type_and_page_is_read() -> None:
    assert "place p = 1" in read(
        '<pnml><net id="n"><place id="p"><initialMarking><value>1</value></initialMarking></place></net></pnml>'
    )


def test_own_export_changed_by_another_tool_is_read_as_it_is_now() -> None:
    net = parse(Source("x", "limit slots = 2\nstep a\n holds slots\n"))
    text = write_pnml(net)
    assert read_pnml("x", text.encode()).declared == net.declared
    changed = read_pnml("x", text.replace("<text>2</text>", "<text>5</text>").encode())
    assert changed.declared.places[0].tokens == 5
    assert not changed.declared.transitions[0].is_step


def test_own_export_with_names_that_xml_cannot_hold_is_restored() -> None:
    net = parse(Source("x", r'place "<&>]]>\u0001\ufffe"' + "\n" + r'step "\u001b[31m"'))
    assert read_pnml("x", write_pnml(net).encode()).declared == net.declared


@pytest.mark.parametrize("tokens", ["1000000001", "4294967296", "000000000000000000000000012", str(10**18)])
def test_large_token_count_is_read(tokens: str) -> None:
    text = f"{HEAD}<place id='p'><initialMarking><text>{tokens}</text></initialMarking></place>{TAIL}"
    assert read_pnml("x.pnml", text.encode()).declared.places[0].tokens == int(tokens)


@pytest.mark.parametrize("tokens", [str(10**18 + 1), "0" * 12 + "9" * 30, "9" * 6000])
def test_token_count_beyond_the_limit_is_refused(tokens: str) -> None:
    text = f"{HEAD}<place id='p'><initialMarking><text>{tokens}</text></initialMarking></place>{TAIL}"
    with pytest.raises(PrecastError, match="is not a number from 0 to"):
        read_pnml("x.pnml", text.encode())


@pytest.mark.parametrize(
    ("text", "code", "part"),
    [
        ("not xml", "NET-020", "not XML"),
        ("", "NET-020", "no element found"),
        ("<pnml><net>", "NET-020", "no element found"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><pnml/>', "NET-021", "document type"),
        ("<html/>", "NET-022", "<html> holds 0 nets"),
        ("<pnml/>", "NET-022", "holds 0 nets"),
        ("<pnml><net id='a'/><net id='b'/></pnml>", "NET-022", "holds 2 nets"),
        (
            "<pnml><net id='n' type='http://www.pnml.org/version-2009/grammar/symmetricnet'/></pnml>",
            "NET-023",
            "symmetricnet",
        ),
        (HEAD + "<place/>" + TAIL, "NET-022", "<place> has no id"),
        (HEAD + "<place id='p'/><transition id='p'/>" + TAIL, "NET-022", "the id p occurs twice"),
        (HEAD + "<place id='p'/><arc id='a' source='p' target='q'/>" + TAIL, "NET-022", "node q does not exist"),
        (
            HEAD + "<place id='p'/><place id='q'/><arc id='a' source='p' target='q'/>" + TAIL,
            "NET-022",
            "two nodes of the same kind",
        ),
        (
            HEAD + "<place id='p'><initialMarking><text>-1</text></initialMarking></place>" + TAIL,
            "NET-022",
            "'-1' is not a number",
        ),
        (
            HEAD + "<place id='p'><initialMarking><text>²</text></initialMarking></place>" + TAIL,
            "NET-022",
            "is not a number",
        ),
        (
            HEAD
            + "<place id='p'/><transition id='t'/><arc id='a' source='p' target='t'><inscription><text>0</text></inscription></arc>"
            + TAIL,
            "NET-022",
            "'0' is not a number from 1",
        ),
        (
            HEAD
            + "<place id='p'/><transition id='t'/><arc id='a' source='p' target='t'><type value='inhibitor'/></arc>"
            + TAIL,
            "NET-022",
            "an arc is of type inhibitor",
        ),
        (
            HEAD
            + "<referencePlace id='r' ref='s'/><referencePlace id='s' ref='r'/><arc id='a' source='r' target='s'/>"
            + TAIL,
            "NET-022",
            "form a cycle",
        ),
        ("<pnml>" + "<page>" * 200 + "</page>" * 200 + "</pnml>", "NET-022", "nested deeper than 100"),
    ],
)
def test_file_that_is_no_such_net_is_refused_at_its_place(text: str, code: str, part: str) -> None:
    with pytest.raises(PrecastError) as caught:
        read_pnml("x.pnml", text.encode())
    assert caught.value.code == code
    assert part in caught.value.message
    assert caught.value.render().startswith("x.pnml:")


def test_billion_laughs_is_refused_before_it_laughs() -> None:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    text = f'<?xml version="1.0"?><!DOCTYPE pnml [<!ENTITY l0 "ha">{entities}]><pnml>&l11;</pnml>'
    with pytest.raises(PrecastError) as caught:
        read_pnml("x.pnml", text.encode())
    assert caught.value.code == "NET-021"

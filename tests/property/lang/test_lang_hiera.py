"""A lookup in any hiera.yaml and any data files ends, in a value or in an error with a code.

The files are those of the specification rows with pieces removed, repeated and inserted, and the keys are made of such pieces.
`make soak` tries many more of them.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from precast.base.errors import Kind, PrecastError
from precast.lang.compile import CompileFailure
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import Inputs
from precast.lang.lookup import LookupRequest, look_up
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings
from precast.lang.values.base import rich
from tests.spec.lang.rows import HERE, read_rows

PIECES = (
    "%{", "}", "%{lookup('a')}", "%{alias('h')}", "%{facts.os}", "%{facts.networking.fqdn}", "%{trusted.certname}", "%{literal('%')}",
    "%{x}", "%{0}", "{", "[", "]", ":", "- ", "\n", "\n  ", "'", "\"", "&a ", "*a", "<<: ", "!!str ", "!x ", "? ", "| ", "> ", "#", ",",
    "~", "yes", "0x1F", "1_000", "12:30", "2020-01-01", ":sym", ".inf", "\t", "é", "\u2028", "\x00", "version: 5", "version: 3",
    "hierarchy:", "name: ", "path: ", "paths: ", "glob: ", "**/*", "..", "/", "mapped_paths: [facts.list, x, '%{x}']", "uri: http://x",
    "data_hash: ", "yaml_data", "json_data", "lookup_key: ", "eyaml_lookup_key", "data_dig: ", "options: {a: 1}", "datadir: ",
    "defaults:", "default_hierarchy:", "lookup_options: ", "merge: deep", "merge: {strategy: deep, knockout_prefix: '-'}",
    "convert_to: Integer", "convert_to: [Sensitive]", "'^m::'", "ENC[PKCS7,AAAA]", "a.b", "a: 1", "m::x: [1, 2]", "h: {a: {b: [1]}}",
    "99999999999999999999",
)  # fmt: skip
FACTS = {"os": {"family": "Debian"}, "kernel": "Linux", "list": ["a", "b"], "networking": {"fqdn": "n.example.com"}}
ROWS = [row["files"] for row in read_rows(HERE / "hiera.jsonl", HERE / "hiera_catalogs.jsonl")]
KEYS = ("a", "h", "l", "m::x", "m::a", "h.n", "a.b.0", "lookup_options", "'a'.\"b\"", "k")
MERGES = (None, "first", "unique", "hash", "deep", "reverse_deep")


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """A text with up to four changes."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        change = draw(st.sampled_from(("put", "put", "cut", "repeat")))
        if change == "put":
            text = text[:start] + draw(st.sampled_from(PIECES)) + text[start:]
        elif change == "cut":
            text = text[:start] + text[end:]
        else:
            text = text[:start] + text[start:end] * draw(st.integers(2, 30)) + text[end:]
    return text


@st.composite
def environments(draw: st.DrawFn) -> dict[str, str]:
    """The files of a row, one or two of them changed."""
    files = dict(draw(st.sampled_from(ROWS)))
    names = sorted(name for name in files if not name.endswith(".pp"))
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=2)) if names else ():
        files[name] = draw(mutated(files[name]))
    return files


keys = st.sampled_from(KEYS) | st.lists(st.sampled_from((*KEYS, ".", "'", '"', "::", " ", "9")), max_size=5).map(
    "".join
)


def error_code(error: PrecastError) -> str:
    assert error.kind is Kind.INPUT, error
    assert error.render()
    return error.code


def look_up_outcome(files: dict[str, str], key: str, merge: str | None, explains: bool, is_strict: bool) -> str:
    """The outcome of a lookup; any failure must be an input error, never an internal one."""
    inputs = Inputs(NodeAnswers(NodeData.local("n.example.com", FACTS), FileStore(TextTree(files))))
    options = Settings.puppet8() if is_strict else Settings()
    try:
        result = look_up(LookupRequest((key,), merge, explains=explains), inputs, options)
    except CompileFailure as failure:
        return error_code(failure.error)
    rich(result.value)
    return "result" if result.key is not None else "missing"


@given(environments(), keys, st.sampled_from(MERGES), st.booleans(), st.booleans())
@settings(max_examples=150)
def test_lookup_ends_in_a_value_or_a_coded_error(
    files: dict[str, str], key: str, merge: str | None, explains: bool, is_strict: bool
) -> None:
    look_up_outcome(files, key, merge, explains, is_strict)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@given(environments(), keys, st.sampled_from(MERGES), st.booleans(), st.booleans())
@settings(max_examples=20_000)
def test_many_lookups_end_in_a_value_or_a_coded_error(
    files: dict[str, str], key: str, merge: str | None, explains: bool, is_strict: bool
) -> None:
    look_up_outcome(files, key, merge, explains, is_strict)


@given(environments(), keys)
@settings(max_examples=50)
def test_second_lookup_has_the_same_outcome(files: dict[str, str], key: str) -> None:
    """The second lookup runs in a warm process and with an explanation."""
    assert look_up_outcome(files, key, None, False, False) == look_up_outcome(files, key, None, True, False)

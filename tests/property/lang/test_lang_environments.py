"""Compiling any environment ends, in a catalog or in an error with a code: no traceback, no hang.

The environments are those of the differential tests without third-party modules; one of their files is changed: a manifest, a
template, data, or hiera.yaml. Templates are also changed alone, including those of installed modules.
"""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.differential import features, module_declarations
from lab.differential.fact_sets import fact_sets
from lab.differential.hierarchies import hierarchy, spread
from precast.base.errors import PrecastError
from precast.base.spans import Source
from precast.lang.compile import CompileFailure, compile_catalog, evaluate
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings
from tests.property.lang.mutations import mutated
from tests.spec.lang.rows import HERE, read_rows

MANIFEST_PIECES = (
    "{",
    "}",
    "|",
    "$x",
    "=>",
    "->",
    "'",
    '"',
    "${",
    "undef",
    "[",
    "]",
    ".each",
    "lookup('classes')",
    "1",
    ",",
    "include ",
)
DATA_PIECES = (
    "%{", "}", "%{lookup('classes')}", "%{alias('classes')}", "%{facts.os.name}", "%{literal('%')}", "%{scope('x')}",
    ": ", "- ", "\n", "{", "[",
    "&a ", "*a", "!!binary x", "!ruby/sym x", "---\n", "|\n", "'", '"', "lookup_options:\n  classes: {merge: ", "deep",
    "~", "0x1", "1e999", "\t", "é",
    "<<: *a\n", "? ", "knockout_prefix: ''", "%{lookup('profile::motd::greeting')}",
)  # fmt: skip
HIERA_PIECES = (
    "%{", "}", "%{facts}", "path: ", "paths: ", "globs: ['**']", "mapped_paths: [facts, x, '%{x}']", "data_hash: x::y",
    "lookup_key: eyaml_lookup_key",
    "data_dig: z", "datadir: ../..", "version: 3", "hierarchy: ", "defaults: ", "default_hierarchy: []",
    "uri: http://x", "- ", ": ", "{", "[", "\n", "name: a",
)  # fmt: skip
ERB_PIECES = (
    "<%", "%>", "<%=", "-%>", "<%-", "<%#", "end", " do |x| ", "{ |a, b| ", "}", "@x", "scope['a']", "scope.to_hash",
    "scope.setvar('a', {})", ".each", ".map(&:to_s)",
    "[0]", "(", ")", "'", '"', "#{", "/", "=~ /a/", " if ", " unless ", "nil", "while true", "case ", "when ",
    ".to_json", ".to_yaml", "*", "<<", "%w[a b]", "->", "?", ":",
    "begin", "rescue", "* 99999999", "IPAddr.new('x')", "@settings", ".include?x", "sprintf('%d', ", "Array(",
    ".sort_by", ".inject(:+)", "loop", "__FILE__", "`ls`",
)  # fmt: skip


def base() -> dict[str, str]:
    """An environment with all generated features."""
    chance = random.Random("fuzz")
    features_by_name = {name: maker(chance) for name, maker in features.MAKERS.items()}
    files = {"modules/stdlib/lib/puppet/functions/ensure_packages.rb": ""}
    values = {key: value for feature in features_by_name.values() for key, value in feature.data.items()}
    options = {key: value for feature in features_by_name.values() for key, value in feature.options.items()}
    for name, feature in features_by_name.items():
        files[f"modules/profile/manifests/{name}.pp"] = feature.code
        files |= {f"modules/profile/{path}": text for path, text in feature.files.items()}
    values["classes"] = [f"profile::{name}" for name in features_by_name]
    top = "".join(feature.top for feature in features_by_name.values())
    files["manifests/site.pp"] = f"{top}include(lookup('classes', Array[String], 'unique'))\n"
    files["hiera.yaml"] = hierarchy(chance, with_json=True)
    return files | spread(chance, values, MACHINES, options)


MACHINES = fact_sets(random.Random("fuzz"))
FILES = base()
CHANGED = [path for path in FILES if not path.endswith(".rb")]
TEMPLATES = [
    row["files"][path]
    for row in read_rows(HERE / "erb.jsonl")
    for path in row.get("files", ())
    if path.endswith(".erb")
]
TEMPLATES += [
    path.read_text(encoding="utf-8")
    for path in sorted(module_declarations.MODULES.glob("*/templates/**/*.erb"))[:400:5]
]
TEMPLATES += [text for path, text in FILES.items() if path.endswith(".erb")]


def _pieces(path: str) -> tuple[str, ...]:
    if path.endswith("hiera.yaml"):
        return HIERA_PIECES
    if path.endswith((".yaml", ".json")):
        return DATA_PIECES
    return ERB_PIECES if path.endswith((".erb", ".epp")) else MANIFEST_PIECES


@st.composite
def changed_files(draw: st.DrawFn) -> dict[str, str]:
    path = draw(st.sampled_from(CHANGED))
    return FILES | {path: draw(mutated([FILES[path]], _pieces(path)))}


def answers(files: dict[str, str], number: int = 0) -> NodeAnswers:
    machine = MACHINES[number]
    return NodeAnswers(NodeData.local(machine.certname, machine.facts), FileStore(TextTree(files)))


def assert_ours(error: PrecastError) -> None:
    """The error must have a code of the language and render without failing."""
    assert error.code.startswith(("LANG-", "HIERA-", "TYPE-"))
    assert error.render()


def compile_environment(files: dict[str, str], number: int) -> None:
    """Compile an environment; any failure must be an error with a code and a message."""
    try:
        result = compile_catalog(Inputs(answers(files, number)), Settings())
    except CompileFailure as failure:
        assert_ours(failure.error)
    else:
        assert json.dumps([resource.parameters for resource in result.body.resources], default=str)


def render_template(text: str) -> None:
    settings_code = "$settings = { 'a' => [1, 'x', undef], 'b' => { 'c' => true } } $x = 'text' "
    source = Source("", f"{settings_code} template('m/t.erb')")
    files = {"modules/m/templates/t.erb": text}
    try:
        evaluate(source, Inputs(answers(files)), Settings())
    except CompileFailure as failure:
        assert_ours(failure.error)


def test_the_environment_compiles_before_it_is_changed() -> None:
    for number in range(len(MACHINES)):
        assert len(compile_catalog(Inputs(answers(FILES, number)), Settings()).body.resources) > 30


@given(changed_files(), st.integers(0, len(MACHINES) - 1))
@settings(max_examples=300)
def test_any_environment_ends_in_a_catalog_or_in_a_coded_error(files: dict[str, str], number: int) -> None:
    compile_environment(files, number)


@given(mutated(TEMPLATES, ERB_PIECES))
@settings(max_examples=400)
def test_any_template_ends_in_a_text_or_in_a_coded_error(text: str) -> None:
    render_template(text)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
@given(changed_files(), st.integers(0, len(MACHINES) - 1))
@settings(max_examples=20_000)
def test_many_environments_end_in_a_catalog_or_in_a_coded_error(files: dict[str, str], number: int) -> None:
    compile_environment(files, number)


@pytest.mark.soak
@pytest.mark.timeout(1_800)
@given(mutated(TEMPLATES, ERB_PIECES))
@settings(max_examples=50_000)
def test_many_templates_end_in_a_text_or_in_a_coded_error(text: str) -> None:
    render_template(text)

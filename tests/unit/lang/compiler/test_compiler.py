"""Errors that users can act on, and behaviour that the specification rows cannot show."""

import pytest

from precast.base.spans import Source
from precast.lang.compile import CompileFailure, compile_catalog
from precast.lang.compiler import loader
from precast.lang.compiler.definitions import node_title
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings
from tests.unit.lang.small_manifests import compiled, evaluated, failure, inputs, parameters


@pytest.mark.parametrize(
    ("code", "number", "words"),
    [
        ("notify { 'a': }\nnotify { 'a': }", "LANG-669", ["Notify[a]", "site.pp:1"]),
        ("include webb\nclass web { }", "LANG-720", ["::webb", "did you mean web?"]),
        ("class c($port) { }\nclass { 'c': prt => 1 }", "LANG-728", ["'prt'", "did you mean port?"]),
        ("class c($port) { }\ninclude c", "LANG-726", ["Class[C]", "'port'"]),
        ("class c(Integer $port) { }\nclass { 'c': port => 'x' }", "LANG-727", ["'port'", "Integer", "String"]),
        ("file { '/x': contents => 'x' }", "LANG-682", ["'contents'", "did you mean content?"]),
        ("filee { '/x': }", "LANG-660", ["'filee'", "did you mean file?"]),
        ("notify { 'a': before => Notify['b'] }", "LANG-691", ["Notify[b]", "before", "Notify[a]"]),
        ("Notify['a'] -> Notify['b']", "LANG-689", ["Notify[a]"]),
        ("$x = uppcase('a')", "LANG-629", ["uppcase", "did you mean upcase?"]),
        ("notify { 'a': message => 'x' }\nNotify['a'] { message => 'y' }", "LANG-675", ["'message'", "site.pp:1"]),
        (
            "class a { notify { 'n': } }\nclass b { Notify['n'] { message => 1 } }\ninclude a, b",
            "LANG-674",
            ["Notify[n]"],
        ),
        ("class a inherits nope { }\ninclude a", "LANG-721", ["nope"]),
        ("node 'x' { }", "LANG-724", ["web1.example.com"]),
        ("class a { }\nclass a { }", "LANG-722", ["'a'", "site.pp:1"]),
        ("function f($n) { f($n + 1) }\nf(1)", "LANG-631", ["f"]),
        ("define d { d { \"${title}x\": } }\nd { 'a': }", "LANG-693", ["1000"]),
        ("realize(Notify['nope'])", "LANG-692", ["Notify[nope]"]),
        ("Notify['z'] { message => 1 }", "LANG-677", ["Notify[z]"]),
    ],
)
def test_error_has_code_words_place_and_hint(code: str, number: str, words: list[str]) -> None:
    error = failure(code).error
    assert error.code == number, error.message
    assert [word for word in words if word not in error.message] == []
    assert error.hint
    if number not in ("LANG-724", "LANG-693"):
        assert error.span is not None


def test_error_in_a_template_names_the_template_file() -> None:
    files = {"modules/m/templates/t.epp": "line one\n<%= 1 + 'x' %>\n"}
    error = failure("notify { 'x': message => epp('m/t.epp') }", files).error
    assert error.source is not None
    assert error.span is not None
    assert error.source.path.endswith("modules/m/templates/t.epp")
    assert error.source.position(error.span.start).line == 2


def test_error_in_interpolation_has_its_column() -> None:
    error = failure("$a = \"x ${1 + 'y'}\"").error
    assert error.source is not None
    assert error.span is not None
    assert error.source.position(error.span.start) == (1, 11)


def test_file_that_is_not_utf8_is_an_error_with_its_name() -> None:
    class Tree(TextTree):
        def read(self, path: str) -> bytes | None:
            return b"class m { }  # \xff" if path == "modules/m/manifests/init.pp" else super().read(path)

    node = NodeData.local("n", {})
    answers = NodeAnswers(node, FileStore(Tree({"modules/m/manifests/init.pp": ""})))
    with pytest.raises(CompileFailure) as raised:
        compile_catalog(Inputs(answers), Settings(), Source("site.pp", "include m"))
    assert raised.value.error.message == "modules/m/manifests/init.pp is not UTF-8: see byte 15"


def test_environment_without_manifests_logs_a_warning() -> None:
    result = compile_catalog(inputs({"modules/m/manifests/init.pp": "class m { }"}), Settings())
    assert "has no code" in str(result.logs[0].message)


def test_failure_keeps_the_log_lines_before_it() -> None:
    failed = failure("notice('here')\nfail('there')")
    assert [(line.level, line.message) for line in failed.logs] == [("notice", "here")]


def test_unknown_variable_is_an_error_when_strict() -> None:
    assert compiled('notify { "x${nope}": }').logs[0].message == "Unknown variable: 'nope'."
    error = failure('notify { "x${nope}": }', settings=Settings.puppet8()).error
    assert error.code == "LANG-600"


def test_modules_of_environment_conf_are_found() -> None:
    files = {
        "environment.conf": "modulepath = site:modules # two\n",
        "site/s/manifests/init.pp": "class s { notify { 's': } }",
    }
    assert parameters(compiled("include s", files), "Notify[s]") == {}


def test_environment_function_is_found() -> None:
    files = {"functions/twice.pp": "function environment::twice($n) { $n * 2 }"}
    assert evaluated("environment::twice(4)", files).value == 8


def test_sensitive_parameter_is_marked() -> None:
    result = compiled("user { 'u': password => Sensitive('p') }")
    resource = next(resource for resource in result.body.resources if resource.ref == "User[u]")
    assert resource.sensitive_parameters == ("password",)


def test_types_and_functions_load_from_module_directories_outside() -> None:
    files = {
        "/shared/m/types/port.pp": "type M::Port = Integer[1, 65535]",
        "/shared/m/functions/twice.pp": "function m::twice(M::Port $n) { $n * 2 }",
    }
    settings = Settings(module_path=("modules", "/shared"))
    assert evaluated("[m::twice(40), 0 =~ M::Port]", files, settings=settings).value == (80, False)


@pytest.mark.parametrize(
    "code", ["define d { break() }\nd { 'x': }", "node default { next() }", "node default { return() }"]
)
def test_jump_outside_of_any_body_is_an_error(code: str) -> None:
    assert "from context where this is illegal" in failure(code).error.message


def test_a_parameter_that_does_not_exist_is_an_error_also_when_undef() -> None:
    assert "no parameter named 'foo'" in failure("notify { 'a': foo => undef }").error.message


def test_enum_type_as_a_value_is_stored_with_its_values_and_case() -> None:
    result = compiled("notify { 'a': message => Enum['y', 'x'] }\nnotify { 'b': message => Enum['x', true] }")
    assert parameters(result, "Notify[a]")["message"] == {"__ptype": "Pcore::EnumType", "values": ["x", "y"]}
    assert parameters(result, "Notify[b]")["message"] == {
        "__ptype": "Pcore::EnumType",
        "values": ["x"],
        "case_insensitive": True,
    }


def test_node_blocks_cost_time_in_proportion_to_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block is looked at a fixed number of times: 575 blocks of a real site cost as much as 575 single ones."""
    counts = []
    for number in (100, 400):
        calls = 0

        def counting(matcher: str) -> str:
            nonlocal calls
            calls += 1
            return node_title(matcher)

        monkeypatch.setattr(loader, "node_title", counting)
        blocks = "".join(f"node /^web{at:04d}\\./ {{ }} node 'db{at}.example.com' {{ }}\n" for at in range(number))
        result = compiled(f"{blocks} node default {{ notify {{ 'x': }} }}")
        assert "Notify[x]" in [resource.ref for resource in result.body.resources]
        counts.append(calls)
    assert counts == [201, 801]

"""Functions that modules bring as Ruby: when they exist, what they read, and those that no spec row covers."""

import base64
from typing import Any

import pytest

from precast.lang.functions.modules import library
from precast.lang.functions.modules.passwords import scram
from precast.lang.settings import Settings
from precast.lang.values.base import Sensitive, from_data
from tests.unit.lang.small_manifests import asked, compiled, evaluated, failure, parameters


def bring(*names: str) -> dict[str, str]:
    """Return the files of an environment whose modules bring functions of these names."""
    files = {}
    for name in names:
        module, _, rest = name.partition("::")
        path = f"{module}/lib/puppet/functions/{module}/{rest}" if rest else f"any/lib/puppet/functions/{name}"
        files[f"modules/{path}.rb"] = "# Ruby"
    return files


def value(code: str, *names: str, **others: Any) -> Any:
    return evaluated(code, bring(*names), **others).value


def test_function_exists_only_with_a_module_that_brings_it() -> None:
    assert failure("notice(pick('a'))").error.code == "LANG-629"
    assert value("pick('', 'a')", "pick") == "a"
    legacy = {"modules/any/lib/puppet/parser/functions/pick.rb": ""}
    assert evaluated("pick('', 'a')", legacy).value == "a"


def test_error_of_an_unimplemented_function_names_module_and_file() -> None:
    error = failure("frobnicate()", {"modules/m/lib/puppet/functions/frobnicate.rb": ""}).error
    assert error.code == "LANG-471"
    assert "'frobnicate' of module m" in error.message
    assert "modules/m/lib/puppet/functions/frobnicate.rb" in error.message


def test_qualified_function_comes_from_its_own_module_alone() -> None:
    elsewhere = {"modules/other/lib/puppet/functions/stdlib/crc32.rb": "", "modules/stdlib/manifests/init.pp": ""}
    assert failure("stdlib::crc32('a')", elsewhere).error.code == "LANG-629"


def test_search_for_a_function_file_is_traced_with_its_misses() -> None:
    questions = [read for read in asked(compiled("notice(pick('a'))", bring("pick"))) if read["ask"] == "module_file"]
    assert [read["path"] for read in questions] == ["lib/puppet/functions/pick.rb"]
    legacy = {"modules/any/lib/puppet/parser/functions/pick.rb": ""}
    questions = [read for read in asked(compiled("notice(pick('a'))", legacy)) if read["ask"] == "module_file"]
    assert [read["path"] for read in questions] == [
        "lib/puppet/functions/pick.rb",
        "lib/puppet/parser/functions/pick.rb",
    ]


def test_pick_and_merge_keep_the_name_of_a_node_unknown() -> None:
    files = bring("pick", "merge")
    code = (
        "notify { 'x': message => pick(undef, $facts['fqdn']), withpath => merge({}, {a => $facts['fqdn']}) =~ Hash }"
    )
    kinds = {read["ask"] for read in asked(compiled(code, files)) if read.get("path") == ["fqdn"]}
    assert kinds == {"fact_kind"}


def test_resource_declared_with_an_unknown_value_is_not_declared_again() -> None:
    code = "notify { 'x': message => $facts['fqdn'] } ensure_resource('notify', 'x', { message => $facts['fqdn'] })"
    result = compiled(code, bring("ensure_resource"))
    assert "message" in parameters(result, "Notify[x]")


def test_deprecation_warns_once_and_is_an_error_where_strict() -> None:
    files = bring("is_string")
    logs = evaluated("[1, 2].each |$n| { is_string($n) }", files).logs
    assert [line.level for line in logs] == ["warning"]
    assert failure("is_string('a')", files, settings=Settings.puppet8()).error.code == "LANG-470"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("validate_cmd('a', '/bin/true')", "validate_cmd"),
        ("redisget('a', 'redis://b')", "redisget"),
        ("loadyaml('https://example.com/a.yaml')", "loadyaml"),
    ],
)
def test_function_that_reaches_outside_is_refused(code: str, name: str) -> None:
    assert failure(code, bring(name)).error.code == "LANG-446"


def test_files_outside_of_the_environment_are_refused() -> None:
    assert failure("loadyaml('/etc/passwd')", bring("loadyaml")).error.code == "LANG-440"
    assert failure("glob('/etc/*')", bring("glob")).error.code == "LANG-440"


def test_random_functions_give_the_same_result_in_every_compile() -> None:
    shuffled = value("shuffle([1, 2, 3, 4, 5, 6, 7, 8])", "shuffle")
    assert sorted(shuffled) == list(range(1, 9))
    assert shuffled != tuple(range(1, 9))
    assert value("shuffle([1, 2, 3, 4, 5, 6, 7, 8])", "shuffle") == shuffled
    assert value("str2saltedsha512('x')", "str2saltedsha512") == value("str2saltedsha512('x')", "str2saltedsha512")


def test_time_is_that_of_the_deployment() -> None:
    assert value("time()", "time") == 0


def test_rotation_by_the_name_of_a_node_asks_only_for_its_result() -> None:
    questions = asked(compiled("notice(fqdn_rotate(['a', 'b', 'c']))", bring("fqdn_rotate")))
    assert [read["function"] for read in questions if read["ask"] == "keyed"] == ["fqdn_rotate"]
    assert [read for read in questions if read["ask"] == "fact"] == []


NAMESPACED: list[tuple[str, Any]] = [
    ("stdlib::crc32('123456789')", "cbf43926"),
    ("stdlib::sha256('abc')", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ("stdlib::has_function('stdlib::has_function')", True),
    ("stdlib::has_function('nope')", False),
    ("stdlib::nested_values({a => 1, b => {c => [2, 3], d => {e => 4}}})", (1, 2, 3, 4)),
    ("stdlib::sort_by(['ccc', 'a', 'bb']) |$x| { $x.length }", ("a", "bb", "ccc")),
    ("stdlib::sort_by({a => 2, b => 1}) |$k, $v| { $v }", {"b": 1, "a": 2}),
    ("stdlib::to_json({a => [1]})", '{"a":[1]}'),
    ("stdlib::merge({a => 1}, {b => 2})", {"a": 1, "b": 2}),
    ("extlib::netmask_to_cidr('255.255.240.0')", 20),
    ("extlib::cidr_to_netmask('10.0.0.0/20')", "255.255.240.0"),
    ("extlib::cidr_to_network('10.1.2.3/20')", "10.1.0.0"),
    ("extlib::path_join('/a/', 'b', ['c', '/d'])", "/a/b/c/d"),
    ("extlib::sort_by_version(['1.10', '1.9', '1.2'])", ("1.2", "1.9", "1.10")),
    ("extlib::default_content('x', undef)", "x"),
    ("extlib::default_content(undef, undef)", None),
    ("systemd::systemd_escape('foo-bar')", "foo\\x2dbar"),
    ("systemd::systemd_escape('/a b/.c/', true)", "a\\x20b-.c"),
    ("systemd::systemd_escape('/', true)", "-"),
    ("systemd::systemd_escape('.x')", "\\x2ex"),
    ("mysql::normalise_and_deepmerge({'a_b' => {c => 1}}, {'a-b' => {d => 2}})", {"a-b": {"c": 1, "d": 2}}),
    ("mysql_deepmerge({a => 1}, undef, {b => 2})", {"a": 1, "b": 2}),
    ("postgresql::prepend_sql_password('md5x')", "ENCRYPTED PASSWORD 'md5x'"),
    ("mysql::password('password', true)", Sensitive("*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19")),
]


@pytest.mark.parametrize(("code", "expected"), NAMESPACED, ids=[code for code, _ in NAMESPACED])
def test_namespaced_function(code: str, expected: Any) -> None:
    assert value(code, code.partition("(")[0]) == from_data(expected)


def test_scram_is_that_of_the_standard() -> None:
    """The example of RFC 7677."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    assert scram("pencil", salt) == (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY="
        ":wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )
    hashed = value(
        "postgresql::postgresql_password('u', Sensitive('p'), false, 'scram-sha-256')",
        "postgresql::postgresql_password",
    )
    assert hashed == Sensitive(scram("p", b"u"))


def test_every_namespaced_function_is_tested() -> None:
    tried = {code.partition("(")[0] for code, _ in NAMESPACED}
    assert set(library.FILES["namespaced"].split()) <= tried

"""Functions that modules write in Ruby, executed by the Ruby subset: dispatch, scope, errors, limits, and which implementation runs."""

from typing import Any

import pytest

from precast.base import digests
from precast.base.spans import Source
from precast.lang.compile import compile_catalog
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.functions.modules import library
from precast.lang.functions.modules.pins import PINS
from precast.lang.functions.ruby.checking import check_function
from precast.lang.functions.ruby.selection import RubyFile
from precast.lang.inputs import Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings
from precast.lang.values.base import Hash, Sensitive
from tests.unit.lang.small_manifests import asked, evaluated, failure

MODERN = "modules/m/lib/puppet/functions/m/f.rb"
LEGACY = "modules/m/lib/puppet/parser/functions/g.rb"


def modern(body: str, base: str = "") -> dict[str, str]:
    return {MODERN: f"Puppet::Functions.create_function(:'m::f'{base}) do\n{body}\nend\n"}


def legacy(body: str, options: str = ", :type => :rvalue") -> dict[str, str]:
    return {LEGACY: f"module Puppet::Parser::Functions\n  newfunction(:g{options}) do |args|\n{body}\n  end\nend\n"}


def value(code: str, files: dict[str, str], **others: Any) -> Any:
    return evaluated(code, files, **others).value


ADD = modern(
    """
  dispatch :number do
    param 'Integer', :a
    optional_param 'Integer', :b
  end
  dispatch :words do
    repeated_param 'String', :words
  end
  def number(a, b = 10)
    a + b
  end
  def words(*words)
    words.join('-')
  end"""
)


def test_dispatch_selects_by_count_and_type() -> None:
    assert value("m::f(1)", ADD) == 11
    assert value("m::f(1, 2)", ADD) == 3
    assert value("m::f('a', 'b', 'c')", ADD) == "a-b-c"
    assert value("m::f()", ADD) == ""
    assert failure("m::f(1, 'b')", ADD).error.code == "LANG-401"


def test_function_without_dispatch_takes_what_its_method_takes() -> None:
    files = modern("  def f(a, b = 2)\n    [a, b]\n  end")
    assert value("m::f(1)", files) == (1, 2)
    assert failure("m::f()", files).error.code == "LANG-400"


def test_block_is_a_lambda_of_the_manifest() -> None:
    files = modern(
        "  dispatch :each_twice do\n    param 'Array', :items\n    block_param 'Callable[1, 1]', :block\n  end\n"
        "  def each_twice(items)\n    items.map { |item| yield(item) * 2 }\n  end"
    )
    assert value("m::f([1, 2]) |$x| { $x + 1 }", files) == (4, 6)
    assert failure("m::f([1])", files).error.code == "LANG-400"


def test_local_types_and_aliases_of_modules_are_types_of_parameters() -> None:
    files = modern(
        "  local_types do\n    type 'Small = Integer[0, 9]'\n  end\n"
        "  dispatch :small do\n    param 'Array[Small]', :xs\n  end\n"
        "  dispatch :port do\n    param 'M::Port', :x\n  end\n"
        "  def small(xs)\n    xs.sum\n  end\n  def port(x)\n    'port'\n  end"
    ) | {"modules/m/types/port.pp": "type M::Port = Integer[100, 200]"}
    assert value("m::f([1, 2])", files) == 3
    assert value("m::f(150)", files) == "port"
    assert failure("m::f(50)", files).error.code == "LANG-401"


def test_result_of_another_type_than_declared_is_an_error() -> None:
    files = modern("  dispatch :f do\n    return_type 'Integer'\n  end\n  def f\n    'x'\n  end")
    assert failure("m::f()", files).error.code == "LANG-627"


def test_internal_function_gets_the_scope_of_the_call() -> None:
    body = "  dispatch :f do\n    scope_param\n    param 'String', :name\n  end\n  def f(scope, name)\n    scope[name]\n  end"
    code = "function m::caller() { $inner = 'seen' m::f('inner') } m::caller()"
    assert value(code, modern(body, ", Puppet::Functions::InternalFunction")) == "seen"


def test_closure_scope_is_the_top_scope() -> None:
    files = modern("  def f\n    [closure_scope['a'], closure_scope['nothing']]\n  end")
    assert value("$a = 1 m::f()", files) == (1, None)


def test_functions_call_each_other_and_built_in_ones() -> None:
    files = modern("  def f(x)\n    call_function('g', call_function('join', x, '+'))\n  end") | legacy(
        "args[0].upcase"
    )
    assert value("m::f(['a', 'b'])", files) == "A+B"


def test_legacy_function_sees_the_calling_scope_and_returns() -> None:
    files = legacy("    return 'early' if args.empty?\n    [lookupvar('x'), args[0], self['x']]")
    assert value("$x = 5 g(undef)", files) == (5, "", 5)
    assert value("g()", files) == "early"


def test_statement_function_returns_nothing_and_checks_its_arity() -> None:
    files = legacy("args[0]", ", :arity => 1")
    assert value("g(1)", files) is None
    assert failure("g(1, 2)", files).error.code == "LANG-470"


def test_code_of_the_same_file_is_shared() -> None:
    files = {
        MODERN: """
require 'set'
module Tools
  PREFIX = 'p-'
  Pair = Struct.new(:left, :right)
  class Failure < StandardError
    def initialize(what)
      super("no #{what}")
    end
  end
  def self.check(text)
    raise Failure, text unless text.start_with?('a')
    Pair.new(text, PREFIX + text)
  end
end
Puppet::Functions.create_function(:'m::f') do
  def f(text)
    pair = Tools.check(text)
    <<~TEXT
      left=#{pair.left}
      right=#{pair.right}
    TEXT
  rescue Tools::Failure => e
    "rescued #{e.message}"
  ensure
    @done = true
  end
end
"""
    }
    assert value("m::f('ab')", files) == "left=ab\nright=p-ab\n"
    assert value("m::f('b')", files) == "rescued no b"


def test_secret_is_unwrapped_only_by_the_code() -> None:
    files = modern(
        "  def f(secret)\n    Puppet::Pops::Types::PSensitiveType::Sensitive.new(secret.unwrap.reverse)\n  end"
    )
    assert value("m::f(Sensitive('abc'))", files) == Sensitive("cba")
    assert value("m::f(Sensitive('abc')).unwrap", files) == "cba"


def test_error_is_placed_at_the_call_and_names_the_place_in_the_file() -> None:
    files = modern('  def f(x)\n    raise ArgumentError, "#{x} is bad"\n  end')
    error = failure("\n  m::f('y')", files).error
    assert (error.message, error.code) == ("y is bad", "LANG-905")
    assert f"{MODERN}:3" in error.hint
    assert error.source is not None
    assert error.span is not None
    assert error.source.position(error.span.start).line == 2


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("loop { }", "LANG-906"),
        ("f", "LANG-907"),
        ("x = 'a'; 60.times { x += x }", "LANG-908"),
        ("x = [1]; 60.times { x += x }", "LANG-908"),
        ("(1..10**12).to_a", "LANG-908"),
        ("begin; loop { }; rescue StandardError; 'caught'; end", "LANG-906"),
        ("begin; system('id'); rescue StandardError; 'caught'; end", "LANG-901"),
        ("File.read('/etc/passwd')", "LANG-440"),
        ("rand(5)", "LANG-901"),
        ("Object.new", "LANG-901"),
    ],
)
def test_code_beyond_the_limits_is_stopped_and_never_rescued(body: str, code: str) -> None:
    assert failure("m::f()", modern(f"  def f\n    {body}\n  end")).error.code == code


def test_file_of_the_environment_is_a_traced_read() -> None:
    files = modern(
        "  def f\n    path = call_function('find_file', 'm/x.txt')\n    File.exist?(path) ? File.read(path) : 'none'\n  end"
    )
    files |= {"modules/m/files/x.txt": "content"}
    answers = NodeAnswers(NodeData.local("web1", {}), FileStore(TextTree(files)), {"environment_path": "/env"})
    result = compile_catalog(Inputs(answers), Settings(), Source("site.pp", "notify { m::f(): }"))
    assert "Notify[content]" in [resource.ref for resource in result.body.resources]
    assert {"ask": "file", "path": "modules/m/files/x.txt"} in asked(result)
    assert {"ask": "file", "path": MODERN} in asked(result)


def test_node_name_is_concrete_in_ruby() -> None:
    files = modern("  def f(name)\n    name.split('.')[0]\n  end")
    assert (
        value("m::f($facts['networking']['fqdn'])", files, facts={"networking": {"fqdn": "web.example.org"}}) == "web"
    )


def test_state_does_not_outlive_a_compile() -> None:
    files = modern("  def f\n    @count = (@count || 0) + 1\n  end")
    for _ in range(2):
        assert value("m::f() m::f()", files) == 2


def test_arrays_and_hashes_of_the_manifest_do_not_change() -> None:
    files = modern("  def f(h)\n    h['new'] = 1\n    h\n  end")
    assert value("$h = {'a' => 1} $x = m::f($h) [$h, $x]", files) == (
        Hash.of([("a", 1)]),
        Hash.of([("a", 1), ("new", 1)]),
    )


# Which implementation runs


def test_ours_runs_for_the_versions_that_it_stands_for_only() -> None:
    name = "postgresql::postgresql_password"
    other = f"Puppet::Functions.create_function(:'{name}') do\n  def postgresql_password(*a)\n    'other'\n  end\nend"
    path = "modules/postgresql/lib/puppet/functions/postgresql/postgresql_password.rb"
    assert value("postgresql::postgresql_password('u', 'p')", {path: other}) == "other"
    assert str(value("postgresql::postgresql_password('u', 'p')", {path: "# no code"})).startswith("md5")


def test_ours_stands_in_with_a_warning_for_a_version_that_cannot_run() -> None:
    path = "modules/stdlib/lib/puppet/functions/stdlib/crc32.rb"
    result = evaluated("stdlib::crc32('abc')", {path: "Puppet::Functions.create_function(:'stdlib::crc32') { `id` }"})
    assert result.value == "352441c2"
    assert [line.level for line in result.logs] == ["warning"]
    assert "another version" in str(result.logs[0].message)


def test_each_pin_names_a_function_of_ours() -> None:
    assert PINS.keys() <= {name for name, _ in library.functions()}


def test_function_that_cannot_run_names_the_line_and_the_reason() -> None:
    text = "Puppet::Functions.create_function(:'m::f') do\n  def f\n    Redis.new.get('x')\n  end\nend"
    status = check_function(RubyFile("m::f", MODERN, digests.of_bytes(text.encode()), text))
    assert status.how == "no"
    assert [(finding.line, finding.reason) for finding in status.findings] == [
        (3, "the method get"),
        (3, "the constant Redis"),
    ]
    assert failure("m::f()", {MODERN: text}).error.code == "LANG-901"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Puppet::Functions.create_function(:'m::f') do\n  `id`\nend", "command"),
        ("Puppet::Functions.create_function(:'m::other') do\n  def other\n  end\nend", "does not define it"),
        (
            "Puppet::Functions.create_function(:'m::f') do\n  def f\n    Open3.capture2('id')\n  end\nend",
            "Open3.capture2",
        ),
        ("x = (", "Cannot parse"),
    ],
)
def test_check_gives_the_first_reason(text: str, reason: str) -> None:
    status = check_function(RubyFile("m::f", MODERN, digests.of_bytes(text.encode()), text))
    assert status.how == "no"
    assert reason in status.findings[0].reason


def test_file_of_a_module_that_the_code_requires_is_loaded_and_traced() -> None:
    files = modern("  def f(x)\n    PuppetX::M::Tools.twice(x) + Extra::ONE\n  end")
    files[MODERN] = "require 'puppet_x/m/tools'\nrequire_relative '../../../extra'\nrequire 'json'\n" + files[MODERN]
    files["modules/m/lib/puppet_x/m/tools.rb"] = (
        "module PuppetX; end\nmodule PuppetX::M\n  class Tools\n    def self.twice(x)\n      x * 2\n    end\n  end\nend\n"
    )
    files["modules/m/lib/extra.rb"] = "module Extra\n  ONE = 1\nend\n"
    assert value("m::f(4)", files) == 9
    del files["modules/m/lib/extra.rb"]
    assert failure("m::f(4)", files).error.code == "LANG-471"


def test_scram_hash_of_newer_modules_is_as_ruby_computes_it() -> None:
    files = modern(
        """
  def f(password, salt)
    key = OpenSSL::KDF.pbkdf2_hmac(password, salt: salt, iterations: 4096, length: 32, hash: OpenSSL::Digest.new('SHA256'))
    parts = ['Client Key', 'Server Key'].map do |text|
      hmac = OpenSSL::HMAC.new(key, OpenSSL::Digest.new('SHA256'))
      hmac << text
      hmac.digest
    end
    client = OpenSSL::Digest.new('SHA256').digest parts[0]
    'SCRAM-SHA-256$4096:%<salt>s$%<client>s:%<server>s' % {
      salt: Base64.strict_encode64(salt), client: Base64.strict_encode64(client), server: Base64.strict_encode64(parts[1]),
    }
  end"""
    )
    assert value("m::f('p', 'salt')", files) == (
        "SCRAM-SHA-256$4096:c2FsdA==$KWwHs1ysS4TG8aVMBScx1VhLJ3KSCqfSRgDNt4mY41Q=:npDy99qnByIELLIqisIld8O1Q3Le3jX0Fdls6+FA3TE="
    )

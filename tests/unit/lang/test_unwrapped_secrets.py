"""Secrets that code takes out of their Sensitive: what contains one is secret, names that contain one are refused."""

import pytest

from precast.base.spans import Source
from precast.lang.compile import CompileResult, compile_catalog
from precast.lang.settings import Settings
from tests.unit.lang.small_manifests import compiled, failure, inputs

SECRET = "hunter22-secret"
BEGIN = f"$secret = Sensitive('{SECRET}')\n$plain = $secret.unwrap\n"
FILES = {
    "modules/m/templates/plain.erb": "password = <%= @secret.unwrap %>\n",
    "modules/m/templates/called.erb": "password = <%= scope.call_function('unwrap', [@secret]) %>\n",
    "modules/m/templates/pin.erb": "the number is <%= @pin.unwrap %>, really\n",
    "modules/m/templates/pin.epp": "the number is <%= $pin.unwrap %>, really\n",
    "modules/m/templates/none.erb": "nothing of interest <%= @secret %>\n",
    "modules/m/manifests/plain.pp": "class m::plain($value) { notify { 'inside': message => $value } }",
    "modules/m/metadata.json": "{}",
    "hiera.yaml": "version: 5\nhierarchy:\n  - name: common\n    path: common.yaml\n",
    "data/common.yaml": "a: 1\n",
}


def secret_of(result: CompileResult, ref: str = "Notify[x]") -> tuple[str, ...]:
    return next(resource.sensitive_parameters for resource in result.body.resources if resource.ref == ref)


@pytest.mark.parametrize(
    "message",
    [
        "$plain",
        '"a ${plain} b"',
        "{ 'a' => ['b', \"c ${plain}\"] }",
        "[1, [{ $plain => 2 }]]",
        "upcase($plain)",
        "sha256($plain)",
        'md5("salt ${plain}")',
        "regsubst($plain, 'hunter', 'farmer')",
        '$secret.unwrap |$text| { "in a block ${text}" }',
        "template('m/plain.erb')",
        "template('m/called.erb')",
        "epp('m/pin.epp', { pin => Sensitive('4811') })",
        "inline_template('<%= @secret.unwrap.reverse %> and more')",
        "inline_epp('of <%= $secret.unwrap %>')",
        "\"before ${inline_template('<%= @secret.unwrap.length %> characters')} after\"",
    ],
)
def test_parameter_that_contains_an_unwrapped_secret_is_secret(message: str) -> None:
    result = compiled(f"{BEGIN}notify {{ 'x': message => {message} }}", FILES)
    assert secret_of(result) == ("message",)


def test_short_secret_in_a_template_makes_its_result_secret() -> None:
    code = "$pin = Sensitive('4811')\nnotify { 'x': message => \"so ${template('m/pin.erb')}\" }"
    assert secret_of(compiled(code, FILES)) == ("message",)


@pytest.mark.parametrize(
    "message",
    ["'plain'", '"it is ${secret}"', "template('m/none.erb')", "length($plain)", "sprintf('%s and more', $secret)"],
)
def test_other_parameters_stay_as_they_are(message: str) -> None:
    result = compiled(f"{BEGIN}notify {{ 'x': message => {message} }}", FILES)
    assert secret_of(result) == ()


def test_short_unwrapped_text_is_not_followed() -> None:
    result = compiled("$pin = Sensitive('4811').unwrap\nnotify { 'x': message => \"4811 ${pin}\" }")
    assert secret_of(result) == ()


def test_parameters_of_classes_and_defines_are_followed() -> None:
    code = "class { 'm::plain': value => $plain }\ndefine d($v) { notify { 'deep': message => $v } }\nd { 'd': v => $plain }"
    result = compiled(BEGIN + code, FILES)
    assert secret_of(result, "Class[M::Plain]") == ("value",)
    assert secret_of(result, "Notify[inside]") == ("message",)
    assert secret_of(result, "D[d]") == ("v",)
    assert secret_of(result, "Notify[deep]") == ("message",)


def test_base64_and_json_of_an_unwrapped_secret_are_found() -> None:
    code = f"""
        notify {{ 'x': message => 'aHVudGVyMjItc2VjcmV0' }}
        notify {{ 'y': message => '{SECRET.encode().hex()}' }}
    """
    result = compiled(BEGIN + code)
    assert (secret_of(result), secret_of(result, "Notify[y]")) == (("message",), ("message",))
    assert secret_of(compiled(code)) == ()


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ('notify { "x ${plain}": }', "a title of a resource of type Notify"),
        ("notify { 'x': tag => $plain }", "a tag of a resource of type Notify"),
        ("notify { 'x': message => fqdn_rand(10, $plain) }", "a question of the compile (keyed)"),
        ("include $plain", "a question of the compile (module)"),
        ("notify { 'x': message => lookup($plain) }", "a question of the compile (data_key)"),
        ('notify { "x ${md5($plain)}": }', "a title"),
    ],
)
def test_name_that_contains_an_unwrapped_secret_is_refused(code: str, what: str) -> None:
    error = failure(BEGIN + code, FILES).error
    assert (error.code, error.message.startswith(what)) == ("LANG-790", True)
    assert SECRET not in error.message + error.hint


def test_ordinary_word_as_a_password_may_be_part_of_names() -> None:
    code = "$word = Sensitive('postgres').unwrap\nnotify { 'postgres-server': message => \"is ${word}\", tag => 'postgres' }"
    assert secret_of(compiled(code), "Notify[postgres-server]") == ("message",)


def test_title_error_names_the_place() -> None:
    error = failure(f'{BEGIN}notify {{ "x ${{plain}}": }}').error
    assert error.render().startswith("site.pp:3:")


def test_title_may_equal_what_only_a_template_has_rendered() -> None:
    code = (
        "$x = inline_template('<% y = @secret.unwrap %>localhost')\nnotify { 'localhost': message => 'on localhost' }"
    )
    result = compiled(BEGIN + code)
    assert secret_of(result, "Notify[localhost]") == ("message",)


def test_secret_that_only_the_node_will_know_is_unwrapped_there() -> None:
    code = "$late = Sensitive(Deferred('sprintf', ['%s', 'x']))\nnotify { 'x': message => \"pw ${late.unwrap}\" }"
    (message,) = [r.parameters["message"] for r in compiled(code).body.resources if r.ref == "Notify[x]"]
    call = message["__pvalue"][1]
    assert (call["__ptype"], call["name"], call["arguments"][0]["__ptype"]) == ("Deferred", "unwrap", "Sensitive")


def test_compile_collects_nothing_of_another() -> None:
    """A worker compiles for one node after the other."""
    code = f"notify {{ 'x': message => '{SECRET}' }}"
    assert secret_of(compiled(BEGIN + code)) == ("message",)
    assert secret_of(compiled(code)) == ()


def test_scrubber_knows_every_sensitive_of_a_compile() -> None:
    known = inputs()
    code = f"{BEGIN}$number = Sensitive(48110000)\n$list = Sensitive(['one-secret', {{ 'k' => 'two-secret' }}])"
    compile_catalog(known, Settings(), Source("site.pp", code))
    scrubbed = known.secrets.scrubber().scrub(f"{SECRET} 48110000 one-secret two-secret other k")
    assert scrubbed == "[redacted] [redacted] [redacted] [redacted] other k"

"""An environment that has a secret in every place where the language lets one in.

The code itself contains none of them: each is written in two parts, which are joined when the code is compiled. A secret in clear text in
the code is in the database as the code is, and is not what the search is about.
"""

from collections.abc import Callable
from pathlib import Path

from lab.canaries import Canary

# By the name of the place. The texts are what the files on the node contain.
NAMES = (
    "direct",
    "hiera",
    "class parameter",
    "define parameter",
    "epp",
    "inline epp",
    "erb",
    "inline erb",
    "nested",
    "deferred",
    "deferred inside",
    "unwrapped",
    "in an array",
    "exec environment",
    "exec command",
    "exec output",
    "validate_cmd",
    "promise",
    "notify",
    "warning",
    "fail",
    "type mismatch",
    "number",
    "binary",
    "fact",
    "exported",
    "with a hole",
    "ini_setting",
    "file_line",
    "concat",
    "host",
    "eyaml",
    "vault",
    "server file",
    "classification",
)
# Written around each value, so that a file has more than the value alone.
BEFORE, AFTER = "password = ", "\n"


def make_canaries(generation: str) -> dict[str, Canary]:
    """A canary for each place. Another generation has other values: those of a later version of the code."""
    made = {}
    for number, name in enumerate(NAMES):
        value = f"cAnArY{generation}{number:02}xQz{''.join(reversed(name.replace(' ', '').replace('_', '')))}7Vw"
        if name == "number":
            value = f"98{int.from_bytes(generation.encode(), 'big')}74{number:02}61735"
        made[name] = Canary(name, value, (f"{BEFORE}{value}{AFTER}",))
    return made


def write_code(directory: Path, canaries: dict[str, Canary], target: Path, encrypt: Callable[[str], str]) -> None:
    """Write the environment; the files that it manages are below `target`. `encrypt` writes a value as hiera-eyaml does."""
    encrypted = f"from_eyaml: {encrypt(canaries['eyaml'].value)}\n"
    for name, text in {**_files(canaries, target), "data/secrets.eyaml": encrypted}.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _files(canaries: dict[str, Canary], target: Path) -> dict[str, str]:
    types = {
        f"modules/app/lib/puppet/type/{name}.rb": f"Puppet::Type.newtype(:{name}) do\n{_declared(parameters)}end\n"
        for name, parameters in TYPES.items()
    }
    return {
        "manifests/site.pp": _site(canaries, target),
        "hiera.yaml": HIERA,
        "data/common.yaml": _data(canaries),
        "modules/app/templates/secret.epp": "<%- | Sensitive[String] $secret | -%>\npassword = <%= $secret.unwrap %>\n",
        "modules/app/templates/secret.erb": "password = <%= @erb.unwrap %>\n",
        "modules/app/manifests/init.pp": CLASS,
        "modules/app/manifests/thing.pp": DEFINE,
        "modules/app/manifests/given.pp": GIVEN,
        **types,
    }


# An operator gives this class and its parameter to the node.
GIVEN = """
class app::given(String $secret, String $target) {
  file { "${target}/classification": mode => '0600', content => Sensitive($secret) }
}
"""
HIERA = """\
version: 5
hierarchy:
  - {name: vault, lookup_key: precast::secrets, path: app/web, options: {source: vault}}
  - {name: files, lookup_key: precast::secrets, path: common, options: {source: local}}
  - name: encrypted
    path: secrets.eyaml
    lookup_key: eyaml_lookup_key
    options: {pkcs7_private_key: keys/private_key.pkcs7.pem, pkcs7_public_key: keys/public_key.pkcs7.pem}
  - {name: common, path: common.yaml}
"""
# The declarations of types that modules bring along; Precast has their handlers.
TYPES = {
    "file_line": ("path", "line", "match"),
    "ini_setting": ("path", "section", "setting", "value"),
    "concat_file": ("path", "owner", "group", "mode", "backup"),
    "concat_fragment": ("target", "content", "order"),
}


def _declared(parameters: tuple[str, ...]) -> str:
    return "".join(f" newparam(:{parameter})\n" for parameter in ("name", *parameters))


def _data(canaries: dict[str, Canary]) -> str:
    def split(name: str) -> str:
        return "%{lookup('nothing')}".join(canaries[name].parts())

    return (
        "lookup_options:\n  app::parameter: {convert_to: Sensitive}\n  hiera: {convert_to: Sensitive}\n"
        f'nothing: \'\'\napp::parameter: "{split("class parameter")}"\nhiera: "{split("hiera")}"\n'
    )


CLASS = """
class app(Sensitive[String] $parameter, String $target) {
  file { "${target}/class_parameter": mode => '0600', content => $parameter }
}
"""
DEFINE = """
define app::thing(Sensitive[String] $secret, String $target) {
  file { "${target}/define_parameter": mode => '0600', content => Sensitive("password = ${secret.unwrap}\\n") }
}
"""


def _site(canaries: dict[str, Canary], target: Path) -> str:
    def secret(name: str) -> str:
        """An expression for the text of a canary, which is not in the code."""
        return '"' + "${nothing}".join(canaries[name].parts()) + '"'

    return f"""
$nothing = ''
$target = '{target}'
node 'web1' {{
  class {{ 'app': target => $target }}
  app::thing {{ 'thing': secret => Sensitive({secret("define parameter")}), target => $target }}
  File {{ mode => '0600' }}
  file {{ "$target/direct": content => Sensitive("password = ${{{secret("direct")}}}\\n"), backup => 'puppet' }}
  file {{ "$target/hiera": content => lookup('hiera') }}
  file {{ "$target/epp": content => epp('app/secret.epp', {{ 'secret' => Sensitive({secret("epp")}) }}) }}
  $inline = Sensitive({secret("inline epp")})
  file {{ "$target/inline_epp": content => inline_epp('password = <%= $inline.unwrap %>') }}
  $erb = Sensitive({secret("erb")})
  file {{ "$target/erb": content => template('app/secret.erb') }}
  $inline_erb = Sensitive({secret("inline erb")})
  file {{ "$target/inline_erb": content => inline_template('password = <%= @inline_erb.unwrap %>') }}
  notify {{ 'nested': message => {{ 'a' => [{{ 'b' => Sensitive({secret("nested")}) }}], 'c' => 'open' }} }}
  $late = Deferred('unwrap', [Sensitive({secret("deferred")})])
  file {{ "$target/deferred": content => Deferred('sprintf', ["password = %s\\n", $late]) }}
  $inside = Sensitive(Deferred('sprintf', ["password = %s\\n", {secret("deferred inside")}]))
  file {{ "$target/deferred_inside": content => $inside }}
  $unwrapped = Sensitive({secret("unwrapped")})
  file {{ "$target/unwrapped": content => "password = ${{unwrapped.unwrap}}\\n" }}
  notify {{ 'list': message => ['open', Sensitive({secret("in an array")})] }}
  exec {{ '/bin/sh -c "echo it is $PASSWORD"':
    environment => [Sensitive("PASSWORD=${{{secret("exec environment")}}}")], logoutput => true }}
  exec {{ 'secret command': command => Sensitive("/bin/sh -c 'echo ${{{secret("exec command")}}}; exit 3'") }}
  file {{ "$target/exec_output": content => Sensitive({secret("exec output")}) }}
  -> exec {{ "/bin/cat $target/exec_output": logoutput => true }}
  -> exec {{ "/bin/sh -c 'cat $target/exec_output >&2; exit 9'": }}
  file {{ "$target/validate_cmd":
    content => Sensitive({secret("validate_cmd")}), validate_cmd => '/bin/sh -c "cat %; exit 1"' }}
  promise {{ 'promise': value => Sensitive({secret("promise")}) }}
  -> file {{ "$target/promised": content => future('promise') }}
  notify {{ 'message': message => Sensitive({secret("notify")}) }}
  $warned = Sensitive({secret("warning")})
  warning("it is ${{warned}} or ${{warned.unwrap}}")
  file {{ "$target/number": content => String(Sensitive(Integer({secret("number")})).unwrap) }}
  file {{ "$target/binary": content => Sensitive(Binary({secret("binary")}, '%s')) }}
  file {{ "$target/fact": content => Sensitive($facts['canary']) }}
  file {{ "$target/hole": content => Sensitive("${{facts['networking']['hostname']}} ${{{secret("with a hole")}}}\\n") }}
  file {{ "$target/lines": content => "[main]\\npassword = older\\nsecond = older\\n", replace => false }}
  -> ini_setting {{ 'ini': path => "$target/lines", section => 'main', setting => 'password',
    value => Sensitive({secret("ini_setting")}) }}
  -> file_line {{ 'line': path => "$target/lines", match => '^second',
    line => Sensitive("second = ${{{secret("file_line")}}}") }}
  concat_file {{ "$target/joined": path => "$target/joined", mode => '0600', backup => 'puppet' }}
  concat_fragment {{ 'open': target => "$target/joined", content => "open\\n", order => '1' }}
  concat_fragment {{ 'secret': target => "$target/joined", content => Sensitive({secret("concat")}), order => '2' }}
  file {{ "$target/hosts": ensure => file }}
  -> host {{ 'db.canary.test': ip => '192.0.2.9', target => "$target/hosts", comment => Sensitive({secret("host")}) }}
  ['eyaml', 'vault', 'server_file'].each |$source| {{
    file {{ "$target/$source": content => lookup("from_$source") }}
  }}
  @@file {{ "$target/exported": content => Sensitive({secret("exported")}) }}
}}
node 'failing' {{
  $reason = Sensitive({secret("fail")})
  fail("it failed with ${{reason.unwrap}}")
}}
node 'mismatched' {{
  $given = Sensitive({secret("type mismatch")})
  Integer($given.unwrap)
}}
node 'monitor' {{ File <<| |>> }}
node default {{ }}
"""

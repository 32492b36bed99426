"""Encrypted data: real envelopes are decrypted to Sensitive, and the plain text never appears in trace, log or error."""

import json
from pathlib import Path

import msgspec
import pytest

from lab.key_pairs import OPENSSL, encrypt, make_pair
from precast.base.spans import Source
from precast.lang.compile import CompileFailure, CompileResult, compile_catalog
from precast.lang.file_trees import FileStore, TextTree
from precast.lang.inputs import ABSENT, DecryptionKey, Inputs
from precast.lang.node_answers import NodeAnswers, NodeData
from precast.lang.settings import Settings
from precast.services.code.decryption import KeyFiles

pytestmark = pytest.mark.skipif(OPENSSL is None, reason="openssl makes the keys and envelopes")
SECRET = "correct horse battery"
HIERA = """\
version: 5
hierarchy:
  - name: secrets
    path: secrets.eyaml
    lookup_key: eyaml_lookup_key
    options: {pkcs7_private_key: private.pem, pkcs7_public_key: public.pem}
"""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("keys")
    for name in ("", "other-"):
        make_pair(directory, f"{name}private.pem", f"{name}public.pem")
    return directory


def envelope(keys: Path, text: str = SECRET, *, key: str = "public.pem", cipher: str = "-aes-256-cbc") -> str:
    return encrypt(text, keys / key, cipher)


def compiled(keys: Path, data: str, code: str, hiera: str = HIERA) -> tuple[CompileResult, Inputs]:
    files = FileStore(TextTree({"hiera.yaml": hiera, "data/secrets.eyaml": data}))
    inputs = Inputs(NodeAnswers(NodeData.local("n", {"kernel": "Linux"}), files, decryptor=KeyFiles.below(keys)))
    return compile_catalog(inputs, Settings(), Source("site.pp", code)), inputs


def failure(keys: Path, data: str, hiera: str = HIERA) -> CompileFailure:
    with pytest.raises(CompileFailure) as caught:
        compiled(keys, data, "notify { 'x': message => lookup('password') }", hiera)
    return caught.value


CLASS = "class app(Sensitive[String] $password) { file { '/x': content => $password } } include app"


@pytest.mark.parametrize("cipher", ["-aes-256-cbc", "-aes-128-cbc"])
def test_value_is_decrypted_to_sensitive(keys: Path, cipher: str) -> None:
    result, inputs = compiled(keys, f"app::password: {envelope(keys, cipher=cipher)}\n", CLASS)
    resource = next(resource for resource in result.body.resources if resource.ref == "File[/x]")
    assert resource.parameters["content"] == SECRET
    assert resource.sensitive_parameters == ("content",)
    trace = json.dumps([[msgspec.to_builtins(read.question), str(read.answer)] for read in inputs.trace])
    assert SECRET not in trace
    assert SECRET not in repr(result.logs)


def test_trace_has_the_key_by_its_fingerprint(keys: Path) -> None:
    _, inputs = compiled(keys, f"app::password: {envelope(keys)}\n", CLASS)
    (read,) = [read for read in inputs.trace if isinstance(read.question, DecryptionKey)]
    assert read.answer is not ABSENT
    assert len(read.answer) == 64
    assert "PRIVATE" not in read.answer


def test_envelopes_inside_text_arrays_and_hashes_are_found(keys: Path) -> None:
    wrapped = envelope(keys, "a")
    half = wrapped[: len(wrapped) // 2] + "\n    " + wrapped[len(wrapped) // 2 :]
    data = f"v:\n  text: 'user:{wrapped}@host'\n  list: [plain, '{wrapped}']\n  folded: >\n    {half}\n  kernel: '%{{facts.kernel}}'\n"
    parts = "$v['text'].unwrap, $v['list'][0], $v['list'][1].unwrap, $v['folded'].unwrap, $v['kernel']"
    code = f"$v = lookup('v')\nnotify {{ 'x': message => [{parts}] }}"
    result, _ = compiled(keys, data, code)
    assert result.body.resources[-1].parameters["message"] == ["user:a@host", "plain", "a", "a", "Linux"]


def test_lines_of_a_secret_are_kept(keys: Path) -> None:
    lines = "a\n\nb\n"
    result, _ = compiled(keys, f"v: {envelope(keys, lines)}\n", "notify { 'x': message => lookup('v').unwrap }")
    assert result.body.resources[-1].parameters["message"] == "a\n\nb"


def test_convert_to_sensitive_changes_nothing(keys: Path) -> None:
    data = f"app::password: {envelope(keys)}\nlookup_options: {{app::password: {{convert_to: Sensitive}}}}\n"
    result, _ = compiled(keys, data, CLASS)
    assert (
        next(resource for resource in result.body.resources if resource.ref == "File[/x]").parameters["content"]
        == SECRET
    )


@pytest.mark.parametrize(
    ("encrypt", "code"),
    [
        (lambda keys: envelope(keys, key="other-public.pem"), "HIERA-052"),
        (lambda keys: envelope(keys, cipher="-des3"), "HIERA-052"),
        (lambda keys: envelope(keys)[:-40] + "]", "HIERA-052"),
        (lambda keys: "ENC[PKCS7,AAAA]", "HIERA-052"),
        (lambda keys: "ENC[PKCS7,A]", "HIERA-052"),
        (lambda keys: "ENC[GPG,AAAA]", "HIERA-050"),
    ],
)
def test_value_that_cannot_be_decrypted_is_an_error_with_its_place(keys: Path, encrypt: object, code: str) -> None:
    error = failure(keys, f"password: '{encrypt(keys)}'\n").error  # type: ignore[operator]
    assert error.code == code
    assert "key 'password' in" in error.message
    assert "secrets.eyaml" in error.message


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("{}", "HIERA-051"),
        ("{pkcs7_private_key: private.pem}", "HIERA-053"),
        ("{pkcs7_private_key: nope.pem, pkcs7_public_key: public.pem}", "HIERA-053"),
        ("{pkcs7_private_key: public.pem, pkcs7_public_key: public.pem}", "HIERA-053"),
        ("{pkcs7_private_key: private.pem, pkcs7_public_key: other-public.pem}", "HIERA-053"),
    ],
)
def test_keys_that_are_missing_or_wrong_are_named(keys: Path, options: str, code: str) -> None:
    hiera = HIERA.replace("{pkcs7_private_key: private.pem, pkcs7_public_key: public.pem}", options)
    assert failure(keys, f"password: {envelope(keys)}\n", hiera).error.code == code


def test_plain_values_need_no_key(keys: Path) -> None:
    hiera = HIERA.replace("{pkcs7_private_key: private.pem, pkcs7_public_key: public.pem}", "{}")
    result, _ = compiled(keys, "v: plain\n", "notify { 'x': message => lookup('v') }", hiera)
    assert result.body.resources[-1].parameters["message"] == "plain"

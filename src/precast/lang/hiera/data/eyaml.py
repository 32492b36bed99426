"""Encrypted values, as hiera-eyaml writes them: `ENC[PKCS7,…]` in a YAML file.

The answers behind `Inputs` hold the keys and decrypt; the trace contains the digest of the encrypted text and the key's fingerprint.
A decrypted value is Sensitive at once, unlike in Puppet, where it is a plain string until `lookup_options` converts it.
"""

import base64
import binascii
import re
from typing import Any, Final

from precast.base.errors import PrecastError
from precast.lang.hiera import issues
from precast.lang.hiera.data.sources import DataSource
from precast.lang.hiera.interpolation import Interpolator
from precast.lang.inputs import ABSENT, DecryptionKey, Inputs
from precast.lang.values.base import Hash, Sensitive, to_string

_BLOCK: Final = re.compile(r"ENC\[(?:([A-Za-z0-9]+),)?([A-Za-z0-9+/=\s]+?)\]", re.DOTALL)
_MARKED: Final = re.compile(r"ENC\[.*?\]", re.DOTALL)


def decrypt_value(inputs: Inputs, options: Hash, value: Any, texts: Interpolator, key: str, source: DataSource) -> Any:
    """Decrypt each encrypted string in a value, as Sensitive, and interpolate the rest. Raises HIERA-050 to -052."""
    if isinstance(value, tuple):
        return tuple(decrypt_value(inputs, options, item, texts, key, source) for item in value)
    if isinstance(value, Hash):
        return Hash.of(
            (texts.value(name), decrypt_value(inputs, options, item, texts, key, source))
            for name, item in value.items()
        )
    if not isinstance(value, str) or not _MARKED.search(value):
        return texts.value(value)
    try:
        return Sensitive(texts.value(_decrypt_text(inputs, options, value)))
    except PrecastError as error:
        if error.source is None:
            error.message = f"{error.message} (key '{key}' in {source.shown})"
        raise


def _decrypt_text(inputs: Inputs, options: Hash, text: str) -> str:
    names = tuple(sorted((str(name), to_string(value)) for name, value in options.items() if str(name) != "path"))

    def decrypt_block(block: re.Match[str]) -> str:
        scheme = (block[1] or "PKCS7").upper()
        if scheme != "PKCS7":
            raise issues.UNKNOWN_SCHEME.error(scheme=scheme)
        if inputs.ask(DecryptionKey(names)) is ABSENT:
            raise issues.NO_DECRYPTION_KEY.error()
        try:
            data = base64.b64decode(re.sub(r"\s", "", block[2]), validate=True)
        except binascii.Error:
            raise issues.NOT_DECRYPTED.error(reason="the text between the brackets is not base64") from None
        try:
            return inputs.decrypt(data, names).decode("utf-8")
        except UnicodeDecodeError:
            raise issues.NOT_DECRYPTED.error(reason="the decrypted value is not UTF-8 text") from None

    plain = _BLOCK.sub(decrypt_block, text)
    return plain.removesuffix("\n")

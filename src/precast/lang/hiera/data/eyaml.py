"""Encrypted values, as hiera-eyaml writes them: `ENC[PKCS7,…]` in a YAML file.

Whoever answers the compile's questions has the keys and decrypts; the trace has the encrypted text, by its digest, and which key was
used. What comes out is Sensitive from here on, unlike in Puppet, where it is a plain string until `lookup_options` converts it.
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
from precast.lang.values.core import Hash, Sensitive, to_string

_BLOCK: Final = re.compile(r"ENC\[(?:([A-Za-z0-9]+),)?([A-Za-z0-9+/=\s]+?)\]", re.DOTALL)
_MARKED: Final = re.compile(r"ENC\[.*?\]", re.DOTALL)


def decrypted(inputs: Inputs, options: Hash, value: Any, texts: Interpolator, key: str, source: DataSource) -> Any:
    """The value with each encrypted text in it decrypted, as Sensitive, and the rest interpolated. Raises HIERA-050 to -052."""
    if isinstance(value, tuple):
        return tuple(decrypted(inputs, options, item, texts, key, source) for item in value)
    if isinstance(value, Hash):
        return Hash.of(
            (texts.value(name), decrypted(inputs, options, item, texts, key, source)) for name, item in value.items()
        )
    if not isinstance(value, str) or not _MARKED.search(value):
        return texts.value(value)
    try:
        return Sensitive(texts.value(_plain(inputs, options, value)))
    except PrecastError as error:
        if error.source is None:
            error.message = f"{error.message} (key '{key}' in {source.shown})"
        raise


def _plain(inputs: Inputs, options: Hash, text: str) -> str:
    names = tuple(sorted((str(name), to_string(value)) for name, value in options.items() if str(name) != "path"))

    def opened(found: re.Match[str]) -> str:
        scheme = (found[1] or "PKCS7").upper()
        if scheme != "PKCS7":
            raise issues.UNKNOWN_SCHEME.error(scheme=scheme)
        if inputs.ask(DecryptionKey(names)) is ABSENT:
            raise issues.NO_DECRYPTION_KEY.error()
        try:
            data = base64.b64decode(re.sub(r"\s", "", found[2]), validate=True)
        except binascii.Error:
            raise issues.NOT_DECRYPTED.error(reason="what stands between the brackets is no base64") from None
        try:
            return inputs.decrypt(data, names).decode("utf-8")
        except UnicodeDecodeError:
            raise issues.NOT_DECRYPTED.error(reason="the decrypted value is no UTF-8 text") from None

    plain = _BLOCK.sub(opened, text)
    return plain.removesuffix("\n")

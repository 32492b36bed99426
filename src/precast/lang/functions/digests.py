"""md5, sha1, sha256 and digest of a string, in hexadecimal."""

import hashlib
from typing import Any

from precast.lang.functions.legacy import legacy_string
from precast.lang.functions.registry import Function, Unknowns


def _declare(name: str, algorithm: str, documentation: str) -> None:
    function = Function(name, documentation, unknowns=Unknowns.AGENT)

    @function.dispatch("Any value")
    def digest(value: Any) -> str:
        return hashlib.new(algorithm, legacy_string(name, value).encode(), usedforsecurity=False).hexdigest()


_declare("md5", "md5", "The MD5 of a string. Not for anything that must be safe.")
_declare("sha1", "sha1", "The SHA-1 of a string. Not for anything that must be safe.")
_declare("sha256", "sha256", "The SHA-256 of a string.")
_declare("digest", "sha256", "The digest of a string by the algorithm that Precast uses, SHA-256.")

"""md5, sha1, sha256, digest: hexadecimal digests of a string."""

import hashlib
from typing import Any

from precast.lang.functions.registry import Function, Unknowns
from precast.lang.ruby.legacy_values import legacy_string


def _declare(name: str, algorithm: str, documentation: str) -> None:
    function = Function(name, documentation, unknowns=Unknowns.AGENT)

    @function.dispatch("Any value")
    def digest(value: Any) -> str:
        return hashlib.new(algorithm, legacy_string(name, value).encode(), usedforsecurity=False).hexdigest()


_declare("md5", "md5", "Returns the MD5 of a string, which is not secure.")
_declare("sha1", "sha1", "Returns the SHA-1 of a string, which is not secure.")
_declare("sha256", "sha256", "Returns the SHA-256 of a string.")
_declare("digest", "sha256", "Returns the digest of a string by the algorithm that Precast uses, SHA-256.")

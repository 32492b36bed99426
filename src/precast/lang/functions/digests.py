"""md5, sha1, sha256 and digest of a string, in hexadecimal."""

import hashlib
from typing import Any

from precast.lang.functions import issues
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.values import kind_name


def _declare(name: str, algorithm: str, documentation: str) -> None:
    function = Function(name, documentation, unknowns=Unknowns.AGENT)

    @function.dispatch("Any value")
    def digest(value: Any) -> str:
        if not (value is None or isinstance(value, str)):
            raise issues.NOT_A_STRING.error(name=name, kind=kind_name(value))
        return hashlib.new(algorithm, (value or "").encode(), usedforsecurity=False).hexdigest()


_declare("md5", "md5", "The MD5 of a string. Not for anything that must be safe.")
_declare("sha1", "sha1", "The SHA-1 of a string. Not for anything that must be safe.")
_declare("sha256", "sha256", "The SHA-256 of a string.")
_declare("digest", "sha256", "The digest of a string by the algorithm that Precast uses, SHA-256.")

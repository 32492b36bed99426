"""How a node gets the values of the secrets that its catalog names.

Only values of the catalog that is served to the node are given, or of the catalog of an entry point that it may fetch now. A node asks
for some of them at a time, and an answer has as many as fit into it: at least one, in the order of the question.
"""

from typing import Annotated

import msgspec

MAX_REFERENCES = 500
# An answer ends with the value that makes it larger than this. No value is larger than a catalog.
MAX_ANSWER_BYTES = 4 * 1024 * 1024

Reference = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class SecretsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which values a node asks for: those of some references in a catalog, which is that of an entry point if one is given."""

    catalog: Digest
    refs: Annotated[list[Reference], msgspec.Meta(min_length=1, max_length=MAX_REFERENCES)]
    entry: Annotated[str, msgspec.Meta(max_length=1_000)] = ""


class SecretValue(msgspec.Struct, frozen=True):
    """A value, as canonical JSON, with the salt by which it can be told that the reference names it. Both are base64 in JSON."""

    ref: Reference
    salt: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    value: bytes


class SecretValues(msgspec.Struct, frozen=True):
    """Values by which a catalog is filled: in an answer, and in the file where a node has them."""

    values: list[SecretValue]

"""The valid names of definitions, variables and parameters."""

import re
from typing import Final

CLASS_NAME: Final = re.compile(r"[a-z]\w*(?:::[a-z]\w*)*", re.ASCII)
TYPE_NAME: Final = re.compile(r"[A-Z]\w*(?:::[A-Z]\w*)*", re.ASCII)
VARIABLE_NAME: Final = re.compile(r"(?:::)?(?:[a-z]\w*::)*[a-z_]\w*", re.ASCII)
PARAMETER_NAME: Final = re.compile(r"[a-z_]\w*", re.ASCII)
MATCH_VARIABLE: Final = re.compile(r"0|[1-9][0-9]*")
HOST_NAME: Final = re.compile(r"[A-Za-z0-9_.-]*")

CLASS_RULE: Final = "each part of the name must begin with a lower-case letter, followed by letters, digits and _"
TYPE_RULE: Final = "each part of the name must begin with an upper-case letter, followed by letters, digits and _"

RESERVED_TYPE_NAMES: Final = frozenset(
    (
        "any", "array", "boolean", "collection", "enum", "float", "hash", "init", "integer", "numeric", "object", "optional",
        "pattern", "regexp", "runtime", "scalar", "semver", "semverrange", "sensitive", "string", "struct", "timespan",
        "timestamp", "tuple", "type", "typeset", "unit", "variant",
    )
)  # fmt: skip

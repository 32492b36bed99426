"""What can be wrong with user data as a whole. Codes 300 to 349."""

from precast.base.errors import Issue, Kind

BAD_YAML = Issue(
    "BOOT-300",
    Kind.INPUT,
    "this is no YAML: {problem}",
    "check the indentation and the quotes here and in the line above",
)
TOO_MUCH = Issue(
    "BOOT-301",
    Kind.INPUT,
    "{what} is more than {limit}",
    "make it smaller, or fetch what is large in a script",
)
NOT_A_MAPPING = Issue(
    "BOOT-302",
    Kind.INPUT,
    "{what} must be {wanted}, not {kind}",
    "a cloud-config is a list of lines `key: value`",
)
BAD_MERGE = Issue(
    "BOOT-303",
    Kind.INPUT,
    "{how} does not say how to merge",
    "write it as list(append)+dict(recurse_list)+str()",
)
BAD_PACKING = Issue(
    "BOOT-304",
    Kind.INPUT,
    "{what} cannot be unpacked: {reason}",
    "pack it again",
)
NO_KIND = Issue(
    "BOOT-305",
    Kind.INPUT,
    "{part} begins with nothing that is known, so it is left alone",
    "begin it with #cloud-config, or with #! and an interpreter",
)
NOT_INCLUDED = Issue(
    "BOOT-306",
    Kind.UNAVAILABLE,
    "{url} cannot be included: {reason}",
    "check the address, and that the machine can reach it",
)
NOT_RUN = Issue(
    "BOOT-307",
    Kind.INPUT,
    "{part} is of a kind that is not run: {kind}",
    "{hint}",
)
BAD_TEMPLATE = Issue(
    "BOOT-308",
    Kind.INPUT,
    "line {line} of the template: {problem}",
    "what templates may have: docs/reference/boot-keys.md",
)
BAD_PATCH = Issue(
    "BOOT-309",
    Kind.INPUT,
    "the JSON patch cannot be applied: {problem}",
    "it is a list of operations with op, path and value",
)

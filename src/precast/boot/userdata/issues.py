"""Errors of user data as a whole. Codes 300 to 349."""

from precast.base.errors import Issue, Kind

BAD_YAML = Issue(
    "BOOT-300",
    Kind.INPUT,
    "this is not valid YAML: {problem}",
    "check the indentation and the quotes here and in the line above",
)
TOO_MUCH = Issue(
    "BOOT-301",
    Kind.INPUT,
    "{what} is more than {limit}",
    "make it smaller, or download large content in a script",
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
    "{how} is not a valid merge rule",
    "write it as list(append)+dict(recurse_list)+str()",
)
BAD_PACKING = Issue(
    "BOOT-304",
    Kind.INPUT,
    "{what} cannot be decoded: {reason}",
    "compress or encode it again",
)
NO_KIND = Issue(
    "BOOT-305",
    Kind.INPUT,
    "{part} does not begin with a known header, so it is ignored",
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
    "{part} has a kind that is not supported: {kind}",
    "{hint}",
)
BAD_TEMPLATE = Issue(
    "BOOT-308",
    Kind.INPUT,
    "line {line} of the template: {problem}",
    "docs/reference/boot-keys.md lists the supported template syntax",
)
BAD_PATCH = Issue(
    "BOOT-309",
    Kind.INPUT,
    "the JSON patch cannot be applied: {problem}",
    "it is a list of operations with op, path and value",
)

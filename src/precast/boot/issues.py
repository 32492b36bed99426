"""Errors of a boot as a whole. Codes 001 to 049."""

from precast.base.errors import Issue, Kind

RUNS_ALREADY = Issue(
    "BOOT-001",
    Kind.CONFLICT,
    "another boot is running in {path}",
    "wait for it to end; `precast boot status` shows its progress",
)
NO_STATE = Issue(
    "BOOT-002",
    Kind.UNAVAILABLE,
    "the state of the boot cannot be written to {path}: {reason}",
    "run it as root, or below another --root",
)
NEVER_BOOTED = Issue(
    "BOOT-003",
    Kind.NOT_FOUND,
    "no boot has been recorded below {root}",
    "start one: precast boot run",
)
NO_SOURCE = Issue(
    "BOOT-004",
    Kind.INPUT,
    "there is no data source {name}{guess}",
    "the sources are: {names}",
)
BAD_PAIR = Issue(
    "BOOT-005",
    Kind.INPUT,
    "{text!r} in {setting} is not SOURCE=VALUE",
    "write it like {example}",
)
NO_USER_DATA = Issue(
    "BOOT-006",
    Kind.NOT_FOUND,
    "the user data {path} cannot be read: {reason}",
    "give a file that exists",
)
WRONG_VALUE = Issue(
    "BOOT-190",
    Kind.INPUT,
    "{text}",
    "{hint}",
)
NO_HEADER = Issue(
    "BOOT-191",
    Kind.INPUT,
    "the first line is not #cloud-config, so a boot would ignore this file",
    "add #cloud-config as the first line",
)

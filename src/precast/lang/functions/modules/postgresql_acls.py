"""Converts lines of pg_hba.conf to resources."""

import re
from typing import Any

from precast.lang.functions.modules.declaration import argument_error, declare
from precast.lang.values.base import Hash

_NAME = "postgresql::postgresql_acls_to_resources_hash"


@declare(
    _NAME,
    "Array[String] rules, String[1] id, Integer[0] offset",
    "Returns a hash of resources from lines of pg_hba.conf; their order is that of the lines.",
    module="postgresql",
)
def _acls_to_resources(rules: tuple[str, ...], id_: str, offset: int) -> Hash:
    positions = [rules.index(rule) for rule in rules]
    return Hash.of(
        (f"postgresql class generated rule {id_} {at}", _rule(rule, at, offset))
        for rule, at in zip(rules, positions, strict=True)
    )


def _rule(rule: str, at: int, offset: int) -> Hash:
    parts = rule.split()
    if len(parts) < 4:
        raise argument_error(_NAME, f"acl line {at} does not have enough parts")
    parameters: list[tuple[str, Any]] = [
        ("type", parts[0]), ("database", parts[1]), ("user", parts[2]), ("order", f"{offset + at:03d}"),
    ]  # fmt: skip
    if parts[0] == "local":
        rest = parts[3:]
    elif len(parts) > 4 and re.match(r"\d", parts[4], re.ASCII):
        parameters.append(("address", f"{parts[3]} {parts[4]}"))
        rest = parts[5:]
    else:
        parameters.append(("address", parts[3]))
        rest = parts[4:]
    parameters.append(("auth_method", rest[0] if rest else None))
    if len(rest) > 1:
        parameters.append(("auth_option", " ".join(rest[1:])))
    return Hash.of(parameters)

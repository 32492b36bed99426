"""Names of nodes: valid in a certificate, and never a path, an option or a pattern."""

import fnmatch
import re

from precast.wire import issues

# A certificate's common name has 64 characters at most (RFC 5280, ub-common-name).
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9_])?")


def is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None and ".." not in name


def check_name(name: str) -> str:
    """Return the name. Raises InputError WIRE-001 if it is not valid."""
    if not is_name(name):
        raise issues.BAD_NAME.error(name=repr(name[:80]))
    return name


def matches(pattern: str, name: str) -> bool:
    """Whether a name equals the pattern, or matches it as a glob."""
    return fnmatch.fnmatchcase(name, pattern)

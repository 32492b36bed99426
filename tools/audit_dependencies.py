"""Checks the locked packages of an install against the vulnerabilities that the package index publishes for each release.

Exit codes: 0 if all were checked and none is known, 1 if one is known, 2 if packages could not be checked. The last is never a success:
a mirror that does not publish vulnerabilities answers nothing. The index is that of pip, or the one given as an argument.
"""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, NamedTuple

from tools.locked import LockedPackage, read_lock, select

TIMEOUT_S = 20
MAX_BYTES = 50 * 1024 * 1024
CLEAN, VULNERABLE, UNCHECKED = 0, 1, 2

Fetch = Callable[[LockedPackage], list[dict[str, Any]]]


class Unchecked(Exception):
    """The index has no answer about a release."""


class Audit(NamedTuple):
    """What was found: a line for each vulnerability, and the reasons why packages could not be checked."""

    known: list[str]
    unchecked: dict[str, str]

    @property
    def code(self) -> int:
        return VULNERABLE if self.known else UNCHECKED if self.unchecked else CLEAN


def audit(packages: list[LockedPackage], fetch: Fetch) -> Audit:
    found = Audit([], {})
    for package in packages:
        try:
            vulnerabilities = fetch(package)
        except Unchecked as reason:
            found.unchecked[package.name] = str(reason)
            continue
        for vulnerability in vulnerabilities:
            if not vulnerability.get("withdrawn"):
                fixed = ", ".join(vulnerability.get("fixed_in") or []) or "no release"
                found.known.append(f"{package.name} {package.version}: {vulnerability['id']}, fixed in {fixed}")
    return found


def fetch_from(index: str) -> Fetch:
    def fetch(package: LockedPackage) -> list[dict[str, Any]]:
        address = f"{index.rstrip('/')}/{package.name}/{package.version}/json"
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT_S) as response:
                answer = json.loads(response.read(MAX_BYTES))
        except urllib.error.HTTPError as error:
            raise Unchecked(f"the index answers with status {error.code}") from None
        except (OSError, ValueError) as error:
            raise Unchecked(f"the index does not answer: {type(error).__name__}") from None
        if not isinstance(answer, dict) or "vulnerabilities" not in answer:
            raise Unchecked("the index does not publish vulnerabilities")
        return list(answer["vulnerabilities"])

    return fetch


def main() -> int:
    from pip._internal.models.index import PyPI

    packages = read_lock()
    chosen = [packages[name] for name in select("server", packages)]
    found = audit(chosen, fetch_from(sys.argv[1] if len(sys.argv) > 1 else PyPI.pypi_url))
    for line in found.known:
        print(line)
    if found.unchecked:
        reasons = ", ".join(sorted(set(found.unchecked.values())))
        print(f"{len(found.unchecked)} of {len(chosen)} packages could not be checked: {reasons}", file=sys.stderr)
    elif not found.known:
        print(f"{len(chosen)} packages, no known vulnerability")
    return found.code


if __name__ == "__main__":
    sys.exit(main())

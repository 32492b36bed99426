"""The keys of package sources: given in the user data, or asked for by their fingerprint."""

from collections.abc import Mapping
from typing import Any

from precast.boot.modules import issues
from precast.boot.modules.context import Context
from precast.resources.commands import is_there

_ALL = "/etc/apt/trusted.gpg.d"
_ONE = "/etc/apt/keyrings"
_SERVER = "keyserver.ubuntu.com"
# The key goes through a directory of its own, which goes away with the shell.
_RECEIVE = """
set -e
home=$(mktemp -d); trap 'gpgconf --homedir "$home" --kill all 2>/dev/null; rm -rf "$home"' EXIT
gpg --homedir "$home" --batch --no-tty -q --keyserver "$1" --recv-keys "$2" >&2
gpg --homedir "$home" --batch --no-tty -q --armor --export "$2"
"""


def key_file(context: Context, name: str, given: Mapping[str, Any]) -> str | None:
    """Put the key of a source in place; its path, or None if it has none. Raises UnavailableError if it cannot be got."""
    key = given.get("key") or (_received(context, given) if "keyid" in given else None)
    if not key:
        return None
    is_own = "$KEY_FILE" in given.get("source", "")
    safe = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name)
    path = f"{_ONE if is_own else _ALL}/precast-boot-{safe}.asc"
    context.write(path, f"{key.strip()}\n".encode())
    return path


def _received(context: Context, given: Mapping[str, Any]) -> str:
    number = given["keyid"].replace(" ", "")
    server = given.get("keyserver", _SERVER)
    if not context.has_programs or not is_there("gpg", context.machine.root):
        raise issues.NO_PROGRAM.error(program="gpg", what=f"fetching the key {number}")
    context.changed(f"fetch the key {number} from {server}")
    if context.is_dry_run:
        return "-"
    done = context.machine.run(["/bin/sh", "-c", _RECEIVE, "sh", server, number], deadline_s=60, is_split=True)
    if not done.is_success or not done.output.strip():
        raise issues.NOT_FETCHED.error(url=f"key {number} from {server}", reason=" ".join(done.errors.split()))
    return done.output

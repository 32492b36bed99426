"""Adds lines to a user's authorized_keys file; it never removes any.

The user controls the directory of the file, so symbolic links in it are not followed.
"""

import re
from collections.abc import Sequence

from precast.boot.modules.context import ModuleContext
from precast.resources import accounts
from precast.resources.ssh_authorized_key import parse

_MAX_LINE = 16_384
REDIRECT = (
    'no-port-forwarding,no-agent-forwarding,no-X11-forwarding,command="echo \'Please login as the user \\"$USER\\" rather than '
    'the user \\"$DISABLE_USER\\".\';echo;sleep 10;exit 142"'
)


def add(
    context: ModuleContext, name: str, lines: Sequence[str], *, instead_of: str = "", options: str = REDIRECT
) -> None:
    """Add the keys that a user does not have yet. With `instead_of`, `options` replace those of each key: they refuse the login and name
    that user instead.

    Without keys, a user with a home directory gets an empty file.
    """
    user = accounts.find_user(context.machine, name, is_local=False)
    if user is None:
        if context.is_dry_run:
            context.record_change(f"add {len(lines)} keys for {name}")
        else:
            context.warn(f"the user {name} does not exist, so no keys are added")
        return
    if not lines and (not context.exists(user.home) or user.home == "/"):
        return
    path = f"{user.home.rstrip('/')}/.ssh/authorized_keys"
    content_found = context.read_content(path)
    if content_found is not None:
        content_found.check_may_get(path, user.uid)
    text = "" if content_found is None else content_found.data.decode(errors="surrogateescape")
    present = {_identify_key(line) for line in text.splitlines()}
    stripped = map(str.strip, lines)
    new = [line for line in stripped if _is_key(context, name, line) and _identify_key(line) not in present]
    if instead_of:
        filled = options.replace("$USER", instead_of).replace("$DISABLE_USER", name)
        new = [f"{filled} {_remove_options(line)}" for line in new]
    if not new and (lines or content_found is not None):
        return
    existing = f"{text.rstrip()}\n" if text.strip() else ""
    owner = {"owner": user.uid, "group": user.gid} if context.ownership_parameters(name) else {}
    if not context.exists(user.home):
        context.make_directories(user.home.rpartition("/")[0])
        context.ensure("file", user.home, {"ensure": "directory", "mode": "0700", **owner})
    directory = path.rpartition("/")[0]
    if not context.exists(directory):
        context.ensure("file", directory, {"ensure": "directory", "mode": "0700", **owner})
    content = (existing + "".join(f"{line}\n" for line in dict.fromkeys(new))).encode(errors="surrogateescape")
    context.ensure("file", path, {"ensure": "file", "content": content, "mode": "0600", "show_diff": False, **owner})


def _is_key(context: ModuleContext, name: str, line: str) -> bool:
    if not line or line.startswith("#"):
        return False
    if "\n" in line or len(line) > _MAX_LINE or parse(line) is None:
        context.warn(f"{name}: {line[:30]!r} is not a public key, so it is not added")
        return False
    return True


def _remove_options(line: str) -> str:
    entry = parse(line)
    return line if entry is None or not entry.options else f"{entry.type} {entry.key} {entry.name}".strip()


def _identify_key(line: str) -> str:
    """Return the key's type and data: two lines with the same ones hold the same key, whatever their options or comments."""
    match = re.search(r"((?:ssh-|ecdsa-|sk-)\S+)\s+(\S+)", line)
    return f"{match[1]} {match[2]}" if match else line

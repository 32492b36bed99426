"""A user's authorized_keys: lines are added, never taken away.

The file lies where its user may do anything, so links of theirs are not followed.
"""

import re
from collections.abc import Sequence

from precast.boot.modules.context import Context
from precast.resources import accounts
from precast.resources.ssh_authorized_key import parse

_MAX_LINE = 16_384
REDIRECT = (
    'no-port-forwarding,no-agent-forwarding,no-X11-forwarding,command="echo \'Please login as the user \\"$USER\\" rather than '
    'the user \\"$DISABLE_USER\\".\';echo;sleep 10;exit 142"'
)


def add(context: Context, name: str, lines: Sequence[str], *, instead_of: str = "", options: str = REDIRECT) -> None:
    """Add keys that a user does not have yet. With `instead_of` they have these options, which tell who comes to log in as that user."""
    user = accounts.find_user(context.machine, name, is_local=False)
    if user is None:
        if context.is_dry_run:
            context.changed(f"add {len(lines)} keys for {name}")
        else:
            context.warn(f"there is no user {name}, so keys cannot be added")
        return
    path = f"{user.home.rstrip('/')}/.ssh/authorized_keys"
    text = context.read_text(path)
    present = {_key(line) for line in text.splitlines()}
    new = [line for line in map(str.strip, lines) if _is_key(context, name, line) and _key(line) not in present]
    if instead_of:
        filled = options.replace("$USER", instead_of).replace("$DISABLE_USER", name)
        new = [f"{filled} {line}" for line in new]
    if not new:
        return
    whole = f"{text.rstrip()}\n" if text.strip() else ""
    owner = {"owner": user.uid, "group": user.gid} if context.ownership(name) else {}
    if not context.is_there(user.home):
        context.make_directories(user.home.rpartition("/")[0])
        context.ensure("file", user.home, {"ensure": "directory", "mode": "0700", **owner})
    context.ensure("file", f"{user.home.rstrip('/')}/.ssh", {"ensure": "directory", "mode": "0700", **owner})
    content = (whole + "\n".join(dict.fromkeys(new)) + "\n").encode(errors="surrogateescape")
    context.ensure("file", path, {"ensure": "file", "content": content, "mode": "0600", "show_diff": False, **owner})


def _is_key(context: Context, name: str, line: str) -> bool:
    if not line or line.startswith("#"):
        return False
    if "\n" in line or len(line) > _MAX_LINE or parse(line) is None:
        context.warn(f"{name}: {line[:30]!r} is no public key, so it is left out")
        return False
    return True


def _key(line: str) -> str:
    """What makes two lines the same key: its type and data, not its options or comment."""
    found = re.search(r"((?:ssh-|ecdsa-|sk-)\S+)\s+(\S+)", line)
    return f"{found[1]} {found[2]}" if found else line

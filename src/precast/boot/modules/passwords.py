"""Sets passwords of users. Each password is a transition that waits only for its user, and also works for a user that exists already.

A random password is generated here and stored in a file that only root can read: others can read a console or a log. A password must be
changed at the first login, unless `expire` is false.
"""

import functools
import re
import secrets
import string
from collections.abc import Sequence
from typing import NamedTuple

from precast.base import files
from precast.boot.capabilities import Capability
from precast.boot.modules import issues
from precast.boot.modules.context import ModuleContext
from precast.boot.modules.contract import Config, Module, ModulePart
from precast.boot.modules.outcomes import ModuleOutcome
from precast.boot.modules.schema import Either, Fields, Flag, Items, Text
from precast.boot.modules.user_entries import find_default_user
from precast.boot.modules.users import LOCK, NAME, format_user_place, set_password
from precast.resources import accounts

_HASH = re.compile(r"\$(?:1|2[abxy]?|5|6|7|y|gy|sm3)(?:\$[^$]*)+")
_ALPHABET = "".join(sorted({*string.ascii_letters, *string.digits} - set("0O1lI")))
_LENGTH = 20
_RANDOM = ("R", "RANDOM")


class PasswordRequest(NamedTuple):
    """The password to set for a user; None: a random password."""

    user: str
    password: str | None
    is_hash: bool
    expires: bool


def list_requests(config: Config) -> list[PasswordRequest]:
    """Return the requested passwords; the last request for a user wins. The key `password` counts only if there is no other request."""
    settings = config.get("chpasswd", {})
    expires = settings.get("expire", True)
    requests: dict[str, PasswordRequest] = {}
    lines = settings.get("list", [])
    for line in lines.splitlines() if isinstance(lines, str) else lines:
        user, colon, password = line.strip().partition(":")
        if colon and user:
            requests[user] = _make_request(user, password, expires)
    for entry in settings.get("users", []):
        user, kind = entry["name"], entry.get("type", "hash")
        if kind == "RANDOM":
            requests[user] = PasswordRequest(user, None, False, expires)
        elif "password" in entry:
            requests[user] = PasswordRequest(user, entry["password"], kind == "hash", expires)
    default = find_default_user(config)
    if "password" in config and default is not None and not requests:
        requests[default.name] = _make_request(default.name, config["password"], expires)
    return list(requests.values())


def _make_request(user: str, password: str, expires: bool) -> PasswordRequest:
    if password in _RANDOM:
        return PasswordRequest(user, None, False, expires)
    is_hash = bool(_HASH.fullmatch(password)) and ":" not in password
    return PasswordRequest(user, password, is_hash, expires)


def make_parts(config: Config) -> Sequence[ModulePart]:
    parts = [
        ModulePart(request.user, functools.partial(_set, request), waits_for=(format_user_place(request.user),))
        for request in list_requests(config)
    ]
    default = find_default_user(config)
    if default is not None and all(part.name != default.name for part in parts):
        run = functools.partial(_set_platform_password, default.name)
        place = format_user_place(default.name)
        parts.append(ModulePart(f"{default.name} (from the source)", run, waits_for=(place,), keys=()))
    return parts


def _set_platform_password(user: str, context: ModuleContext) -> ModuleOutcome:
    """Set the platform's password for the default user, if the platform has one."""
    password = context.get_value(Capability.PASSWORD_GET)
    if not password:
        context.outcome.remark = "neither the configuration nor the data source has a password"
        return context.outcome
    return _set(_make_request(user, str(password), expires=False), context)


def _set(request: PasswordRequest, context: ModuleContext) -> ModuleOutcome:
    is_existing = accounts.find_user(context.machine, request.user, is_local=False) is not None
    if not is_existing and not context.is_dry_run:
        raise issues.NO_USER.error(user=request.user)
    password = request.password
    if password is None:
        password = generate_password()
    if is_existing or not request.is_hash:
        set_password(context, request.user, password, is_hash=request.is_hash)
    if request.password is None:
        _store_password(context, request.user, password)
    if request.expires:
        context.record_change(f"User[{request.user}]: must change the password at the first login")
        if not context.is_dry_run:
            accounts.run_tool(context.machine, ["chage", "-d", "0", request.user])
            context.machine.snapshots.forget((accounts.KIND,))
    return context.outcome


def generate_password() -> str:
    """Generate a random password from characters that cannot be mistaken for each other."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def _store_password(context: ModuleContext, user: str, password: str) -> None:
    path = context.instance_directory / "passwords" / user
    context.record_change(f"the generated password of {user} is in {path}")
    if not context.is_dry_run:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write_private(path, f"{password}\n".encode())


_ENTRY = Fields(
    {"name": NAME, "password": Text(is_secret=True), "type": Text(("hash", "text", "RANDOM"))}, required=("name",)
)
MODULES = (
    Module(
        "passwords",
        lambda context: context.outcome,
        {
            "chpasswd": Fields(
                {
                    "expire": Flag(),
                    "users": Items(_ENTRY),
                    "list": Either(Items(Text(is_secret=True)), Text(is_secret=True)),
                }
            ),
            "password": Text(is_secret=True),
        },
        uses=frozenset({Capability.PASSWORD_GET}),
        locks=(LOCK,),
        has_work=lambda config: bool(make_parts(config)),
        parts=make_parts,
    ),
)

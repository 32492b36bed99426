"""Passwords of users, each a transition that waits for its user only, and works alone for one who is there.

A password that is to be random is made here and kept where only root reads it: a console or a log is read by others. One that was not
given as a hash must be changed at the first log-in, unless somebody says otherwise.
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
from precast.boot.modules.context import Context
from precast.boot.modules.contract import Config, Module, Part
from precast.boot.modules.outcomes import Outcome
from precast.boot.modules.people import default_user
from precast.boot.modules.shapes import Either, Fields, Flag, Items, Text
from precast.boot.modules.users import LOCK, NAME, exists, set_password
from precast.resources import accounts

_HASH = re.compile(r"\$(?:1|2[abxy]?|5|6|7|y|gy|sm3)(?:\$[^$]*)+")
_ALPHABET = "".join(sorted({*string.ascii_letters, *string.digits} - set("0O1lI")))
_LENGTH = 20
_RANDOM = ("R", "RANDOM")


class Wish(NamedTuple):
    """A password for somebody; None: one made by chance."""

    user: str
    password: str | None
    is_hash: bool
    expires: bool


def wishes(config: Config) -> list[Wish]:
    """What is asked for, the last word for each user."""
    given = config.get("chpasswd", {})
    expires = given.get("expire", True)
    found: dict[str, Wish] = {}
    default = default_user(config)
    if "password" in config and default is not None:
        found[default.name] = _wish(default.name, config["password"], expires)
    lines = given.get("list", [])
    for line in lines.splitlines() if isinstance(lines, str) else lines:
        user, colon, password = line.strip().partition(":")
        if colon and user:
            found[user] = _wish(user, password, expires)
    for entry in given.get("users", []):
        kind = entry.get("type", "hash")
        if kind == "RANDOM":
            found[entry["name"]] = Wish(entry["name"], None, False, expires)
        elif "password" in entry:
            found[entry["name"]] = Wish(entry["name"], entry["password"], kind == "hash", expires and kind == "text")
    return list(found.values())


def _wish(user: str, password: str, expires: bool) -> Wish:
    if password in _RANDOM:
        return Wish(user, None, False, expires)
    is_hash = bool(_HASH.fullmatch(password)) and ":" not in password
    return Wish(user, password, is_hash, expires and not is_hash)


def parts(config: Config) -> Sequence[Part]:
    found = [Part(wish.user, functools.partial(_set, wish), waits=(exists(wish.user),)) for wish in wishes(config)]
    default = default_user(config)
    if default is not None and all(part.name != default.name for part in found):
        run = functools.partial(_set_given, default.name)
        found.append(Part(f"{default.name} (from the source)", run, waits=(exists(default.name),), keys=()))
    return found


def _set_given(user: str, context: Context) -> Outcome:
    """The password that the platform wants for the default user, if it has one."""
    password = context.value(Capability.PASSWORD_GET)
    if not password:
        context.outcome.not_run = "nobody gives a password"
        return context.outcome
    return _set(_wish(user, str(password), expires=False), context)


def _set(wish: Wish, context: Context) -> Outcome:
    is_there = accounts.find_user(context.machine, wish.user, is_local=False) is not None
    if not is_there and not context.is_dry_run:
        raise issues.NO_USER.error(user=wish.user)
    password = wish.password
    if password is None:
        password = random_password()
    if is_there or not wish.is_hash:
        set_password(context, wish.user, password, is_hash=wish.is_hash)
    if wish.password is None:
        _keep(context, wish.user, password)
    if wish.expires:
        context.changed(f"User[{wish.user}]: must change the password at the first log-in")
        if not context.is_dry_run:
            accounts.run_tool(context.machine, ["chage", "-d", "0", wish.user])
            context.machine.snapshots.forget((accounts.KIND,))
    return context.outcome


def random_password() -> str:
    """One that nobody guesses, of signs that nobody takes for each other."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def _keep(context: Context, user: str, password: str) -> None:
    place = context.instance_directory / "passwords" / user
    context.changed(f"the password made for {user} is in {place}")
    if not context.is_dry_run:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write_private(place, f"{password}\n".encode())


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
        is_wanted=lambda config: bool(parts(config)),
        parts=parts,
    ),
)

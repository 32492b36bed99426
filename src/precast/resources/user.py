"""user: a local account, through the programs of the shadow suite.

A password's hash is never on a command line, where every user of the machine could read it: chpasswd reads it from its standard input.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from precast.resources import accounts, properties
from precast.resources.commands import has_program
from precast.resources.contract import Change, DesiredResource, Handler, Instance, ManagedNode, State
from precast.resources.files import safe_reads
from precast.resources.properties import ABSENT, PRESENT, PropertyHandler

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
# Property: the option of useradd and usermod.
_OPTIONS = {"home": "-d", "uid": "-u", "gid": "-g", "comment": "-c", "shell": "-s", "groups": "-G", "expiry": "-e"}
# Property: the option of chage.
_AGES = {"password_min_age": "-m", "password_max_age": "-M", "password_warn_days": "-W"}


class User(PropertyHandler):
    order: ClassVar[tuple[str, ...]] = (
        "home", "uid", "gid", "comment", "shell", "password", *_AGES, "groups", "expiry",
    )  # fmt: skip
    can_be_purged: ClassVar[bool] = True
    always_secret: ClassVar[frozenset[str]] = frozenset({"password"})
    locks: ClassVar[tuple[str, ...]] = (accounts.KIND,)
    invalidates: ClassVar[tuple[str, ...] | None] = (accounts.KIND, "owners")

    def __init__(self, resource: DesiredResource, node: ManagedNode) -> None:
        self._is_whole = properties.one_of(resource, "membership", ("inclusive", "minimum")) == "inclusive"
        super().__init__(resource, node)
        self._manages_home = properties.read_boolean(resource, "managehome")
        self._may_repeat = properties.read_boolean(resource, "allowdupe")
        self._is_system = properties.read_boolean(resource, "system")
        self._is_local = properties.read_boolean(resource, "forcelocal")
        for name in ("roles", "profiles", "auths", "keys", "attributes", "loginclass", "project", "salt", "iterations"):
            if name in resource.parameters:
                self.log("info", f"{name} does not exist on Linux; not managed")

    def munge(self, name: str, value: Any) -> Any:
        if name in ("uid", *_AGES):
            return properties.number(self.resource, name)
        if name == "gid":
            return int(value) if str(value).isdecimal() else str(value)
        if name == "groups":
            return self._group_names(value)
        text = str(value)
        if name == "expiry":
            if text != ABSENT and not _DATE.fullmatch(text):
                raise properties.invalid_value(self.resource, name, value, "it is a date as 2030-12-31, or absent")
        elif name in ("home", "shell") and not text.startswith("/"):
            raise properties.invalid_value(self.resource, name, value, "it is an absolute path")
        if ":" in text or "\n" in text:
            raise properties.invalid_value(self.resource, name, value, "it has no colon and no line break")
        return text

    def _group_names(self, value: Any) -> list[str]:
        names = properties.as_texts(value)
        for name in names:
            if name.isdecimal() or "," in name or not name:
                raise properties.invalid_value(
                    self.resource, "groups", name, "it is the name of a group, one in each element"
                )
        return sorted(set(names))

    def read(self) -> State:
        user = accounts.find_user(self.node, self.name, self._is_local)
        if user is None:
            return {"ensure": ABSENT}
        return _properties(user, list(accounts.accounts(self.node).groups_of.get(self.name, ())))

    def is_in_sync(self, name: str, previous: Any, desired: Any) -> bool:
        if name == "groups":
            return set(desired) == set(previous) if self._is_whole else set(desired) <= set(previous)
        if name == "gid" and isinstance(desired, str):
            group = accounts.find_group(self.node, desired, self._is_local)
            return group is not None and group.gid == previous
        return bool(previous == desired)

    def change(self, name: str, previous: Any, desired: Any) -> Change:
        if name == "password":
            return Change(name, previous, desired, "changed [redacted] to [redacted]", is_sensitive=True)
        if name == "groups":
            desired = desired if self._is_whole else sorted({*previous, *desired})
            return Change(
                name,
                previous,
                desired,
                properties.change_message(name, ",".join(previous), properties.format_value(desired)),
            )
        return super().change(name, previous, desired)

    def apply(self, change: Change) -> None:
        if change.property != "ensure":
            self._set(change.property, change.desired)
        elif change.desired == ABSENT:
            accounts.run_tool(self.node, ["userdel", *(["-r"] if self._manages_home else []), self.name])
        else:
            self._add()

    def expand(self, state: State) -> Sequence[Handler]:
        """The removal of undeclared ssh keys, if purge_ssh_keys is set."""
        purge = self.resource.get("purge_ssh_keys", False)
        user = accounts.find_user(self.node, self.name, self._is_local)
        if purge is False or user is None or self.ensure == ABSENT:
            return ()
        from precast.resources.user_keys import authorized_keys_files, find_undeclared_keys

        return tuple(
            find_undeclared_keys(
                self.resource, self.node, authorized_keys_files(purge, self.desired.get("home", user.home))
            )
        )

    def _add(self) -> None:
        argv = ["useradd", *self._home_option(), *(["-r"] if self._is_system else [])]
        if "gid" not in self.desired and accounts.find_group(self.node, self.name, self._is_local) is not None:
            argv += ["-g", self.name]  # an existing group of that name becomes the user's primary group
        for name, option in _OPTIONS.items():
            desired = self.desired.get(name)
            if desired not in (None, ABSENT, []):
                argv += [option, _word(desired)]
        self._check_shell()
        argv += ["-o"] if self._may_repeat and "uid" in self.desired else []
        accounts.run_tool(self.node, [*argv, self.name])
        for name in ("password", *_AGES):
            if name in self.desired:
                self._set(name, self.desired[name])

    def _home_option(self) -> list[str]:
        """Whether useradd creates the home directory: with a prefix it fails if the directory exists."""
        if not self._manages_home:
            return ["-M"]
        home = self.desired.get("home", f"/home/{self.name}")
        return ["-M"] if safe_reads.is_directory(safe_reads.node_parents(self.node), home) else ["-m"]

    def _set(self, name: str, desired: Any) -> None:
        if name == "password":
            accounts.run_tool(self.node, ["chpasswd", "-e"], stdin=f"{self.name}:{desired}\n".encode())
        elif name in _AGES:
            accounts.run_tool(self.node, ["chage", _AGES[name], str(desired), self.name])
        else:
            if name == "shell":
                self._check_shell()
            repeat = ["-o"] if name == "uid" and self._may_repeat else []
            word = "" if desired == ABSENT else _word(desired)
            accounts.run_tool(self.node, ["usermod", _OPTIONS[name], word, *repeat, self.name])

    def _check_shell(self) -> None:
        """Reject a missing shell, as Puppet does: the account could not log in."""
        shell = self.desired.get("shell")
        if shell is not None and not has_program(shell, self.node.root):
            raise properties.invalid_value(self.resource, "shell", shell, "it must exist")

    @classmethod
    def instances(cls, node: ManagedNode) -> Iterable[Instance]:
        known = accounts.accounts(node)
        for user in known.users.values():
            state = _properties(user, list(known.groups_of.get(user.name, ())))
            present = {name: value for name, value in state.items() if value not in (ABSENT, "", [])}
            yield Instance(user.name, {**present, "provider": "useradd"})


def _word(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def _properties(user: accounts.User, groups: list[str]) -> dict[str, Any]:
    return {
        "ensure": PRESENT,
        "comment": user.comment,
        "expiry": user.expiry or ABSENT,
        "gid": user.gid,
        "groups": groups,
        "home": user.home,
        "password": user.password,
        "password_max_age": user.max_days,
        "password_min_age": user.min_days,
        "password_warn_days": user.warn_days,
        "shell": user.shell,
        "uid": user.uid,
    }

"""Secrets as people see them: references, where catalogs have them, and the keys that seal them; never a value."""

from datetime import datetime

import msgspec


class SecretRow(msgspec.Struct, frozen=True):
    """A secret of an environment, with the number of stored catalogs that refer to it."""

    ref: str
    stored_at: datetime
    catalogs: int


class SecretUser(msgspec.Struct, frozen=True):
    """A node whose catalog has the secret: `staged`, `served`, or `entry` with the entry point of a plan."""

    node: str
    state: str
    entry: str = ""


class SecretView(msgspec.Struct, frozen=True):
    """One secret: the parameters of resources that have it, and the nodes whose catalogs these are."""

    environment: str
    ref: str
    stored_at: datetime
    parameters: list[str]
    nodes: list[SecretUser]
    is_complete: bool


class MasterKeyRow(msgspec.Struct, frozen=True):
    """A master key: how many keys of environments it wraps, and how many processes have it, of how many."""

    id: str
    wraps: int
    processes: int


class KeyProcess(msgspec.Struct, frozen=True):
    """A running process of a server, with the ids of its master keys, the current one first."""

    machine: str
    keys: list[str]


class SecretKeysView(msgspec.Struct, frozen=True):
    """The state of the keys of secrets, with what an operator has to do next, if anything."""

    keys: list[MasterKeyRow]
    processes: list[KeyProcess]
    secrets: dict[str, int]
    state: str
    next_step: str = ""

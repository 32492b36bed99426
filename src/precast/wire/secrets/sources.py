"""Sources of secrets as people see them: their state, never a value."""

from datetime import datetime

import msgspec


class SourceEnvironment(msgspec.Struct, frozen=True):
    """What an environment may read from a source, and the documents that its nodes read: how many, known, and failed last time."""

    environment: str
    paths: list[str]
    documents: int = 0
    known: int = 0
    failed: int = 0
    read_at: datetime | None = None
    tried_at: datetime | None = None
    due_at: datetime | None = None
    problem: str = ""


class SecretSourceRow(msgspec.Struct, frozen=True):
    """A source that the server's configuration names."""

    name: str
    kind: str
    place: str
    ttl_s: float
    environments: list[SourceEnvironment]


class SourceRefresh(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The source that is asked again; an empty name stands for all, and for the key pairs of hiera-eyaml."""

    source: str = ""


class RefreshAnswer(msgspec.Struct, frozen=True):
    """How many documents are asked for, and the environments whose nodes are decided upon."""

    documents: int
    environments: list[str]


class SecretPolicyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a fact may choose a secret: warn or refuse."""

    by_facts: str


class SecretPolicyView(msgspec.Struct, frozen=True):
    """The policy of an environment."""

    environment: str
    by_facts: str

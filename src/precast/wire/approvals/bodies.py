"""Bodies of the API about approvals: requests that other people must approve before they are carried out."""

from datetime import datetime

import msgspec


class DecisionBody(msgspec.Struct, frozen=True):
    """An approval, a rejection or a withdrawal, with its reason. With a digest, only a request for exactly that is decided."""

    why: str = ""
    digest: str = ""


class DecisionView(msgspec.Struct, frozen=True):
    """What one person decided."""

    person: str
    is_approval: bool
    why: str
    at: datetime


class ApprovalView(msgspec.Struct, frozen=True):
    """A request for approval. `digest` is of exactly what would be done; `nodes` are the first of those concerned."""

    id: str
    kind: str
    environment: str
    subject: str
    digest: str
    needed: int
    approvals: int
    state: str  # open, granted, rejected, withdrawn, expired, void
    requested_by: str
    why: str
    requested_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None
    outcome: str = ""
    nodes: list[str] = []
    node_count: int = 0
    decisions: list[DecisionView] = []

"""Bodies of the API about catalogs: staged and released ones, their differences, and why a node has its catalog."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from precast.wire.exports import CollectorsView
from precast.wire.nodes.bodies import TargetsBody
from precast.wire.reports.records import Timestamp

# The number of a release in the log.
LogNumber = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class ProblemView(msgspec.Struct, frozen=True):
    """A problem of a catalog that does not prevent its release: the code of the issue, its text and its hint."""

    code: str
    text: str
    hint: str


class StagedView(msgspec.Struct, frozen=True):
    """The staged and the served catalog of a node; of an entry point, the staged one."""

    node: str
    environment: str
    version: str
    state: str
    staged: str | None
    released: str | None
    decided_at: datetime
    changed_at: datetime
    released_at: datetime | None = None
    released_by: str | None = None
    error: str | None = None
    logs: list[tuple[str, str]] = []
    problems: list[ProblemView] = []
    entry: str = ""


class CompileInputsView(msgspec.Struct, frozen=True):
    """What the server compiles a node's catalog with, besides the code: `version` is the code that it would use now."""

    node: str
    environment: str
    version: str | None
    facts: dict[str, Any]
    trusted: dict[str, Any]
    classes: dict[str, dict[str, Any]]
    parameters: dict[str, Any]
    server_facts: dict[str, Any]


class ReadView(msgspec.Struct, frozen=True):
    """One read of a trace: the question that the code asked, and the answer it got."""

    question: str
    about: str
    answer: str


class VersionView(msgspec.Struct, frozen=True):
    """A version of an environment that caused a change."""

    number: int
    version: str
    source: str
    commit: str | None
    deployed_by: str
    deployed_at: datetime


class LastChange(msgspec.Struct, frozen=True):
    """When a node's staged catalog last changed, which read differed, and which version of the code caused that, if one did."""

    at: datetime
    before: str | None
    after: str | None
    question: str
    about: str
    old_answer: str
    new_answer: str
    brought_by: VersionView | None = None


class CatalogExplanation(msgspec.Struct, frozen=True):
    """The reads that determine a node's catalog."""

    node: str
    environment: str
    version: str
    catalog: str | None
    reads: list[ReadView]
    change: LastChange | None = None


class ProgressView(msgspec.Struct, frozen=True):
    """The progress of a node's compile: queued, deciding, compiling, given up, or done."""

    node: str
    state: str
    error: str = ""
    attempts: int = 0


class ReadinessBody(msgspec.Struct, frozen=True):
    """Ask whether nodes are ready, for a caller that waits since `asked_by`; without it, since now."""

    nodes: TargetsBody
    asked_by: Timestamp | None = None


class ReadinessView(msgspec.Struct, frozen=True):
    """How many nodes are staged with their newest code, and how many are not waited for, by reason; `waiting` names the first nodes that
    are.

    A caller that asks again sends `asked_by` back: a node that was staged since then is ready, even if it needs another compile
    meanwhile. Otherwise the wait might never end.
    """

    asked_by: datetime
    nodes: int
    ready: int
    broken: int
    left_out: dict[str, int]
    waiting_count: int
    waiting: list[str]


class ReleaseBody(msgspec.Struct, frozen=True):
    """Release the staged catalogs of nodes; if a version is given, only those staged with this version of the environment.

    One request releases a page of nodes. The next one sends `release` and `after` of the answer back. Without `after`, `release`
    continues a release that was interrupted, from its first node on.
    """

    nodes: TargetsBody
    version: Annotated[str, msgspec.Meta(max_length=200)] | None = None
    why: str = ""
    release: LogNumber | None = None
    after: Annotated[str, msgspec.Meta(max_length=200)] = ""


class RollbackBody(msgspec.Struct, frozen=True):
    """Serve nodes what they were served before: one step back, or what `to` names. It is paged as a release is.

    `to` is the number of a release, the beginning of a commit or of a version of the code, or a time.
    """

    nodes: TargetsBody
    why: str = ""
    to: Annotated[str, msgspec.Meta(max_length=200)] = ""
    release: LogNumber | None = None
    after: Annotated[str, msgspec.Meta(max_length=200)] = ""


class PendingApproval(msgspec.Struct, frozen=True):
    """A request for the release of some nodes, which other people must approve."""

    request: str
    environment: str
    needed: int
    expires_at: datetime
    nodes: int
    digest: str


class ReleasePoint(msgspec.Struct, frozen=True):
    """A release with its code, as people name it."""

    release: int
    version: str
    commit: str | None


class MoveView(msgspec.Struct, frozen=True):
    """Nodes that a rollback moves from one release to another; the first names, and how many they are."""

    before: ReleasePoint
    after: ReleasePoint
    nodes: list[str]
    count: int


class ReleaseDone(msgspec.Struct, frozen=True):
    """The outcome of a release or rollback, by node; `pending` are the requests of environments that need approvals.

    `release` is its number, absent if it has changed nothing yet. Unless `after` is absent, there are more nodes. The answer to the first
    request has the number of `targets`.
    """

    released: list[str]
    unchanged: list[str]
    left_out: dict[str, str]
    pending: list[PendingApproval] = []
    release: int | None = None
    after: str | None = None
    targets: int = 0
    moves: list[MoveView] = []


class CodeView(msgspec.Struct, frozen=True):
    """A version of an environment's code, with its commit if it came from a repository."""

    environment: str
    version: str
    commit: str | None


class ReleaseView(msgspec.Struct, frozen=True):
    """A release or rollback over the fleet. It is unfinished while `finished_at` is absent: then some of its nodes are not done.

    `to` is where a rollback goes, or the version that a release is limited to; empty without one.
    """

    release: int
    kind: str
    began_at: datetime
    finished_at: datetime | None
    by: str
    why: str
    targets: TargetsBody
    to: str
    request: str
    nodes: int
    code: list[CodeView]


class NodeReleaseView(msgspec.Struct, frozen=True):
    """A release in the history of a node: served, replaced, or rolled back. A rollback restores a release, and has no state."""

    release: int
    kind: str
    state: str
    at: datetime
    by: str
    environment: str
    version: str
    commit: str | None
    catalog: str
    restores: int | None = None


class ParameterView(msgspec.Struct, frozen=True):
    name: str
    before: Any = msgspec.UNSET
    after: Any = msgspec.UNSET


class ChangeView(msgspec.Struct, frozen=True):
    """A change that several nodes have in common."""

    ref: str
    kind: str
    parameters: list[ParameterView]
    nodes: list[str]
    count: int


class RefreshView(msgspec.Struct, frozen=True):
    """A resource that is refreshed, and on how many nodes."""

    ref: str
    count: int


class CommonProblem(msgspec.Struct, frozen=True):
    """A problem of staged catalogs, and the nodes that have it."""

    problem: ProblemView
    nodes: list[str]
    count: int


class PreviewView(msgspec.Struct, frozen=True):
    """What a release or rollback would change, and the problems of the catalogs that a release would serve; the most common first.

    A rollback also has its moves. `collectors` are decided about again, because what they collect would change.
    """

    nodes: int
    unchanged: int
    left_out: dict[str, str]
    changes: list[ChangeView]
    refreshed: list[RefreshView]
    problems: list[CommonProblem] = []
    moves: list[MoveView] = []
    collectors: list[CollectorsView] = []


class CatalogError(msgspec.Struct, frozen=True):
    """A node that gets no catalog, for its main manifest or for an entry point: the code has an error."""

    node: str
    environment: str
    version: str
    error: str
    since: datetime
    problems: list[ProblemView] = []
    entry: str = ""

    @property
    def position(self) -> str:
        """Where the next page of the list begins."""
        return f"{self.node} {self.entry}".rstrip()


class CatalogWarning(msgspec.Struct, frozen=True):
    """A node whose staged catalog, or that of an entry point, has problems that a run would meet."""

    node: str
    environment: str
    version: str
    problems: list[ProblemView]
    since: datetime
    entry: str = ""

    @property
    def position(self) -> str:
        """Where the next page of the list begins."""
        return f"{self.node} {self.entry}".rstrip()


class DeadCompile(msgspec.Struct, frozen=True):
    """A compile or decision that failed too often, without a fault of the code, and the nodes that wait for it."""

    kind: str
    environment: str
    error: str
    attempts: int
    since: datetime
    nodes: list[str]
    count: int


class FlappingFact(msgspec.Struct, frozen=True):
    """A fact that changed so often that compiles of its node are delayed: how often since when."""

    node: str
    path: str
    times: int
    since: datetime
    last_at: datetime

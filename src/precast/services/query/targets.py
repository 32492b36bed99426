"""Resolves targets to nodes. Targets that match no node are an error, never all nodes; a deactivated node is not a target.

The nodes are read a page at a time, so that memory does not grow with the fleet, and within a time limit.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple

from precast.base.clock import Clock
from precast.base.spans import Span
from precast.services.issues import NO_SUCH_NODE
from precast.services.query import issues
from precast.services.query.known_nodes import KnownNode, KnownNodes, NodeParts
from precast.services.query.node_fields import NodeFieldReader
from precast.services.query.predicates import compile_predicate
from precast.wire import issues as wire_issues
from precast.wire.nodes.bodies import TargetsAnswer, TargetsBody
from precast.wire.query.parser import parse
from precast.wire.query.targets import (
    Comparison,
    Existence,
    HasResource,
    Membership,
    Or,
    Term,
    is_list_of_names,
    plain_names,
    rests_on_claims,
    walk,
)

# Nodes in one read: fewer with facts, because the facts of a node without a brief take tens of kilobytes.
PAGE = 500
PAGE_WITH_FACTS = 200
MAX_ANSWER = 500
TIME_S = 20.0
MAX_TARGETS = 1000


class TargetSelection(NamedTuple):
    """Parsed targets: the term, or None for all nodes."""

    term: Term | None
    is_claim: bool
    with_deactivated: bool

    @property
    def names(self) -> list[str]:
        return plain_names(self.term) if self.term is not None else []


class ResolvedTargets(NamedTuple):
    """The names of the matching nodes, whether the selection depends on facts, and the environments of the nodes."""

    names: list[str]
    rests_on_claims: bool
    environments: frozenset[str] = frozenset()

    @property
    def environment(self) -> str | None:
        """The environment of all of them; None if they are of several."""
        return next(iter(self.environments)) if len(self.environments) == 1 else None


def parse_targets(body: TargetsBody) -> TargetSelection:
    """Parse targets. Raises InputError TARGET-001 to TARGET-006."""
    if body.all and body.targets:
        raise issues.ALL_AND_TARGETS.error()
    if not body.all and not body.targets:
        raise wire_issues.NO_TARGETS.error()
    if len(body.targets) > MAX_TARGETS:
        raise wire_issues.TARGET_TOO_LARGE.error(what=f"a list of {len(body.targets)} targets", limit=MAX_TARGETS)
    terms = tuple(parse(text) for text in body.targets)
    term = Or(Span(0, 0), terms) if terms else None
    return TargetSelection(term, term is not None and rests_on_claims(term), body.deactivated)


class TargetService:
    """Finds the nodes that targets select; holds no state between calls."""

    def __init__(self, nodes: KnownNodes, clock: Clock) -> None:
        self._nodes = nodes
        self._clock = clock

    async def resolve_page(self, body: TargetsBody, after: str = "", *, may_be_gone: bool = False) -> TargetsAnswer:
        """Return the first matching nodes that follow a name. With `may_be_gone`, names that no longer exist match no node.

        Raises InputError for invalid targets; without `may_be_gone`, NotFoundError NODE-001 for an unknown name, and TARGET-007 if no
        node matches.
        """
        selection = parse_targets(body)
        if not may_be_gone:
            await self._check_names(selection)
        nodes: list[KnownNode] = []
        async for node in self.find(selection, after):
            nodes.append(node)
            if len(nodes) == MAX_ANSWER:
                return TargetsAnswer([node.row for node in nodes], selection.is_claim, nodes[-1].name)
        if not nodes and not after and not may_be_gone:
            raise issues.NO_MATCHING_NODES.error(
                what="there are no nodes" if selection.term is None else "no node matches these targets"
            )
        return TargetsAnswer([node.row for node in nodes], selection.is_claim, None)

    async def resolve(self, body: TargetsBody) -> ResolvedTargets:
        """Return all matching nodes. Raises what `resolve_page` raises."""
        names: list[str] = []
        environments: set[str] = set()
        after: str | None = ""
        while after is not None:
            answer = await self.resolve_page(body, after)
            names += [row.name for row in answer.nodes]
            environments.update(row.environment or "" for row in answer.nodes)
            after = answer.after
        return ResolvedTargets(names, answer.rests_on_claims, frozenset(environments))

    async def _check_names(self, selection: TargetSelection) -> None:
        if not selection.names:
            return
        unknown = await self._nodes.find_unknown(selection.names, deactivated=selection.with_deactivated)
        if unknown:
            raise NO_SUCH_NODE.error(node=_listed(unknown))

    async def find(
        self,
        selection: TargetSelection,
        after: str,
        details: NodeParts = NodeParts(),  # noqa: B008 - immutable
    ) -> AsyncIterator[KnownNode]:
        """Yield the matching nodes by name, with the given details. Raises QUERY-001, TARGET-008."""
        parts = parts_of(selection.term, details)
        if selection.term is not None and not any(parts) and is_list_of_names(selection.term):
            # The targets are plain names of nodes that exist: no other nodes need to be read.
            names = sorted({name for name in selection.names if name > after})
            for start in range(0, len(names), PAGE):
                for node in await self._nodes.find_all(names[start : start + PAGE]):
                    if node.is_active or selection.with_deactivated:
                        yield node
            return
        terms = walk(selection.term) if selection.term is not None else ()
        reader = NodeFieldReader(
            await self._nodes.compile_has([term for term in terms if isinstance(term, HasResource)])
        )
        test = compile_predicate(selection.term, reader) if selection.term is not None else None
        limit = PAGE_WITH_FACTS if parts.facts else PAGE
        started_s = self._clock.monotonic_s()
        while page := await self._nodes.read_page(after, limit, parts):
            for node in page:
                if (node.is_active or selection.with_deactivated) and (test is None or test(node)):
                    yield node
            after = page[-1].name
            if self._clock.monotonic_s() - started_s > TIME_S:
                raise issues.TARGETS_TOO_SLOW.error(seconds=TIME_S)


def parts_of(term: Term | None, details: NodeParts) -> NodeParts:
    """The parts of nodes that must be read to evaluate a term, besides the given details."""
    terms = list(walk(term)) if term is not None else []
    fields = [
        field_test.field.parts for field_test in terms if isinstance(field_test, Comparison | Membership | Existence)
    ]
    compared = parts_of_fields(fields)
    has_catalog_term = any(isinstance(operand, HasResource) for operand in terms)
    return NodeParts(
        details.facts | compared.facts,
        details.served or compared.served or has_catalog_term,
        details.staged or compared.staged,
        details.report or compared.report,
    )


def parts_of_fields(fields: Iterable[tuple[str, ...]]) -> NodeParts:
    """The parts of nodes that must be read to show fields."""
    fields = list(fields)
    firsts = {parts[0] for parts in fields}
    is_catalog = "catalog" in firsts
    return NodeParts(
        facts=frozenset(".".join(parts[1:]) for parts in fields if parts[0] == "facts"),
        served=is_catalog or "released_at" in firsts,
        staged=is_catalog,
        report=bool(firsts & {"outcome", "report"}),
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(name[:80] for name in names[:3]) + more

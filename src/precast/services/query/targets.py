"""Resolves targets to nodes. A set that means nobody is an error, never everybody; a node that is deactivated is no target.

All nodes are gone through a page at a time, so that memory does not grow with the fleet, and for a limited time.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import NamedTuple

from precast.base.clock import Clock
from precast.base.spans import Span
from precast.services import issues
from precast.services.query.known_nodes import KnownNode, KnownNodes, Parts
from precast.services.query.matching import matcher
from precast.services.query.node_fields import NodeReading
from precast.wire import issues as wire_issues
from precast.wire.nodes.bodies import TargetsAnswer, TargetsBody
from precast.wire.query.parser import parse
from precast.wire.query.targets import (
    Comparison,
    Existence,
    Has,
    Membership,
    Or,
    Term,
    is_list_of_names,
    plain_names,
    rests_on_claims,
    walk,
)

# Nodes read at once: fewer with facts, of which each node has tens of kilobytes where they are not known in short.
PAGE = 500
PAGE_WITH_FACTS = 200
ANSWER = 500
TIME_S = 20.0
MAX_TARGETS = 1000


class Wanted(NamedTuple):
    """Targets that were read: the term, or None for all."""

    term: Term | None
    is_claim: bool
    with_deactivated: bool

    @property
    def names(self) -> list[str]:
        return plain_names(self.term) if self.term is not None else []


class Resolved(NamedTuple):
    """The names that are meant, and whether facts decided."""

    names: list[str]
    rests_on_claims: bool


def read(body: TargetsBody) -> Wanted:
    """Raises InputError TARGET-001 to TARGET-006."""
    if body.all and body.targets:
        raise issues.ALL_AND_SOME.error()
    if not body.all and not body.targets:
        raise wire_issues.NO_TARGETS.error()
    if len(body.targets) > MAX_TARGETS:
        raise wire_issues.TARGET_TOO_LARGE.error(what=f"a list of {len(body.targets)} targets", limit=MAX_TARGETS)
    terms = tuple(parse(text) for text in body.targets)
    term = Or(Span(0, 0), terms) if terms else None
    return Wanted(term, term is not None and rests_on_claims(term), body.deactivated)


class TargetService:
    """Finds the nodes that are meant; holds no state between calls."""

    def __init__(self, nodes: KnownNodes, clock: Clock) -> None:
        self._nodes = nodes
        self._clock = clock

    async def page(self, body: TargetsBody, after: str = "") -> TargetsAnswer:
        """The first nodes that are meant, from after a name on.

        Raises InputError for what is no target, NotFoundError NODE-001 for a name that is none, TARGET-007 if nobody is meant.
        """
        wanted = read(body)
        await self._check_names(wanted)
        found: list[KnownNode] = []
        async for node in self.matching(wanted, after):
            found.append(node)
            if len(found) == ANSWER:
                return TargetsAnswer([one.row for one in found], wanted.is_claim, found[-1].name)
        if not found and not after:
            raise issues.NOBODY.error(what="there are no nodes" if wanted.term is None else "no node is meant by this")
        return TargetsAnswer([one.row for one in found], wanted.is_claim, None)

    async def names(self, body: TargetsBody) -> Resolved:
        """Everyone who is meant. Raises as `page` does."""
        names: list[str] = []
        after: str | None = ""
        while after is not None:
            answer = await self.page(body, after)
            names += [row.name for row in answer.nodes]
            after = answer.after
        return Resolved(names, answer.rests_on_claims)

    async def _check_names(self, wanted: Wanted) -> None:
        unknown = await self._nodes.unknown(wanted.names, deactivated=wanted.with_deactivated) if wanted.names else []
        if unknown:
            raise issues.NO_SUCH_NODE.error(node=_listed(unknown))

    async def matching(
        self,
        wanted: Wanted,
        after: str,
        more: Parts = Parts(),  # noqa: B008 - immutable
    ) -> AsyncIterator[KnownNode]:
        """The nodes that are meant, by name, with more known of them if that is wanted. Raises QUERY-001, TARGET-008."""
        parts = parts_of(wanted.term, more)
        if wanted.term is not None and not any(parts) and is_list_of_names(wanted.term):
            # They were asked for by themselves, and exist: nobody else needs to be looked at.
            names = sorted({name for name in wanted.names if name > after})
            for at in range(0, len(names), PAGE):
                for node in await self._nodes.named(names[at : at + PAGE]):
                    if node.is_active or wanted.with_deactivated:
                        yield node
            return
        asked = [one for one in walk(wanted.term) if isinstance(one, Has)] if wanted.term is not None else []
        reading = NodeReading(await self._nodes.holding(asked))
        test = matcher(wanted.term, reading) if wanted.term is not None else None
        limit = PAGE_WITH_FACTS if parts.facts else PAGE
        started_s = self._clock.monotonic_s()
        while page := await self._nodes.page(after, limit, parts):
            for node in page:
                if (node.is_active or wanted.with_deactivated) and (test is None or test(node)):
                    yield node
            after = page[-1].name
            if self._clock.monotonic_s() - started_s > TIME_S:
                raise issues.TARGETS_TOO_SLOW.error(seconds=TIME_S)


def parts_of(term: Term | None, more: Parts) -> Parts:
    """What has to be read of nodes to decide about them."""
    terms = list(walk(term)) if term is not None else []
    fields = [one.field.parts for one in terms if isinstance(one, Comparison | Membership | Existence)]
    known = parts_of_fields(fields)
    has = any(isinstance(one, Has) for one in terms)
    return Parts(
        more.facts | known.facts,
        more.served or known.served or has,
        more.staged or known.staged,
        more.report or known.report,
    )


def parts_of_fields(fields: Iterable[tuple[str, ...]]) -> Parts:
    """The same for fields that are to be shown."""
    fields = list(fields)
    firsts = {parts[0] for parts in fields}
    is_catalog = "catalog" in firsts
    return Parts(
        facts=frozenset(".".join(parts[1:]) for parts in fields if parts[0] == "facts"),
        served=is_catalog or "released_at" in firsts,
        staged=is_catalog,
        report=bool(firsts & {"outcome", "report"}),
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(name[:80] for name in names[:3]) + more

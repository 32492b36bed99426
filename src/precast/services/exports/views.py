"""Shows what nodes export, who collects it, and which loops were stopped. A caller sees only the environments that it may read."""

from collections.abc import Sequence

import msgspec

from precast.catalog.sensitive import HIDDEN, is_sensitive
from precast.lang.compiler.resources import capitalized
from precast.services.code.environments import require_environment
from precast.services.code.issues import NO_ENVIRONMENT
from precast.services.exports.answers import MAX_EXPORTS
from precast.services.exports.publishing import decode_export
from precast.store.code.environments import Environments
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.exports import resources, rounds
from precast.store.exports.rounds import TypeKey
from precast.wire.exports import ExportedRow, ExportedType, ExportLoop, LoopMemberView

MAX_TYPES = 5_000
PAGE = 500


class ExportViews:
    """Holds no state between calls."""

    def __init__(self, database: Database, environments: Environments) -> None:
        self._database, self._environments = database, environments

    async def list_types(self, environment: str, allowed: Sequence[str]) -> list[ExportedType]:
        """What is exported, by type and environment: of all that the caller may read if none is given. Raises NotFoundError ENV-005."""
        await self._require(environment, allowed)
        rows = await self._database.read(_list_types)
        return [
            row for row in rows if environment in ("", row.environment) and (not allowed or row.environment in allowed)
        ]

    async def list_resources(
        self, type_name: str, environment: str, after: str, allowed: Sequence[str]
    ) -> list[ExportedRow]:
        """A page of the exports of a type, by node; of all environments if none is given. Raises NotFoundError ENV-005."""
        await self._require(environment, allowed)
        rows = await self._database.read(_list_resources, capitalized(type_name.lower()), environment)
        return [row for row in rows if row.position > after and (not allowed or row.environment in allowed)][:PAGE]

    async def list_collectors(self, type_name: str, environment: str, after: str, allowed: Sequence[str]) -> list[str]:
        """A page of the nodes that collect exports of a type in an environment, by name.

        A caller that is limited to some environments is not told of nodes that see the exports of all: they may be of any.
        """
        type_name = capitalized(type_name.lower())
        return await self._database.read(_list_collectors, type_name, environment, after, bool(allowed))

    async def list_loops(self, after: str) -> list[ExportLoop]:
        """A page of the nodes that are held back because of a loop, by name."""
        stopped = await self._database.read(rounds.list_stopped, after, PAGE)
        return [
            ExportLoop(
                loop.node,
                loop.state,
                loop.round,
                loop.stopped_at,
                [msgspec.convert(member, LoopMemberView, from_attributes=True) for member in loop.members],
            )
            for loop in stopped
        ]

    async def _require(self, environment: str, allowed: Sequence[str]) -> None:
        """An environment that the caller may not read looks like one that does not exist."""
        if environment and allowed and environment not in allowed:
            raise NO_ENVIRONMENT.error(name=environment[:100])
        if environment:
            await self._database.read(require_environment, self._environments, environment)


def _list_types() -> Transaction[list[ExportedType]]:
    collectors = yield from rounds.count_collectors()
    return [
        ExportedType(
            count.type,
            count.environment,
            count.state,
            count.resources,
            count.nodes,
            collectors.get(TypeKey(count.environment, count.state, count.type), 0)
            + collectors.get(TypeKey("", count.state, count.type), 0),
        )
        for count in (yield from resources.count_types(MAX_TYPES))
    ]


def _list_resources(type_name: str, environment: str) -> Transaction[list[ExportedRow]]:
    rows: list[ExportedRow] = []
    for state in resources.STATES:
        for row in (yield from resources.list_of_type(type_name, environment, state, MAX_EXPORTS)):
            export = decode_export(row.body)
            shown = {name: HIDDEN if is_sensitive(value) else value for name, value in export.parameters.items()}
            tags = list(export.tags)
            rows.append(ExportedRow(row.node, row.type, export.title, shown, tags, row.environment, state, row.id))
    return sorted(rows, key=lambda row: row.position)


def _list_collectors(type_name: str, environment: str, after: str, is_limited: bool) -> Transaction[list[str]]:
    names: set[str] = set()
    for state in resources.STATES:
        key, last = TypeKey(environment, state, type_name), after
        while page := (yield from rounds.list_collectors(key, last, PAGE)):
            rows = (yield from rounds.find_collected(page)) if is_limited else ()
            own = {row.node for row in rows if (row.type, row.environment) == (type_name, environment)}
            names.update(own if is_limited else page)
            if len(names) >= PAGE or len(page) < PAGE:
                break
            last = page[-1]
    return sorted(names)[:PAGE]

"""Verifies that a signer's authority and a database belong to one site.

The database has the fingerprints of the site's authorities. Beside another authority, every node and every token of the database would be
refused: a mistake after a restore, which cuts off the fleet.
"""

from collections.abc import Sequence

from precast.services.identity import certificates, issues
from precast.services.identity.authority import PublicAuthority
from precast.store.engine.database import Database
from precast.store.engine.query import Transaction
from precast.store.identity.authorities import Authorities
from precast.store.nodes.nodes import Fleet


def trusted_fingerprints(authority: PublicAuthority) -> list[str]:
    """The authority and, during a rotation, the one before or after it. An imported one belongs to another site."""
    return [authority.fingerprint, *map(certificates.fingerprint, authority.others)]


async def verify_site(database: Database, authority: PublicAuthority) -> None:
    """Record the authority of a running site. Raises ConflictError CA-043 if the database belongs to another one."""
    await database.write(_verify, database, trusted_fingerprints(authority))


async def refuse_other_site(database: Database, *, may_have_nodes: bool) -> None:
    """Raises ConflictError CA-042 if the database has an authority, or nodes that no interrupted import has left there."""
    known, nodes = await database.read(_read_site, database)
    if known or (nodes and not may_have_nodes):
        raise issues.SITE_EXISTS.error(location=database.location, nodes=nodes)


def _read_site(database: Database) -> Transaction[tuple[Sequence[str], int]]:
    known = yield from Authorities(database).list()
    states = yield from Fleet(database).count_states()
    return known, sum(states.values())


def _verify(database: Database, trusted: Sequence[str]) -> Transaction[None]:
    known = yield from Authorities(database).list()
    if known and not set(known) & set(trusted):
        raise issues.OTHER_AUTHORITY.error(location=database.location, known=known[0][:16], own=trusted[0][:16])
    yield from Authorities(database).add(trusted)

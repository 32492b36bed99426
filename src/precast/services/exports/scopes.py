"""Which exports the nodes of an environment see, by its setting: as in Puppet those of all environments, or only its own."""

from precast.store.code.environments import EVERYWHERE, RELEASED, STAGED, Environments
from precast.store.engine.query import Transaction
from precast.store.exports import rounds
from precast.store.exports.rounds import TypeKey, TypeRound


def find_scope(environments: Environments, name: str) -> Transaction[TypeKey]:
    """What the nodes of an environment see: the environment, empty for all, and the state. The type is empty."""
    environment = yield from environments.find(name)
    setting = environment.exports if environment is not None else RELEASED
    return TypeKey("" if setting == EVERYWHERE else name, STAGED if setting == STAGED else RELEASED, "")


def is_seen(key: TypeKey, seen: TypeKey) -> bool:
    """Whether exports of an environment are among those that somebody sees."""
    return (key.state, key.type) == (seen.state, seen.type) and seen.environment in (key.environment, "")


def find_seen(seen: TypeKey) -> Transaction[dict[TypeKey, TypeRound]]:
    """The rounds of a type in the environments whose exports are seen."""
    known = yield from rounds.find_types([seen.type])
    return {key: round_ for key, round_ in known.items() if is_seen(key, seen)}

"""Changes to a net for a "what if" simulation. The net itself is a value and does not change."""

from precast.net import issues
from precast.net.model.compiler import MOST, guess, read_count
from precast.net.model.declarations import NetDeclaration, Place, Transition
from precast.net.model.durations import parse_duration


def change_duration(declared: NetDeclaration, change: str) -> NetDeclaration:
    """Set the duration of a transition, given as `NAME=5s`. Raises NotFoundError NET-030 or InputError NET-031."""
    name, _, text = change.rpartition("=")
    duration_ms = parse_duration(text)
    if not name or duration_ms is None or duration_ms > MOST:
        raise issues.BAD_CHANGE.error(text=change, example="'NAME=1m30s'")
    old = find_transition(declared, name)
    return _exchange(declared, old, old._replace(duration_ms=duration_ms))


def change_limit(declared: NetDeclaration, change: str) -> NetDeclaration:
    """Set the initial tokens of a place, given as `NAME=3`. Raises NotFoundError NET-030 or InputError NET-031."""
    name, _, text = change.rpartition("=")
    tokens = read_count(text)
    if not name or tokens is None:
        raise issues.BAD_CHANGE.error(text=change, example="'NAME=3'")
    known = {place.name: place for place in declared.places}
    if name not in known:
        raise issues.UNKNOWN_NAME.error(what="limit", name=name, guess=guess(name, known))
    places = tuple(_fill(place, tokens) if place.name == name else place for place in declared.places)
    return declared._replace(places=places)


def _fill(place: Place, tokens: int) -> Place:
    capacity = None if place.capacity is None else max(place.capacity, tokens)
    return place._replace(tokens=tokens, capacity=capacity)


def remove_transition(declared: NetDeclaration, name: str) -> NetDeclaration:
    """Remove a transition. Steps that needed it then need what it needed, so the order stays. Raises NotFoundError NET-030."""
    removed = find_transition(declared, name)
    others = [transition for transition in declared.transitions if transition is not removed]
    return declared._replace(transitions=tuple(_bypass(transition, removed) for transition in others))


def _bypass(transition: Transition, removed: Transition) -> Transition:
    if removed.name not in transition.needs:
        return transition
    needs: list[str] = []
    for name in transition.needs:
        needs += removed.needs if name == removed.name else [name]
    return transition._replace(needs=tuple(dict.fromkeys(name for name in needs if name != removed.name)))


def find_transition(declared: NetDeclaration, name: str) -> Transition:
    """Find a transition by name. Raises NotFoundError NET-030."""
    known = {transition.name: transition for transition in declared.transitions}
    if name not in known:
        raise issues.UNKNOWN_NAME.error(what="transition or step", name=name, guess=guess(name, known))
    return known[name]


def _exchange(declared: NetDeclaration, old: Transition, new: Transition) -> NetDeclaration:
    return declared._replace(transitions=tuple(new if item is old else item for item in declared.transitions))

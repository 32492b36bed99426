"""Changes to a net that a simulation asks "what if" about; the net itself is a value and stays as it is."""

from precast.net import issues
from precast.net.model.compiling import MOST, guess
from precast.net.model.declarations import Declared, Place, Transition
from precast.net.model.durations import parse_duration


def with_duration(declared: Declared, change: str) -> Declared:
    """`NAME=5s`: let a transition take that long. Raises NotFoundError NET-030 or InputError NET-031."""
    name, _, text = change.rpartition("=")
    duration_ms = parse_duration(text)
    if not name or duration_ms is None or duration_ms > MOST:
        raise issues.BAD_CHANGE.error(text=change, example="'NAME=1m30s'")
    old = find_transition(declared, name)
    return _exchange(declared, old, old._replace(duration_ms=duration_ms))


def with_limit(declared: Declared, change: str) -> Declared:
    """`NAME=3`: start a place with that many tokens. Raises NotFoundError NET-030 or InputError NET-031."""
    name, _, text = change.rpartition("=")
    if not name or not (text.isascii() and text.isdigit()) or int(text[:12]) > MOST:
        raise issues.BAD_CHANGE.error(text=change, example="'NAME=3'")
    known = {place.name: place for place in declared.places}
    if name not in known:
        raise issues.NO_SUCH_WORK.error(what="limit", name=name, guess=guess(name, known))
    places = tuple(_filled(place, int(text)) if place.name == name else place for place in declared.places)
    return declared._replace(places=places)


def _filled(place: Place, tokens: int) -> Place:
    capacity = None if place.capacity is None else max(place.capacity, tokens)
    return place._replace(tokens=tokens, capacity=capacity)


def without(declared: Declared, name: str) -> Declared:
    """Leave a transition out. Those who needed it need what it needed, so the order of the others stays. Raises NotFoundError NET-030."""
    gone = find_transition(declared, name)
    kept = [transition for transition in declared.transitions if transition is not gone]
    return declared._replace(transitions=tuple(_bridged(transition, gone) for transition in kept))


def _bridged(transition: Transition, gone: Transition) -> Transition:
    if gone.name not in transition.needs:
        return transition
    needs: list[str] = []
    for name in transition.needs:
        needs += gone.needs if name == gone.name else [name]
    return transition._replace(needs=tuple(dict.fromkeys(name for name in needs if name != gone.name)))


def find_transition(declared: Declared, name: str) -> Transition:
    """Raises NotFoundError NET-030."""
    known = {transition.name: transition for transition in declared.transitions}
    if name not in known:
        raise issues.NO_SUCH_WORK.error(what="transition or step", name=name, guess=guess(name, known))
    return known[name]


def _exchange(declared: Declared, old: Transition, new: Transition) -> Declared:
    return declared._replace(transitions=tuple(new if item is old else item for item in declared.transitions))

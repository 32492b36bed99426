"""Declares a net piece by piece, by name, and rejects invalid declarations.

The builder is for programs; people write the text notation, whose parser uses the builder too. `build()` resolves the names that
transitions use, because a step may need one that is declared later.
"""

from collections.abc import Iterable, Mapping

from precast.net import issues
from precast.net.model.compiler import MOST, compile_net, require_number
from precast.net.model.declarations import Arcs, NetDeclaration, Place, Transition
from precast.net.model.structure import Net

# The forms in which callers may give arcs: names, names with a number of tokens, or arcs.
ArcsLike = Iterable[str | tuple[str, int]] | Mapping[str, int]


class Builder:
    """Collects places, transitions and steps; `build()` makes the net. Of equal priority, the transition declared first starts first."""

    def __init__(self, name: str = "net") -> None:
        self.name = name
        self._places: dict[str, Place] = {}
        self._transitions: dict[str, Transition] = {}
        self._goal: Arcs = ()

    def place(self, name: str, tokens: int = 0, capacity: int | None = None) -> None:
        self.add_place(Place(name, tokens, capacity))

    def limit(self, name: str, at_once: int = 1) -> None:
        """Add a place whose tokens are slots. A lock is a limit of one."""
        self.add_place(Place(name, at_once, is_limit=True))

    def transition(
        self,
        name: str,
        takes: ArcsLike = (),
        gives: ArcsLike = (),
        reads: ArcsLike = (),
        holds: ArcsLike = (),
        on_failure: ArcsLike | None = None,
        on_skip: ArcsLike | None = None,
        duration_ms: int = 0,
        priority: int = 0,
        is_auto: bool = False,
    ) -> None:
        self.add_transition(
            Transition(
                name,
                takes=arcs(takes),
                reads=arcs(reads),
                holds=arcs(holds),
                gives=arcs(gives),
                on_failure=None if on_failure is None else arcs(on_failure),
                on_skip=None if on_skip is None else arcs(on_skip),
                duration_ms=duration_ms,
                priority=priority,
                is_auto=is_auto,
            )
        )

    def step(self, name: str, needs: Iterable[str] = (), holds: ArcsLike = (), duration_ms: int = 0) -> None:
        """Add work that is done once, after others, within limits. For a step with more arcs use `add_transition`."""
        self.add_transition(
            Transition(name, True, tuple(needs), (), (), arcs(holds), (), None, None, duration_ms, 0, False)
        )

    def add_place(self, place: Place) -> None:
        """Raises InputError NET-001, NET-004 or NET-005; then nothing is added."""
        if place.name in self._places:
            raise issues.DECLARED_TWICE.error(name=place.name)
        require_number("the number of tokens", place.name, place.tokens, 0)
        if place.capacity is not None:
            require_number("the capacity", place.name, place.capacity, 1)
            if place.tokens > place.capacity:
                raise issues.OVERFULL.error(name=place.name, tokens=place.tokens, capacity=place.capacity)
        self._places[place.name] = place

    def add_transition(self, transition: Transition) -> None:
        """Raises InputError NET-001 or NET-004; then nothing is added."""
        name = transition.name
        if name in self._transitions:
            raise issues.DECLARED_TWICE.error(name=name)
        if not 0 <= transition.duration_ms <= MOST:
            require_number("the duration", name, transition.duration_ms, 0)
        self._transitions[name] = transition

    def goal(self, places: ArcsLike) -> None:
        """Require that places have at least these tokens when nothing moves any more."""
        self._goal += arcs(places)

    def build(self) -> Net:
        """Compile the net. Raises InputError NET-002 to NET-004 for an undeclared name or an invalid weight."""
        return compile_net(
            NetDeclaration(self.name, tuple(self._places.values()), tuple(self._transitions.values()), self._goal)
        )


def arcs(given: ArcsLike) -> Arcs:
    if not given:
        return ()
    if isinstance(given, Mapping):
        return tuple(given.items())
    return tuple((item, 1) if isinstance(item, str) else item for item in given)

"""Writes a net in the text notation; `notation.parse` reads the same net back. Comments and the author's layout are lost."""

from collections.abc import Iterator

from precast.net.exchange.lexer import NOTHING, quote
from precast.net.model.declarations import Arcs, NetDeclaration, Place, Transition
from precast.net.model.durations import format_duration


def write(declared: NetDeclaration) -> str:
    """The text of a net, ending in a line break."""
    lines = [f"net {quote(declared.name)}", ""]
    lines += [_place(place) for place in declared.places]
    for transition in declared.transitions:
        lines += ["", _header(transition), *_clauses(transition)]
    if declared.goal:
        lines += ["", f"goal {_arcs(declared.goal)}"]
    return "\n".join(lines) + "\n"


def _place(place: Place) -> str:
    if place.is_limit:
        return f"lock {quote(place.name)}" if place.tokens == 1 else f"limit {quote(place.name)} = {place.tokens}"
    tokens = f" = {place.tokens}" if place.tokens else ""
    capacity = f" capacity {place.capacity}" if place.capacity is not None else ""
    return f"place {quote(place.name)}{tokens}{capacity}"


def _header(transition: Transition) -> str:
    words = ["step" if transition.is_step else "transition", quote(transition.name)]
    if transition.duration_ms:
        words.append(format_duration(transition.duration_ms))
    if transition.priority:
        words.append(f"priority {transition.priority}")
    if transition.is_auto:
        words.append("auto")
    return " ".join(words)


def _clauses(transition: Transition) -> Iterator[str]:
    if transition.needs:
        yield "  needs " + ", ".join(quote(name) for name in transition.needs)
    for word in ("takes", "reads", "holds", "gives"):
        if arcs := getattr(transition, word):
            yield f"  {word} {_arcs(arcs)}"
    for word, outcome in (("failure", transition.on_failure), ("skip", transition.on_skip)):
        if outcome is not None:
            yield f"  on {word} gives {_arcs(outcome)}"


def _arcs(arcs: Arcs) -> str:
    return ", ".join(f"{weight}*{quote(name)}" if weight > 1 else quote(name) for name, weight in arcs) or NOTHING

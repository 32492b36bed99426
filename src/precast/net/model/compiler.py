"""Turns declarations into the integer-indexed net.

Failure is net structure, not a rule of the run. For each step S there is a place *to do* with one token, which the start or the skip of S
takes. For each need there is a place that the needed step fills when it succeeds and that S takes. A needed step that fails or is skipped
instead puts a token on *S: blocked*; the transition *skip S* takes that token and the *to do*, and blocks the steps that need S in turn.
So S runs when all steps it needs succeeded, is skipped as soon as one did not, and never both.

A capacity is structure too: a *room* place holds the free room. A start takes the most room that any outcome could need, and its end gives
back what that outcome did not use. So an end never has to wait.
"""

import contextlib
import gc
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator

from precast.base.errors import PrecastError
from precast.net import issues
from precast.net.model.declarations import Arcs, NetDeclaration, Outcome, Transition
from precast.net.model.structure import NOBODY, Net
from precast.net.model.unit_arcs import UnitArcs, watch_unit

# Far beyond any real count, and every sum of a few of them is exact in 64 bits.
MOST = 10**18
GUESSES = 5_000


def compile_net(declared: NetDeclaration) -> Net:
    """The net of these declarations. Raises InputError NET-002 to NET-004 for an unknown name or a wrong weight."""
    with collector_paused():
        net = _lay_out(declared)
        _join_steps(net)
        units = UnitArcs(net)
        for t, (_, _, _, takes, reads, holds, gives, on_failure, on_skip, _, _, _) in enumerate(declared.transitions):
            if takes or reads or holds or gives or on_failure or on_skip:
                net.with_arcs.append(t)
                if not units.add(t, declared.transitions[t]):
                    _add_arcs(net, t, declared.transitions[t])
        net.goal = list(_numbered(net, declared.goal).items())
        _set_precedence(net)
    return net


def read_count(text: str, least: int = 0) -> int | None:
    """The whole number that decimal digits denote; None for another text, or a number outside the range from `least` to MOST."""
    digits = text.lstrip("0") or "0"
    if not (text.isascii() and text.isdigit() and len(digits) <= len(str(MOST))):
        return None
    return number if least <= (number := int(digits)) <= MOST else None


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector, which would traverse a large graph repeatedly while it grows and find no garbage."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def guess(name: str, known: Iterable[str], similarity: float = 0.6) -> str:
    """`; did you mean x?`, or an empty text if no known name is similar."""
    # Comparing takes time, and a typo hardly changes the length: in a large net only names of similar length are compared.
    likely = itertools.islice((candidate for candidate in known if abs(len(candidate) - len(name)) <= 3), GUESSES)
    import difflib  # loaded only after a typo

    near = difflib.get_close_matches(name, likely, n=1, cutoff=similarity)
    return f"; did you mean {near[0]}?" if near else ""


def require_number(what: str, name: str, number: int, least: int) -> None:
    """Raises InputError NET-004 for a number outside the range from `least` to MOST."""
    if not least <= number <= MOST:
        raise issues.BAD_NUMBER.error(what=what, name=name, number=number, wanted=f"from {least} to {MOST}")


def _lay_out(declared: NetDeclaration) -> Net:
    """Number all places and transitions; arcs are added later."""
    at = len(declared.places)
    steps = sum([transition.is_step for transition in declared.transitions])
    first_skip, first_blocked = len(declared.transitions), at + steps
    to_do = [NOBODY] * first_skip
    blocked, skip = to_do.copy(), to_do.copy()
    skipped_step: list[int] = []
    for t, transition in enumerate(declared.transitions):
        if transition.is_step:
            to_do[t] = at
            at += 1
            if transition.needs:
                blocked[t] = first_blocked + len(skipped_step)
                skip[t] = first_skip + len(skipped_step)
                skipped_step.append(t)
    count = first_skip + len(skipped_step)
    return Net(
        declared=declared,
        initial=[place.tokens for place in declared.places] + [1] * steps + [0] * len(skipped_step),
        takes=[],
        puts=([()] * count, [()] * count, [()] * count),
        watcher=[NOBODY] * (first_blocked + len(skipped_step)),
        groups=[],
        unmet=[0] * count,
        is_auto=bytearray([transition.is_auto for transition in declared.transitions]) + b"\1" * len(skipped_step),
        order=[],
        rank=[0] * count,
        to_do=to_do,
        blocked=blocked,
        skip=skip,
        skipped_step=skipped_step,
        need_from=[],
        need_to=[],
    )


def _join_steps(net: Net) -> None:
    """Give every step its to-do and a place for each need, and every skip its arcs."""
    takes, watcher, unmet, need_to = net.takes, net.watcher, net.unmet, net.need_to
    place = len(net.initial)
    for t, (transition, to_do) in enumerate(zip(net.declared.transitions, net.to_do, strict=True)):
        if needs := transition.needs:
            count = len(needs)
            takes.append((to_do, *range(place, place + count)))
            place += count
            unmet[t] = count
            need_to += (t,) * count
        elif to_do != NOBODY:
            takes.append((to_do,))
            watcher[to_do] = t
        else:
            takes.append(())
    watcher += need_to
    net.initial += [0] * len(need_to)
    _add_skips(net)
    _fill_needs(net)


def _add_skips(net: Net) -> None:
    """Give every skip its conditions.

    A step with needs takes its to-do but need not watch it, because the to-do is never the only token that it lacks: the to-do is taken
    either by the step's own start, which also empties its needs, or by its skip, and then one of its needs is never filled.
    """
    takes, watcher, to_do, blocked = net.takes, net.watcher, net.to_do, net.blocked
    for skip, t in enumerate(net.skipped_step, len(takes)):
        takes.append((to_do[t], blocked[t]))
        watcher[to_do[t]] = watcher[blocked[t]] = skip
    net.unmet[len(net.declared.transitions) :] = [1] * len(net.skipped_step)


def _fill_needs(net: Net) -> None:
    """Let each step, when it succeeds, fill the needs of the steps that need it."""
    by_name = net.transitions_by_name
    try:
        net.need_from = [by_name[name] for transition in net.declared.transitions for name in transition.needs]
    except KeyError as missing:
        raise _unknown_step(net.declared, missing.args[0]) from None
    success: list[list[int]] = [[] for _ in net.declared.transitions]
    for place, t in enumerate(net.need_from, len(net.initial) - len(net.need_to)):
        success[t].append(place)
    net.puts[Outcome.SUCCESS][: len(success)] = success
    if NOBODY in net.to_do:
        for t in net.need_from:
            if net.to_do[t] == NOBODY:
                raise _unknown_step(net.declared, net.transition_name(t))


def _unknown_step(declared: NetDeclaration, name: str) -> PrecastError:
    steps = [transition.name for transition in declared.transitions if transition.is_step]
    return issues.UNKNOWN_STEP.error(name=name, guess=guess(name, steps))


def _add_arcs(net: Net, t: int, transition: Transition) -> None:
    """Add the declared arcs of one transition, and of its skip."""
    puts = [
        _numbered(net, arcs or (), transition.holds)
        for arcs in (transition.gives, transition.on_failure, transition.on_skip)
    ]
    takes = _numbered(net, transition.takes, transition.holds)
    _attach(net, t, takes, _numbered(net, transition.reads), puts)
    if net.skip[t] != NOBODY and transition.on_skip:
        _attach(net, net.skip[t], Counter(), Counter(), [Counter(), Counter(), _numbered(net, transition.on_skip)])


def _attach(net: Net, t: int, takes: Counter[int], reads: Counter[int], puts: list[Counter[int]]) -> None:
    """Add arcs to a transition, and the conditions that follow from them."""
    _reserve_room(net, t, takes, puts)
    if reads:
        net.reads[t] = tuple(reads.items())
    units, heavy = _split(takes)
    net.takes[t] = (*net.takes[t], *units)
    if heavy:
        net.heavy_takes[t] = heavy
    for outcome in Outcome:
        _put(net, t, outcome, puts[outcome])
    for place in takes | reads:
        _watch(net, t, place, takes[place] + reads[place])


def _reserve_room(net: Net, t: int, takes: Counter[int], puts: list[Counter[int]]) -> None:
    """Extend the arcs of a transition by those to the rooms of the bounded places it touches."""
    for place in sorted(takes.keys() | puts[0].keys() | puts[1].keys() | puts[2].keys()):
        capacity = net.declared.places[place].capacity
        if capacity is None:
            continue
        room = net.room.get(place)
        if room is None:
            room = net.room[place] = len(net.initial)
            net.initial.append(capacity - net.initial[place])
            net.watcher.append(NOBODY)
        most = max(put[place] for put in puts)
        if most > takes[place]:
            takes[room] = most - takes[place]
        elif most < takes[place]:
            net.frees.setdefault(t, []).append((room, takes[place] - most))
        for put in puts:
            if most > put[place]:
                put[room] = most - put[place]


def _put(net: Net, t: int, outcome: Outcome, arcs: Counter[int]) -> None:
    units, heavy = _split(arcs)
    if units:
        net.puts[outcome][t] = (*net.puts[outcome][t], *units)
    if heavy:
        net.heavy_puts[outcome][t] = heavy


def _watch(net: Net, t: int, place: int, threshold: int) -> None:
    if threshold > 1:
        net.unmet[t] += net.initial[place] < threshold
        net.heavy_watch.setdefault(place, []).append((threshold, t))
    else:
        watch_unit(net, t, place)


def _numbered(net: Net, *arcs: Arcs) -> Counter[int]:
    total: Counter[int] = Counter()
    places = net.places_by_name
    for part in arcs:
        for name, weight in part:
            if name not in places:
                raise issues.UNKNOWN_PLACE.error(name=name, guess=guess(name, places))
            require_number("the weight of an arc", name, weight, 1)
            total[places[name]] += weight
    return total


def _split(arcs: Counter[int]) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """The arcs of weight one, and the others."""
    return tuple(p for p, w in arcs.items() if w == 1), [(p, w) for p, w in arcs.items() if w > 1]


def _set_precedence(net: Net) -> None:
    """Order transitions by priority, then by declaration; the skip of a step comes directly after the step."""
    transitions, skip = net.declared.transitions, net.skip
    declared: Iterable[int] = range(len(transitions))
    if any(transition.priority for transition in transitions):
        declared = sorted(declared, key=lambda t: -transitions[t].priority)
    order, rank = net.order, net.rank
    for t in declared:
        rank[t] = len(order)
        order.append(t)
        if skip[t] != NOBODY:
            rank[skip[t]] = len(order)
            order.append(skip[t])

"""Declares the net of a boot: sources, capabilities and module runs are transitions; the conditions they wait for are places.

The net starts with the sources, the capabilities and a transition that makes the configuration. Once that is known, the running net is
extended by the module runs. No transition here decides anything itself: the trust rules decide whether a capability is settled, and its
transition ends accordingly (given, missing, or undecided: then it waits for the next answer of a source).

    source X ─▶ (C: news) ─▶ capability C ─▶ (C: settled) ─▶ configuration ─▶ (configuration) ─▶ run of M ─▶ (M: over) ─▶ run after M
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from precast.boot.capabilities import Capability
from precast.boot.modules.contract import Config, Module, ModulePart
from precast.boot.sources.contract import Source
from precast.net.model.builder import arcs
from precast.net.model.compiler import compile_net
from precast.net.model.declarations import NetDeclaration, Place, Transition
from precast.net.model.structure import Net

NETWORK, CONFIGURATION, WORKERS, ENDED = "network", "configuration", "workers", "sources ended"
BRING_UP = "bring up the network"
# The capabilities that determine the module runs.
FOR_CONFIGURATION = (Capability.INSTANCE_ID, Capability.USER_DATA, Capability.VENDOR_DATA, Capability.METADATA)
# The further capabilities that templates in user data can refer to.
FOR_TEMPLATES = (
    Capability.HOSTNAME, Capability.PLATFORM, Capability.PUBLIC_KEYS, Capability.REGION, Capability.ZONE,
)  # fmt: skip


class CapabilityRequest(NamedTuple):
    """A capability that a module waits for. An optional request does not wait for sources that rank below the identity."""

    capability: Capability
    is_optional: bool

    @property
    def name(self) -> str:
        return f"{self.capability.value}, if known" if self.is_optional else self.capability.value

    @property
    def transition(self) -> str:
        """The name of its transition; the prefix is needed because a module may have the name of a capability."""
        return f"capability {self.name}"

    @property
    def settled(self) -> str:
        return f"{self.name}: settled"


class ModuleRun(NamedTuple):
    """A module, or a part of a module, that is to run in this boot."""

    module: Module
    part: ModulePart

    @property
    def name(self) -> str:
        return self.module.name if self.part.name == self.module.name else f"{self.module.name}/{self.part.name}"

    def is_asked_for(self, config: Config) -> bool:
        """Whether a configuration key asks for it. Other modules run because a source, or the machine itself, may have data for them."""
        keys = self.module.keys if self.part.keys is None else self.part.keys
        return any(key in config for key in keys)

    @property
    def requests(self) -> list[CapabilityRequest]:
        needs = [CapabilityRequest(capability, False) for capability in self.module.needs]
        return [*needs, *(CapabilityRequest(capability, True) for capability in self.module.uses - self.module.needs)]


def declare_discovery(
    sources: Sequence[Source],
    modules: Iterable[Module],
    is_online: bool = True,
    has_user_data: bool = False,
    has_bring_up: bool = False,
) -> NetDeclaration:
    """Return the net before the configuration is known. Offline, sources that need the network wait until something brings it up."""
    requests = list_requests(modules, has_user_data)
    places = [Place(NETWORK, int(is_online)), Place(ENDED), Place(f"{CONFIGURATION}: to do", 1), Place(CONFIGURATION)]
    transitions = []
    if has_bring_up and not is_online:
        places.append(Place(f"{BRING_UP}: to do", 1))
        transitions.append(
            Transition(BRING_UP, takes=arcs([f"{BRING_UP}: to do"]), gives=arcs([NETWORK]), on_failure=())
        )
    for source in sources:
        places.append(Place(f"{source.name}: to ask", 1))
        news = [(f"{request.name}: news", 1) for request in requests]
        transitions.append(_declare_source(source, (*news, (ENDED, 1))))
    for request in requests:
        places += [Place(f"{request.name}: news", 1), Place(f"{request.name}: open", 1), Place(request.settled)]
        transitions.append(_declare_capability(request))
    first = [] if has_user_data else [CapabilityRequest(capability, True).settled for capability in FOR_CONFIGURATION]
    transitions.append(
        Transition(
            CONFIGURATION,
            takes=arcs([f"{CONFIGURATION}: to do"]),
            reads=arcs(first),
            gives=arcs([CONFIGURATION]),
            on_failure=(),
        )
    )
    return NetDeclaration("boot", tuple(places), tuple(transitions))


def list_requests(modules: Iterable[Module], has_user_data: bool = False) -> list[CapabilityRequest]:
    """Return every request that a module could make."""
    requests = (
        {} if has_user_data else dict.fromkeys(CapabilityRequest(capability, True) for capability in FOR_CONFIGURATION)
    )
    for module in modules:
        requests |= dict.fromkeys(
            CapabilityRequest(capability, False) for capability in sorted(module.needs, key=_word)
        )
        requests |= dict.fromkeys(
            CapabilityRequest(capability, True) for capability in sorted(module.uses - module.needs, key=_word)
        )
    return list(requests)


def list_capabilities(modules: Iterable[Module], has_user_data: bool = False) -> frozenset[Capability]:
    return frozenset(request.capability for request in list_requests(modules, has_user_data))


def make_module_runs(modules: Iterable[Module], config: Config) -> list[ModuleRun]:
    """Return the module runs that a configuration leads to."""
    return [ModuleRun(module, part) for module in modules if module.applies_to(config) for part in module.split(config)]


def source_transition(source: Source) -> str:
    """Return the name of a source's transition."""
    return f"source {source.name}"


def _word(capability: Capability) -> str:
    return capability.value


def _declare_source(source: Source, ends: tuple[tuple[str, int], ...]) -> Transition:
    return Transition(
        source_transition(source),
        takes=arcs([f"{source.name}: to ask"]),
        reads=arcs([NETWORK] if source.needs_network else []),
        gives=ends,
        on_failure=ends,
        on_skip=ends,
    )


def _declare_capability(request: CapabilityRequest) -> Transition:
    """Declare a transition that succeeds if given, is skipped if missing, and fails and stays open while undecided."""
    settled = arcs([request.settled])
    return Transition(
        request.transition,
        takes=arcs([f"{request.name}: news", f"{request.name}: open"]),
        gives=settled,
        on_failure=arcs([f"{request.name}: open"]),
        on_skip=settled,
        priority=1,  # before module runs: it takes no time, and may let some of them start
    )


def add_module_runs(
    declared: NetDeclaration, module_runs: Sequence[ModuleRun], at_once: int, sources_to_wait_for: int = 0
) -> Net:
    """Return the whole net. With `sources_to_wait_for` no module starts before that many sources have ended: discovery comes first."""
    of_module = Counter(module_run.module.name for module_run in module_runs)
    givers = Counter(place for module_run in module_runs for place in module_run.part.provides)
    locks = sorted({lock for module_run in module_runs for lock in module_run.module.locks})
    places = [Place(WORKERS, at_once, is_limit=True), *(Place(f"lock {lock}", 1, is_limit=True) for lock in locks)]
    places += [Place(over_place(name)) for name in of_module]
    places += [Place(place) for place in givers]
    places += [Place(f"{module_run.name}: to do", 1) for module_run in module_runs]
    first = ((ENDED, sources_to_wait_for),) if sources_to_wait_for else ()
    transitions = [_declare_module_run(module_run, of_module, givers, first) for module_run in module_runs]
    return compile_net(
        declared._replace(places=(*declared.places, *places), transitions=(*declared.transitions, *transitions))
    )


def over_place(module: str) -> str:
    return f"{module}: over"


def _declare_module_run(
    module_run: ModuleRun, of_module: Counter[str], givers: Counter[str], first: tuple[tuple[str, int], ...]
) -> Transition:
    after = [
        (over_place(dependency.module), of_module[dependency.module])
        for dependency in module_run.module.after
        if of_module[dependency.module]
    ]
    waits = [
        (place, givers[place])
        for place in module_run.part.waits_for
        if givers[place] and place not in module_run.part.provides
    ]
    ends = arcs([over_place(module_run.module.name), *module_run.part.provides])
    return Transition(
        module_run.name,
        takes=arcs([f"{module_run.name}: to do"]),
        reads=(*arcs([CONFIGURATION, *(request.settled for request in module_run.requests)]), *after, *waits, *first),
        holds=arcs([WORKERS, *(f"lock {lock}" for lock in module_run.module.locks)]),
        gives=ends,
        on_failure=ends,
        on_skip=ends,
    )


def list_waits(module_run: ModuleRun, module_runs: Collection[ModuleRun]) -> list[str]:
    """Describe what a module run waits for, as far as it is part of this boot."""
    names = {module_run.module.name for module_run in module_runs}
    givers = {place for module_run in module_runs for place in module_run.part.provides}
    waits = [
        f"{request.capability.value} ({'used' if request.is_optional else 'needed'})" for request in module_run.requests
    ]
    waits += [
        f"{dependency.module}: {dependency.reason}"
        for dependency in module_run.module.after
        if dependency.module in names
    ]
    waits += [place for place in module_run.part.waits_for if place in givers and place not in module_run.part.provides]
    return [*waits, *(f"the {lock} lock" for lock in module_run.module.locks)]

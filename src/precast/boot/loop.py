"""The event loop of a boot: one net, run by the driver for tasks. Sources are tasks; functions of modules run in threads.

It starts with the sources. As soon as the rules of trust allow it, user data is read and the net grows by the jobs of the modules that have
something to do; each starts when what it waits for is there, while other sources may still be asked. When nobody waits for any of
those any more, they are not asked further.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from precast.base.clock import Clock
from precast.boot import events, plan
from precast.boot.capabilities import Capability
from precast.boot.configuration import Configuration
from precast.boot.events import AnyEvent, Result
from precast.boot.facade import Facade
from precast.boot.history import NOT_NEEDED
from precast.boot.module_runs import ModuleRunEnd, ModuleRunner
from precast.boot.modules import frequencies
from precast.boot.modules.contract import Module, Stage
from precast.boot.plan import CONFIGURATION, CapabilityRequest, ModuleRun
from precast.boot.source_choice import SourceChoice
from precast.boot.sources.contract import MachineAccess, Source
from precast.boot.sources.probes import ProbeResult, probe
from precast.boot.state import Identity, State
from precast.boot.strategies.by_capability import ByCapability
from precast.boot.trust import VerdictKind
from precast.net.analysis.waits import WaitGraph
from precast.net.execution.execution import Execution
from precast.net.model.compiler import compile_net
from precast.net.model.declarations import Outcome
from precast.running.tasks import run_tasks

# How many jobs run at once: they wait for programs and disks more than they compute.
AT_ONCE = 8
NOBODY = "iid-datasource-none"  # as cloud-init calls a machine that no source knows


class Options(NamedTuple):
    """How a boot is run. `stage` is the last that runs; without one all do."""

    stage: Stage | None = None
    is_two_step: bool = False
    is_dry_run: bool = False
    is_retry: bool = False  # run again what failed before
    is_online: bool = True
    trusted: Sequence[str] = ()
    at_once: int = AT_ONCE


class BootParts(NamedTuple):
    """What the loop works with. `bring_up` says whether the network is up now, where that is this stage's business."""

    access: MachineAccess
    choice: SourceChoice
    modules: Sequence[Module]
    state: State
    runner: ModuleRunner
    clock: Clock
    configure: Callable[[Mapping[Capability, Any], str], Configuration]
    given: Configuration | None = None  # the user gave it: sources are not asked for it
    bring_up: Callable[[], Awaitable[bool]] | None = None


class Boot:
    """One run. `listener` is told of every event as it happens."""

    def __init__(
        self, parts: BootParts, options: Options, listener: Callable[[AnyEvent], None] = lambda _: None
    ) -> None:
        self._parts = parts
        self._options = options
        self._listener = listener
        self._modules = [module for module in parts.modules if options.stage is None or module.stage <= options.stage]
        if parts.given is not None:
            self._modules = [module for module in self._modules if module.concerns(parts.given.config)]
        wanted = plan.list_capabilities(self._modules, parts.given is not None)
        self._sources, self._spared = ByCapability(wanted).select(parts.choice.sources)
        self._facade = Facade(self._sources, parts.choice.confirmed, options.trusted)
        self._is_over = asyncio.Event()
        self._is_configured = False
        self._module_runs: dict[str, ModuleRun] = {}
        self._unsettled: set[str] = set()
        self._held: dict[str, str] = {}
        self._identity = Identity("", "")
        self._configuration = Configuration()
        self._has_failed = False
        self._told_before: Stage | None = None
        self._began_s = parts.clock.monotonic_s()

    async def run(self) -> bool:
        """Run to the end; whether all that was to run has run and nothing failed. Raises ConflictError BOOT-001, UnavailableError BOOT-002.

        Cancelling stops asking; a module that runs is left to its end. What began is in the state, so the next run resumes.
        """
        options, parts = self._options, self._parts
        with parts.state.locked():
            self._begin()
            has_bring_up = parts.bring_up is not None and any(source.needs_network for source in self._sources)
            self._declared = plan.declare_discovery(
                self._sources, self._modules, options.is_online, parts.given is not None, has_bring_up
            )
            net = compile_net(self._declared)
            self._execution = Execution(net)
            self._works = self._prepared()
            # What runs at once is bounded by the net itself, by its place `workers`.
            with ThreadPoolExecutor(options.at_once, "module") as self._threads:
                await run_tasks(self._execution, self._work, at_once=net.transition_count + options.at_once)
            is_complete = self._is_complete()
            self._note(events.StageFinished(self._now_s(), is_complete))
        return is_complete

    # What the transitions do

    def _prepared(self) -> dict[str, Callable[[], Awaitable[Outcome | None]]]:
        works: dict[str, Callable[[], Awaitable[Outcome | None]]] = {CONFIGURATION: self._configure}
        works[plan.BRING_UP] = self._bring_up
        for source in self._sources:
            works[plan.source_transition(source)] = lambda source=source: self._ask(source)  # type: ignore[misc]
        for ask in plan.list_requests(self._modules, self._parts.given is not None):
            self._unsettled.add(ask.name)
            works[ask.transition] = lambda ask=ask: self._judge(ask)  # type: ignore[misc]
        return works

    async def _work(self, t: int) -> Outcome | None:
        name = self._execution.net.transition_name(t)
        if name in self._works:
            return await self._works[name]()
        return await self._do(self._module_runs[name])

    async def _bring_up(self) -> Outcome:
        assert self._parts.bring_up is not None
        return Outcome.SUCCESS if await self._parts.bring_up() else Outcome.FAILURE

    async def _ask(self, source: Source) -> Outcome:
        """Ask a source, until it answers or nobody waits for it."""
        chosen = next(choice for choice in self._parts.choice.chosen if choice.source.name == source.name)
        self._note(
            events.SourceAsked(
                self._now_s(),
                source.name,
                source.rank,
                chosen.is_confirmed,
                chosen.likelihood.reason,
                source.deadline_s,
            )
        )
        answer = await self._unless_over(probe(source, self._parts.access))
        found = answer.found
        self._facade.note_answer(source.name, found)
        if found is None:
            self._note(
                events.SourceAnswered(self._now_s(), source.name, False, answer.reason, is_absent=answer.is_absent)
            )
            return Outcome.SKIPPED if answer.reason == NOT_NEEDED else Outcome.FAILURE
        offers = tuple(sorted(capability.value for capability in found.capabilities))
        self._note(events.SourceAnswered(self._now_s(), source.name, True, "", found.origin, found.instance_id, offers))
        return Outcome.SUCCESS

    async def _unless_over(self, asking: Awaitable[ProbeResult]) -> ProbeResult:
        task = asyncio.ensure_future(asking)
        over = asyncio.ensure_future(self._is_over.wait())
        try:
            await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else ProbeResult(None, NOT_NEEDED)
        finally:
            over.cancel()
            task.cancel()
            await asyncio.gather(task, over, return_exceptions=True)

    async def _judge(self, ask: CapabilityRequest) -> Outcome:
        """Say what the rules say of a capability now."""
        verdict = self._facade.verdict(ask.capability, ask.is_optional)
        if verdict.answer == VerdictKind.HELD:
            if self._held.get(ask.name) != verdict.source:
                self._held[ask.name] = verdict.source
                self._note(events.CapabilityHeld(self._now_s(), ask.name, verdict.source, verdict.reason))
            return Outcome.FAILURE
        is_given = verdict.answer == VerdictKind.GIVEN
        self._note(events.CapabilitySettled(self._now_s(), ask.name, is_given, verdict.source, verdict.reason))
        self._unsettled.discard(ask.name)
        self._end_asking()
        return Outcome.SUCCESS if is_given else Outcome.SKIPPED

    async def _configure(self) -> Outcome:
        """Make the configuration, and let the net grow by the jobs that follow from it."""
        parts, options = self._parts, self._options
        values = await self._facade.values(plan.FOR_CONFIGURATION + plan.FOR_TEMPLATES)
        before = parts.state.identity()
        # Without a source this is taken for the machine it was: not every module may be run twice.
        instance_id = values.get(Capability.INSTANCE_ID) or (before.instance_id if before is not None else NOBODY)
        previous = before.instance_id if before is not None else ""
        self._identity = Identity(instance_id, self._facade.identity or "", previous)
        loop = asyncio.get_running_loop()
        if parts.given is not None:
            self._configuration = parts.given
        else:
            self._configuration = await loop.run_in_executor(self._threads, parts.configure, values, instance_id)
        parts.state.remember(self._identity, self._configuration.encoded())
        config = self._configuration.config
        module_runs = plan.make_module_runs(frequencies.adjusted(self._modules, config), config)
        left_out = parts.runner.begin(self._identity, self._configuration, module_runs, options.is_retry)
        self._module_runs = {
            module_run.name: module_run for module_run in module_runs if module_run.name not in left_out
        }
        self._tell_plan(
            [(module_run, left_out[module_run.name]) for module_run in module_runs if module_run.name in left_out]
        )
        waits_for = len(self._sources) if options.is_two_step else 0
        self._execution.grow(
            plan.add_module_runs(self._declared, list(self._module_runs.values()), options.at_once, waits_for)
        )
        self._is_configured = True
        self._end_asking()
        return Outcome.SUCCESS

    def _tell_plan(self, left_out: Sequence[tuple[ModuleRun, str]]) -> None:
        now_s, found, config = self._now_s(), tuple(self._configuration.findings), self._configuration.config
        self._note(events.ConfigurationMade(now_s, self._identity.instance_id, len(self._module_runs), found))
        for module_run, reason in left_out:
            if self._told_before is not None and module_run.module.stage <= self._told_before:
                continue  # that stage has said what came of it
            self._note(events.ModuleLeftOut(now_s, module_run.name, reason, module_run.is_asked_for(config)))
        for module_run in self._module_runs.values():
            waits = tuple(plan.list_waits(module_run, self._module_runs.values()))
            self._note(events.ModulePlanned(now_s, module_run.name, waits, module_run.is_asked_for(config)))

    async def _do(self, module_run: ModuleRun) -> Outcome:
        """Run a job in a thread, unless something it needs is missing."""
        values = await self._facade.values(module_run.module.needs | module_run.module.uses)
        missing = [capability for capability in sorted(module_run.module.needs, key=lambda capability: capability.value) if capability not in values]
        if missing:
            reasons = [f"it needs {capability.value}: {self._facade.verdicts[capability].reason}" for capability in missing]
            return self._ended(module_run, ModuleRunEnd(Result.NOT_RUN, "; ".join(reasons)))
        self._note(events.ModuleStarted(self._now_s(), module_run.name))
        loop = asyncio.get_running_loop()
        ends = await loop.run_in_executor(self._threads, self._parts.runner.run, module_run, values)
        ends.warnings = [*self._lost(module_run, values), *ends.warnings]
        return self._ended(module_run, ends)

    def _lost(self, module_run: ModuleRun, values: Mapping[Capability, Any]) -> list[str]:
        """What a job that only uses it ran without, though a source had given its word for it."""
        lost = sorted(module_run.module.uses - values.keys(), key=lambda capability: capability.value)
        verdicts = {capability: self._facade.verdicts.get(capability) for capability in lost}
        return [
            f"{one.value} of {each.source} is not used: {each.reason}"
            for one, each in verdicts.items()
            if each is not None and each.answer == VerdictKind.MISSING and each.source
        ]

    def _ended(self, module_run: ModuleRun, ends: ModuleRunEnd) -> Outcome:
        self._note(
            events.ModuleEnded(
                self._now_s(), module_run.name, ends.result, ends.reason, tuple(ends.changes), tuple(ends.warnings)
            )
        )
        self._has_failed |= ends.result == Result.FAILED
        return {Result.DONE: Outcome.SUCCESS, Result.FAILED: Outcome.FAILURE, Result.NOT_RUN: Outcome.SKIPPED}[
            ends.result
        ]

    # The record

    def _begin(self) -> None:
        parts, options = self._parts, self._options
        stage = options.stage
        boot_id = parts.state.boot_id()
        is_first = stage in (None, Stage.LOCAL)
        is_continued = parts.state.has_record_of(boot_id) if boot_id else not is_first
        if is_continued and stage is not None and stage != Stage.LOCAL:
            self._told_before = Stage(stage - 1)
        began = events.StageBegan(
            0.0,
            boot_id,
            parts.clock.now().isoformat(timespec="seconds"),
            "all" if stage is None else stage.name.lower(),
            options.is_two_step,
            options.is_dry_run,
        )
        parts.state.begin(began, is_continued)
        self._listener(began)
        for name, reason in parts.choice.ruled_out:
            self._note(events.SourceRuledOut(0.0, name, reason))
        for source in self._spared:
            self._note(events.SourceRuledOut(0.0, source.name, "no module needs what it offers"))

    def _note(self, event: AnyEvent) -> None:
        self._parts.state.note(event)
        self._listener(event)

    def _now_s(self) -> float:
        return round(self._parts.clock.monotonic_s() - self._began_s, 6)

    def _end_asking(self) -> None:
        """Once all that the jobs wait for is settled, whoever is still being asked is let go; in two steps all are heard."""
        if not self._is_configured or self._options.is_two_step:
            return
        wanted = {ask.name for module_run in self._module_runs.values() for ask in module_run.requests}
        if not wanted & self._unsettled:
            self._is_over.set()

    def _is_complete(self) -> bool:
        """Say of everything that never started what it waited for."""
        names = self._execution.net.transitions_by_name
        stuck = [] if self._is_configured else [CONFIGURATION]
        stuck += [name for name in self._module_runs if self._execution.outcome(names[name]) is None]
        if not stuck:
            return not self._has_failed
        waiting = WaitGraph(self._execution.net, self._execution.tokens, self._execution.running)
        for name in stuck:
            reasons = [waiting.sentence(wait) for wait in waiting.reasons(names[name])]
            self._note(events.ModuleLeftOut(self._now_s(), name, "; ".join(reasons)))
        return False

"""The event loop of a boot: one net, run by the driver for tasks. Sources are tasks; modules run in threads.

It starts with the sources. As soon as the trust rules allow it, user data is read and the net is extended by the module runs that the
configuration needs; each starts when its conditions hold, while other sources may still be pending. Sources that no module run waits for
any more are cancelled.
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
from precast.boot.module_runs import ModuleRunEnd, ModuleRunner, NotDue
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

# How many modules run at once: they mostly wait for programs and disks.
AT_ONCE = 8
NOBODY = "iid-datasource-none"  # cloud-init's instance id of a machine that no source knows


class Options(NamedTuple):
    """The options of a boot. `stage` is the last stage that runs; without one all stages run."""

    stage: Stage | None = None
    is_two_step: bool = False
    is_dry_run: bool = False
    is_retry: bool = False  # repeat module runs that failed or were cut off before
    is_online: bool = True
    trusted: Sequence[str] = ()
    at_once: int = AT_ONCE


class BootParts(NamedTuple):
    """The parts that the loop works with. `bring_up` brings the network up, in the stage that does so, and returns whether it is up."""

    access: MachineAccess
    choice: SourceChoice
    modules: Sequence[Module]
    state: State
    runner: ModuleRunner
    clock: Clock
    configure: Callable[[Mapping[Capability, Any], str], Configuration]
    given: Configuration | None = None  # given by the operator: sources are not asked for it
    bring_up: Callable[[], Awaitable[bool]] | None = None


class Boot:
    """One boot, or a stage of one. `listener` is called with every event as it happens."""

    def __init__(
        self, parts: BootParts, options: Options, listener: Callable[[AnyEvent], None] = lambda _: None
    ) -> None:
        self._parts = parts
        self._options = options
        self._listener = listener
        self._modules = [module for module in parts.modules if options.stage is None or module.stage <= options.stage]
        if parts.given is not None:
            self._modules = [module for module in self._modules if module.applies_to(parts.given.config)]
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
        self._is_stopping = False
        self._reported_stage: Stage | None = None
        self._began_s = parts.clock.monotonic_s()

    async def run(self) -> bool:
        """Run to the end; True if every due module ran, none failed, and nothing of the user data was rejected.

        Raises ConflictError BOOT-001, UnavailableError BOOT-002.

        Cancelling stops the sources; a running module runs to its end. What has begun is in the state, so the next boot resumes.
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
            self._works = self._prepare_works()
            # The net's place `workers` bounds how many modules run at once.
            with ThreadPoolExecutor(options.at_once, "module") as self._threads:
                await run_tasks(self._execution, self._work, at_once=net.transition_count + options.at_once)
            is_complete = self._note_incomplete()
            self._note(events.StageFinished(self._now_s(), is_complete))
        return is_complete

    def stop(self) -> None:
        """Begin no further module and ask no further source. The modules that run are waited for; the others are due in the next boot."""
        self._is_stopping = True
        self._is_over.set()

    # The work of the transitions

    def _prepare_works(self) -> dict[str, Callable[[], Awaitable[Outcome | None]]]:
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
        return await self._run_module(self._module_runs[name])

    async def _bring_up(self) -> Outcome:
        assert self._parts.bring_up is not None
        return Outcome.SUCCESS if await self._parts.bring_up() else Outcome.FAILURE

    async def _ask(self, source: Source) -> Outcome:
        """Ask a source, until it answers or no module run waits for it."""
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
        answer = await self._ask_until_over(probe(source, self._parts.access))
        detected = answer.detected
        self._facade.note_answer(source.name, detected)
        if detected is None:
            self._note(
                events.SourceAnswered(self._now_s(), source.name, False, answer.reason, is_absent=answer.is_absent)
            )
            return Outcome.SKIPPED if answer.reason == NOT_NEEDED else Outcome.FAILURE
        offers = tuple(sorted(capability.value for capability in detected.capabilities))
        self._note(
            events.SourceAnswered(self._now_s(), source.name, True, "", detected.origin, detected.instance_id, offers)
        )
        return Outcome.SUCCESS

    async def _ask_until_over(self, asking: Awaitable[ProbeResult]) -> ProbeResult:
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
        """Note the verdict of the trust rules on a capability."""
        verdict = self._facade.verdict(ask.capability, ask.is_optional)
        if verdict.answer == VerdictKind.HELD:
            if self._held.get(ask.name) != verdict.source:
                self._held[ask.name] = verdict.source
                self._note(events.CapabilityHeld(self._now_s(), ask.name, verdict.source, verdict.reason))
            return Outcome.FAILURE
        is_given = verdict.answer == VerdictKind.GIVEN
        self._note(events.CapabilitySettled(self._now_s(), ask.name, is_given, verdict.source, verdict.reason))
        self._unsettled.discard(ask.name)
        self._stop_unneeded_sources()
        return Outcome.SUCCESS if is_given else Outcome.SKIPPED

    async def _configure(self) -> Outcome:
        """Make the configuration, and extend the net by the module runs that follow from it."""
        parts, options = self._parts, self._options
        values = await self._facade.fetch_all(plan.FOR_CONFIGURATION + plan.FOR_TEMPLATES)
        before = parts.state.identity()
        # Without any source the previous instance id is kept: not every module may run twice.
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
        module_runs = plan.make_module_runs(frequencies.apply_frequencies(self._modules, config), config)
        left_out = parts.runner.begin(self._identity, self._configuration, module_runs, options.is_retry)
        self._module_runs = {
            module_run.name: module_run for module_run in module_runs if module_run.name not in left_out
        }
        self._note_plan(
            [(module_run, left_out[module_run.name]) for module_run in module_runs if module_run.name in left_out]
        )
        waits_for = len(self._sources) if options.is_two_step else 0
        self._execution.grow(
            plan.add_module_runs(self._declared, list(self._module_runs.values()), options.at_once, waits_for)
        )
        self._is_configured = True
        self._stop_unneeded_sources()
        return Outcome.SUCCESS

    def _note_plan(self, left_out: Sequence[tuple[ModuleRun, NotDue]]) -> None:
        now_s, made, config = self._now_s(), self._configuration, self._configuration.config
        count, findings, rejected = len(self._module_runs), tuple(made.findings), tuple(made.rejected)
        self._note(events.ConfigurationMade(now_s, self._identity.instance_id, count, findings, rejected))
        self._has_failed |= bool(rejected)
        for module_run, not_due in left_out:
            if not_due.is_noticed_now:
                self._note_end(module_run, ModuleRunEnd(not_due.result, not_due.reason))
                continue
            if self._reported_stage is not None and module_run.module.stage <= self._reported_stage:
                continue  # the earlier stage has reported its result
            is_asked_for = module_run.is_asked_for(config)
            self._note(events.ModuleLeftOut(now_s, module_run.name, not_due.reason, is_asked_for, not_due.result))
        for module_run in self._module_runs.values():
            waits = tuple(plan.list_waits(module_run, self._module_runs.values()))
            self._note(events.ModulePlanned(now_s, module_run.name, waits, module_run.is_asked_for(config)))

    async def _run_module(self, module_run: ModuleRun) -> Outcome:
        """Run a module in a thread, unless a capability that it needs is missing, or the boot is to stop."""
        values = await self._facade.fetch_all(module_run.module.needs | module_run.module.uses)
        missing = [
            capability
            for capability in sorted(module_run.module.needs, key=lambda capability: capability.value)
            if capability not in values
        ]
        if missing:
            reasons = [
                f"it needs {capability.value}: {self._facade.verdicts[capability].reason}" for capability in missing
            ]
            return self._note_end(module_run, ModuleRunEnd(Result.NOT_RUN, "; ".join(reasons)))
        if self._is_stopping:
            self._has_failed = True  # the boot is not complete
            return self._note_end(module_run, ModuleRunEnd(Result.NOT_RUN, "the boot was stopped before its turn"))
        self._note(events.ModuleStarted(self._now_s(), module_run.name))
        loop = asyncio.get_running_loop()
        ends = await loop.run_in_executor(self._threads, self._parts.runner.run, module_run, values)
        ends.warnings = [*self._list_lost_values(module_run, values), *ends.warnings]
        return self._note_end(module_run, ends)

    def _list_lost_values(self, module_run: ModuleRun, values: Mapping[Capability, Any]) -> list[str]:
        """Describe the optional values that a module ran without because their fetch failed."""
        lost = sorted(module_run.module.uses - values.keys(), key=lambda capability: capability.value)
        verdicts = {capability: self._facade.verdicts.get(capability) for capability in lost}
        return [
            f"{capability.value} of {verdict.source} is not used: {verdict.reason}"
            for capability, verdict in verdicts.items()
            if verdict is not None and verdict.answer == VerdictKind.MISSING and verdict.source
        ]

    def _note_end(self, module_run: ModuleRun, ends: ModuleRunEnd) -> Outcome:
        self._note(
            events.ModuleEnded(
                self._now_s(), module_run.name, ends.result, ends.reason, tuple(ends.changes), tuple(ends.warnings)
            )
        )
        self._has_failed |= ends.result in (Result.FAILED, Result.CUT_OFF)
        return {Result.DONE: Outcome.SUCCESS, Result.NOT_RUN: Outcome.SKIPPED}.get(ends.result, Outcome.FAILURE)

    # The record

    def _begin(self) -> None:
        parts, options = self._parts, self._options
        stage = options.stage
        boot_id = parts.state.boot_id()
        is_first = stage in (None, Stage.LOCAL)
        is_continued = parts.state.has_record_of(boot_id) if boot_id else not is_first
        if is_continued and stage is not None and stage != Stage.LOCAL:
            self._reported_stage = Stage(stage - 1)
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

    def _stop_unneeded_sources(self) -> None:
        """Cancel the pending sources once every capability that module runs wait for is settled; with two steps all sources are awaited."""
        if not self._is_configured or self._options.is_two_step:
            return
        wanted = {ask.name for module_run in self._module_runs.values() for ask in module_run.requests}
        if not wanted & self._unsettled:
            self._is_over.set()

    def _note_incomplete(self) -> bool:
        """Note of every transition that never started what it waited for; True if there is none and nothing failed."""
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

"""Joins the parts of a boot on a machine or below a root: evidence, sources, modules, state."""

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from precast.agent.applying.machine import Machine as Managed
from precast.base.clock import Clock, SystemClock
from precast.boot import configuration, image, source_choice
from precast.boot.capabilities import Capability
from precast.boot.configuration import Configuration
from precast.boot.loop import BootParts
from precast.boot.module_runs import ModuleRunner
from precast.boot.modules import registry
from precast.boot.modules.contract import Stage
from precast.boot.settings import BootSettings
from precast.boot.sources import answer_cache, evidence
from precast.boot.sources.contract import Evidence
from precast.boot.sources.machine import Machine
from precast.boot.state import State


class BootTarget(NamedTuple):
    """Where a boot takes place."""

    root: Path = Path("/")
    is_dry_run: bool = False
    user_data: bytes | None = None  # given by hand: sources are not asked for it
    bring_up: Callable[[], Awaitable[bool]] | None = None
    stage: Stage | None = None  # what sources say in one counts in the later ones of the same boot; None: all are one


def assemble(ground: BootTarget, settings: BootSettings, clock: Clock | None = None) -> BootParts:
    """Everything the loop needs. Raises InputError BOOT-004, BOOT-005 for settings, and what `image.read` raises."""
    root, clock = ground.root, clock or SystemClock()
    base = image.read(root)
    found = evidence.collect(root, image.read_source_settings(base))
    state = State(root, ground.is_dry_run)
    choice = _add_answer_cache(source_choice.choose_sources(settings, found, root, base), ground, state, found)
    managed = Managed(
        "" if root == Path("/") else str(root),
        str(state.directory),
        clock,
        is_chroot=root != Path("/") and has_programs(root),
    )
    return BootParts(
        access=Machine(root, found, clock),
        choice=choice,
        modules=registry.modules(),
        state=state,
        runner=ModuleRunner(state, managed, state.log, ground.is_dry_run),
        clock=clock,
        configure=partial(_configure, state, base, ground.is_dry_run),
        given=_read_given(ground.user_data, base, root),
        bring_up=ground.bring_up if _needs_network(choice) else None,
    )


def _add_answer_cache(
    choice: source_choice.SourceChoice, ground: BootTarget, state: State, found: Evidence
) -> source_choice.SourceChoice:
    """The choice with answers kept between stages, where there are stages: on a machine that was booted."""
    start = answer_cache.identify_start(ground.root, state.boot_id(), found)
    if not start or ground.is_dry_run:
        return choice
    is_continued, is_last = ground.stage not in (None, Stage.LOCAL), ground.stage in (None, Stage.FINAL)
    answers = answer_cache.AnswerCache(state.directory, start, is_continued, is_last)
    return choice._replace(
        chosen=[one._replace(source=answer_cache.CachingSource(one.source, answers)) for one in choice.chosen]
    )


def _needs_network(choice: source_choice.SourceChoice) -> bool:
    """Whether it is worth bringing the network up before it is configured: for a source that will be there, not for one that may be."""
    return any(one.is_confirmed and one.source.needs_network for one in choice.chosen)


def has_programs(root: Path) -> bool:
    """Whether commands can be run inside: it holds a shell, and we may enter it."""
    return os.geteuid() == 0 and any((root / path / "sh").exists() for path in ("bin", "usr/bin"))


def _configure(
    state: State, base: Mapping[str, Any], is_dry_run: bool, values: Mapping[Capability, Any], instance_id: str
) -> Configuration:
    once = None if is_dry_run else state.instance(instance_id) / "once"
    return configuration.make(values, base, once, configuration.read_system(state.root))


def _read_given(user_data: bytes | None, base: Mapping[str, Any], root: Path) -> Configuration | None:
    if user_data is None:
        return None
    return configuration.make({Capability.USER_DATA: user_data}, base, None, configuration.read_system(root))

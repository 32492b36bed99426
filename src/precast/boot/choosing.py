"""Which sources are worth asking, and why the others are not: by the image's configuration, then by the evidence.

A scratch root is no machine: what its firmware would say is not known, and asking the network about it would ask about the machine it lies
on. There only sources that look at files are asked, or those that are named.
"""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from precast.boot import image, issues
from precast.boot.settings import BootSettings
from precast.boot.sources import firmware, registry
from precast.boot.sources.contract import Evidence, Likelihood, Plausibility, Source


class Chosen(NamedTuple):
    """A source that will be asked, and what speaks for it."""

    source: Source
    likelihood: Likelihood

    @property
    def is_confirmed(self) -> bool:
        return self.likelihood.plausibility == Plausibility.CONFIRMED


class Choice(NamedTuple):
    """Those to ask, the likeliest first, and the others with the reason."""

    chosen: Sequence[Chosen]
    ruled_out: Sequence[tuple[str, str]]

    @property
    def sources(self) -> list[Source]:
        return [one.source for one in self.chosen]

    @property
    def confirmed(self) -> list[str]:
        return [one.source.name for one in self.chosen if one.is_confirmed]


def choose(settings: BootSettings, evidence: Evidence, root: Path, said: Mapping[str, Any] | None = None) -> Choice:
    """Order and prune. `said` is the image's configuration for cloud-init. Raises InputError BOOT-004, BOOT-005 for a wrong setting."""
    listed = image.listed_sources(said or {})
    addresses = {**image.addresses(said or {}), **_pairs(settings.addresses, "addresses")}
    deadlines = _pairs(settings.deadlines, "deadlines")
    wanted = [known(name) for name in settings.sources] or list(_translated(listed))
    for name in settings.trusted_sources:
        known(name)
    named = firmware.named(evidence)
    forced = registry.OTHER_NAMES.get(named.name, (named.name,)) if named is not None else ()
    chosen, ruled_out = [], []
    for name in registry.PLACES:
        reason = ""
        if wanted and name not in wanted:
            reason = "the image's configuration does not list it"
        elif named is not None and name not in forced and set(forced) & set(registry.PLACES):
            reason = f"{named.where} names {named.name}"
        source = None if reason else registry.make(name, addresses.get(name, ""))
        if (
            source is not None
            and source.needs_network
            and root != Path("/")
            and name not in {*settings.sources, *addresses}
        ):
            reason = "below another root the network says nothing about the machine"
        if source is None or reason:
            ruled_out.append((name, reason))
            continue
        likelihood = _likelihood(source, evidence, is_named=name in forced or wanted == [name])
        if likelihood.plausibility == Plausibility.RULED_OUT:
            ruled_out.append((name, likelihood.reason))
        else:
            if name in deadlines:
                source = Hurried(source, _seconds(name, deadlines[name]))
            chosen.append(Chosen(source, likelihood))
    chosen.sort(key=lambda one: (-one.likelihood.plausibility, -one.source.rank))
    return Choice(chosen, ruled_out)


def known(name: str) -> str:
    """Raises InputError BOOT-004 for a source that there is not."""
    if name not in registry.PLACES:
        near = difflib.get_close_matches(name, registry.PLACES, n=1)
        guess = f"; did you mean {near[0]}?" if near else ""
        raise issues.NO_SOURCE.error(name=name, guess=guess, names=", ".join(registry.PLACES))
    return name


def _likelihood(source: Source, evidence: Evidence, is_named: bool) -> Likelihood:
    found = source.likelihood(evidence)
    if is_named and found.plausibility != Plausibility.CONFIRMED:
        return Likelihood(Plausibility.CONFIRMED, "it is named")
    return found


def _translated(listed: Sequence[str]) -> list[str]:
    names = [ours for name in listed for ours in registry.OTHER_NAMES.get(name.lower(), (name.lower(),))]
    return [name for name in names if name in registry.PLACES]


def _pairs(texts: Sequence[str], setting: str) -> Mapping[str, str]:
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not value:
            example = "ec2=http://127.0.0.1:8080" if setting == "addresses" else "ec2=5"
            raise issues.BAD_PAIR.error(text=text, setting=setting, example=example)
        found[known(name)] = value
    return found


def _seconds(name: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise issues.BAD_PAIR.error(text=f"{name}={text}", setting="deadlines", example="ec2=5")
    return seconds


class Hurried:
    """A source with another deadline than its own."""

    def __init__(self, source: Source, deadline_s: float) -> None:
        self.name = source.name
        self.rank = source.rank
        self.capabilities = source.capabilities
        self.needs_network = source.needs_network
        self.likelihood = source.likelihood
        self.find = source.find
        self.deadline_s = deadline_s

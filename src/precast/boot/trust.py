"""The trust rules: pure functions from the state of all sources (pending, absent or present) to the source that gives a capability.

- One source is the *identity*: the highest-ranked present source that has an instance id. A platform that the evidence confirms ranks
  before any that is only possible.
- Other sources fill what the identity does not offer, only if their instance id equals the identity's or trusted_sources lists them.
  Private capabilities (user data, vendor data, keys, …) never come from another source unless it is listed.
- A pending source of higher rank holds back exactly the capabilities that it declares. The instance id is one of them, so the private
  capabilities of an unlisted source, which depend on the identity, are held back with it.
- A lower-ranked source may fill what the identity lacks: a module that needs it waits for such sources, one that only uses it does not.

A given capability is never withdrawn: `Facade` stores the verdict and does not ask the rules again.
"""

import enum
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from precast.boot.capabilities import Capability


class Candidate(NamedTuple):
    """A source as the rules see it."""

    name: str
    rank: int
    declares: frozenset[Capability]
    is_confirmed: bool = False

    @property
    def claims(self) -> bool:
        """Whether it could be the identity."""
        return Capability.INSTANCE_ID in self.declares


class SourceStatus(enum.Enum):
    PENDING = "pending"
    ABSENT = "absent"
    PRESENT = "present"


class SourceState(NamedTuple):
    """What is known of a source now. Only a present source offers capabilities."""

    standing: SourceStatus = SourceStatus.PENDING
    instance_id: str | None = None
    offers: frozenset[Capability] = frozenset()


PENDING = SourceState()
ABSENT = SourceState(SourceStatus.ABSENT)


class VerdictKind(enum.Enum):
    GIVEN = "given"
    HELD = "held back"
    MISSING = "missing"


class Verdict(NamedTuple):
    """The source that gives a capability or holds it back, or that it is missing; with the reason."""

    answer: VerdictKind
    source: str = ""
    reason: str = ""


def rank_candidates(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Sort by trust, the most trusted first. A source without an instance id can only fill gaps, so it ranks after those with one."""
    return sorted(candidates, key=lambda candidate: (not candidate.claims, not candidate.is_confirmed, -candidate.rank))


class Rules:
    """The rules for one set of sources. `listed` are the names in the image's configuration."""

    def __init__(self, candidates: Sequence[Candidate], listed: Collection[str] = ()) -> None:
        self.order = rank_candidates(candidates)
        self._listed = frozenset(listed)

    def identity(self, states: Mapping[str, SourceState]) -> tuple[Candidate | None, list[Candidate]]:
        """Return the identity as of now, and the pending sources that would outrank it."""
        pending = []
        for candidate in self.order:
            state = states[candidate.name]
            if state.standing == SourceStatus.PENDING and candidate.claims:
                pending.append(candidate)
            elif state.standing == SourceStatus.PRESENT and candidate.claims and state.instance_id is not None:
                return candidate, pending
        return None, pending

    def judge(self, capability: Capability, states: Mapping[str, SourceState], is_optional: bool = False) -> Verdict:
        """Return who gives a capability now. With `is_optional` it does not wait for sources that rank below the identity."""
        identity, above = self.identity(states)
        if identity is not None and capability in states[identity.name].offers:
            is_bound = capability.is_private and identity.name not in self._listed
            holder = next((candidate for candidate in above if is_bound or capability in candidate.declares), None)
            if holder is not None:
                return Verdict(VerdictKind.HELD, holder.name, "it ranks higher and has not answered")
            return Verdict(VerdictKind.GIVEN, identity.name, "it is the identity")
        return self._fill(capability, identity, above, states, is_optional)

    def _fill(
        self,
        capability: Capability,
        identity: Candidate | None,
        above: Sequence[Candidate],
        states: Mapping[str, SourceState],
        is_optional: bool,
    ) -> Verdict:
        """Return who fills what the identity does not offer, by rank; wait if a later identity could lift a refusal."""
        helper: Candidate | None = None
        refusals: list[str] = []
        for candidate in self.order:
            state = states[candidate.name]
            if state.standing == SourceStatus.PENDING and capability in candidate.declares:
                if candidate in above:
                    return Verdict(VerdictKind.HELD, candidate.name, "it may have it, and has not answered")
                if candidate.name in self._listed or not capability.is_private:
                    helper = helper or candidate
            elif capability in state.offers and candidate is not identity:
                refusal = self._refusal(candidate, capability, identity, states)
                if refusal:
                    refusals.append(refusal)
                elif helper is not None:
                    return Verdict(
                        VerdictKind.HELD, helper.name, f"it ranks higher than {candidate.name} and has not answered"
                    )
                else:
                    return Verdict(VerdictKind.GIVEN, candidate.name, self._why(candidate))
        if helper is not None and not is_optional:
            return Verdict(VerdictKind.HELD, helper.name, "it may have what the identity does not offer")
        if refusals and above and not capability.is_private:
            return Verdict(VerdictKind.HELD, above[0].name, "it ranks higher and may identify the machine")
        return Verdict(VerdictKind.MISSING, "", "; ".join(refusals) or "no present source offers it")

    def _refusal(
        self,
        candidate: Candidate,
        capability: Capability,
        identity: Candidate | None,
        states: Mapping[str, SourceState],
    ) -> str:
        """Return why a present source may not fill a capability; empty if it may."""
        if candidate.name in self._listed:
            return ""
        if capability.is_private:
            return f"{candidate.name} has it, but is neither the identity nor listed in trusted_sources"
        if identity is None:
            return f"{candidate.name} has it, but no source identifies the machine"
        theirs, ours = states[candidate.name].instance_id, states[identity.name].instance_id
        return "" if theirs == ours else f"{candidate.name} has it for the instance {theirs}, but this is {ours}"

    def _why(self, candidate: Candidate) -> str:
        return "it is listed in trusted_sources" if candidate.name in self._listed else "its instance id agrees"

"""Checks the trust rules against a second implementation, which enumerates every permitted verdict.

The model asks of every source whether it may give a capability, straight from the rules, and of every pending source whether the rules
let it hold that back. It shares no code with `boot/trust.py`.
"""

from collections import Counter
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from precast.boot.capabilities import Capability
from precast.boot.trust import ABSENT, PENDING, Candidate, Rules, SourceState, SourceStatus, Verdict, VerdictKind

ROUNDS = 500
SOME = [
    Capability.INSTANCE_ID, Capability.HOSTNAME, Capability.USER_DATA, Capability.PUBLIC_KEYS, Capability.ZONE,
]  # fmt: skip
PRIVATE = {Capability.USER_DATA, Capability.PUBLIC_KEYS}
QUICK = settings(max_examples=ROUNDS, deadline=None, suppress_health_check=list(HealthCheck))
World = tuple[list[Candidate], dict[str, SourceState], frozenset[str]]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Up to five sources in any state; each offers a subset of what it declares."""
    count = draw(st.integers(1, 5))
    ranks = draw(st.permutations(range(count)))
    candidates, states = [], {}
    for number in range(count):
        declares = draw(st.frozensets(st.sampled_from(SOME), min_size=1))
        candidate = Candidate(f"s{number}", ranks[number], declares, draw(st.booleans()))
        candidates.append(candidate)
        standing = draw(st.sampled_from(SourceStatus))
        if standing == SourceStatus.PRESENT:
            offers = draw(st.frozensets(st.sampled_from(sorted(declares, key=lambda c: c.value))))
            has_id = Capability.INSTANCE_ID in offers
            states[candidate.name] = SourceState(standing, draw(st.sampled_from("ab")) if has_id else None, offers)
        else:
            states[candidate.name] = PENDING if standing == SourceStatus.PENDING else ABSENT
    listed = draw(st.frozensets(st.sampled_from([candidate.name for candidate in candidates]), max_size=2))
    return candidates, states, listed


class Model:
    """The second implementation of the rules."""

    def __init__(self, world: World) -> None:
        self.candidates, self.states, self.listed = world

    def outranks(self, candidate: Candidate, other: Candidate) -> bool:
        """Candidates for the identity come first, then confirmed ones, then by rank."""
        for is_better in (
            lambda c: Capability.INSTANCE_ID in c.declares,
            lambda c: c.is_confirmed,
        ):
            if is_better(candidate) != is_better(other):
                return bool(is_better(candidate))
        return candidate.rank > other.rank

    def is_pending(self, candidate: Candidate) -> bool:
        return self.states[candidate.name].standing == SourceStatus.PENDING

    def identity(self) -> Candidate | None:
        """The highest-ranked present source."""
        here = [c for c in self.candidates if self.states[c.name].instance_id is not None]
        best = [c for c in here if not any(self.outranks(other, c) for other in here)]
        return best[0] if best else None

    def may_give(self, candidate: Candidate, capability: Capability) -> bool:
        """Whether the rules would allow it to give this if no source were pending."""
        if capability not in self.states[candidate.name].offers:
            return False
        identity = self.identity()
        if candidate == identity:
            return True
        if identity is not None and capability in self.states[identity.name].offers:
            return False  # others only fill what is missing
        if candidate.name in self.listed:
            return True
        if capability in PRIVATE or identity is None:
            return False
        return self.states[candidate.name].instance_id == self.states[identity.name].instance_id

    def holds(self, pending: Candidate, giver: Candidate, capability: Capability) -> bool:
        """Whether a pending source holds back what this source could give."""
        if not self.is_pending(pending) or not self.outranks(pending, giver):
            return False
        identity = self.identity()
        could_be_identity = Capability.INSTANCE_ID in pending.declares and (
            identity is None or self.outranks(pending, identity)
        )
        # Below the identity a source can only fill gaps: a private capability only if it is listed.
        if capability in pending.declares:
            return could_be_identity or pending.name in self.listed or capability not in PRIVATE
        return could_be_identity and capability in PRIVATE and giver.name not in self.listed

    def may_yet_come(self, capability: Capability, is_optional: bool) -> bool:
        """Whether a pending source could give it, or could be the identity that lets a present source give it."""
        identity = self.identity()
        pending = [c for c in self.candidates if self.is_pending(c)]
        claimants = [
            c
            for c in pending
            if Capability.INSTANCE_ID in c.declares and (identity is None or self.outranks(c, identity))
        ]
        if any(capability in c.declares for c in claimants):
            return True
        helpers = [
            c for c in pending if capability in c.declares and (c.name in self.listed or capability not in PRIVATE)
        ]
        if helpers and not is_optional:
            return True
        offered = any(capability in self.states[c.name].offers for c in self.candidates if c != identity)
        return bool(claimants) and capability not in PRIVATE and offered


def check(world: World, capability: Capability, is_optional: bool, counts: Counter[str]) -> Verdict:
    model = Model(world)
    candidates, states, listed = world
    verdict = Rules(candidates, listed).judge(capability, states, is_optional)
    counts[verdict.answer.value] += 1
    givers = [c for c in candidates if model.may_give(c, capability)]
    if verdict.answer == VerdictKind.GIVEN:
        (giver,) = [c for c in candidates if c.name == verdict.source]
        assert giver in givers, "it was given by somebody who may not"
        assert not any(model.outranks(c, giver) for c in givers if giver != model.identity()), "another goes first"
        assert not any(model.holds(c, giver, capability) for c in candidates), "somebody holds it back"
    if verdict.answer == VerdictKind.HELD:
        (holder,) = [c for c in candidates if c.name == verdict.source]
        assert model.is_pending(holder), "only who is pending holds back"
    if verdict.answer == VerdictKind.MISSING:
        assert not givers, "somebody could have given it"
    if givers:
        # The best permitted source gives it, unless the rules let a source hold it back.
        best = next(c for c in givers if not any(model.outranks(other, c) for other in givers))
        is_held = any(model.holds(c, best, capability) for c in candidates)
        assert (verdict.answer == VerdictKind.HELD) == is_held
    else:
        assert (verdict.answer == VerdictKind.HELD) == model.may_yet_come(capability, is_optional)
    return verdict


def test_judging_any_world_agrees_with_the_rules() -> None:
    counts: Counter[str] = Counter()

    @QUICK
    @given(worlds(), st.sampled_from(SOME), st.booleans())
    def run(world: World, capability: Capability, is_optional: bool) -> None:
        check(world, capability, is_optional, counts)

    run()
    assert min(counts[answer.value] for answer in VerdictKind) > ROUNDS // 20, counts


def random_world(random: Random) -> World:
    """Denser than Hypothesis draws them: most sources can be the identity and offer much, so that they compete."""
    count = random.randint(2, 5)
    ranks = random.sample(range(count), count)
    candidates, states = [], {}
    for number in range(count):
        declares = frozenset(capability for capability in SOME if random.random() < 0.75) or frozenset(SOME)
        candidate = Candidate(f"s{number}", ranks[number], declares, random.random() < 0.3)
        candidates.append(candidate)
        offers = frozenset(each for each in declares if random.random() < 0.7)
        has_id = Capability.INSTANCE_ID in offers
        here = SourceState(SourceStatus.PRESENT, random.choice("ab") if has_id else None, offers)
        states[candidate.name] = random.choice([here, here, PENDING, ABSENT])
    return candidates, states, frozenset(candidate.name for candidate in candidates if random.random() < 0.2)


def test_judging_many_dense_worlds_agrees_with_the_rules() -> None:
    random, counts = Random(10), Counter[str]()
    for _ in range(20_000):
        check(random_world(random), random.choice(SOME), random.random() < 0.5, counts)
    assert min(counts[answer.value] for answer in VerdictKind) > 1_000, counts


@QUICK
@given(worlds(), st.sampled_from(sorted(PRIVATE, key=lambda c: c.value)))
def test_private_capability_never_comes_from_a_stranger_however_it_ends(world: World, capability: Capability) -> None:
    """However the pending sources answer, the giver of a private value is the final identity, or listed."""
    candidates, states, listed = world
    rules = Rules(candidates, listed)
    verdict = rules.judge(capability, states)
    if verdict.answer != VerdictKind.GIVEN or verdict.source in listed:
        return
    for ending in (ABSENT, SourceState(SourceStatus.PRESENT, "z", frozenset(SOME))):
        after = {
            name: ending
            if state == PENDING and (ending == ABSENT or Capability.INSTANCE_ID in declares(candidates, name))
            else state
            for name, state in states.items()
        }
        identity, _ = rules.identity(after)
        assert identity is not None
        assert identity.name == verdict.source


def declares(candidates: list[Candidate], name: str) -> frozenset[Capability]:
    return next(candidate.declares for candidate in candidates if candidate.name == name)


@QUICK
@given(worlds(), st.sampled_from(SOME))
def test_who_only_uses_a_capability_waits_no_longer_than_who_needs_it(world: World, capability: Capability) -> None:
    candidates, states, listed = world
    rules = Rules(candidates, listed)
    needs, uses = (rules.judge(capability, states, is_optional) for is_optional in (False, True))
    if needs.answer == VerdictKind.HELD:
        assert uses.answer in (VerdictKind.HELD, VerdictKind.MISSING)
    else:
        assert uses == needs


@QUICK
@given(worlds(), st.sampled_from(SOME))
def test_nothing_is_held_back_once_all_have_ended(world: World, capability: Capability) -> None:
    candidates, states, listed = world
    ended = {name: ABSENT if state == PENDING else state for name, state in states.items()}
    assert Rules(candidates, listed).judge(capability, ended).answer != VerdictKind.HELD


def test_source_that_does_not_declare_a_capability_holds_none_of_it_back() -> None:
    high = Candidate("high", 9, frozenset({Capability.INSTANCE_ID, Capability.USER_DATA}))
    low = Candidate("low", 1, frozenset(SOME))
    states = {"high": PENDING, "low": SourceState(SourceStatus.PRESENT, "a", frozenset(SOME))}
    rules = Rules([high, low])
    assert rules.judge(Capability.ZONE, states) == Verdict(VerdictKind.GIVEN, "low", "it is the identity")
    assert rules.judge(Capability.USER_DATA, states).source == "high"
    assert (
        rules.judge(Capability.PUBLIC_KEYS, states).answer == VerdictKind.HELD
    )  # whose machine this is decides about keys


def test_platform_that_is_confirmed_wins_over_a_higher_rank() -> None:
    seed = Candidate("seed", 9, frozenset(SOME))
    cloud = Candidate("cloud", 1, frozenset(SOME), is_confirmed=True)
    here = SourceState(SourceStatus.PRESENT, "a", frozenset(SOME))
    assert Rules([seed, cloud]).judge(Capability.USER_DATA, {"seed": here, "cloud": here}).source == "cloud"
    assert Rules([seed, cloud]).judge(Capability.USER_DATA, {"seed": here, "cloud": PENDING}).answer == VerdictKind.HELD

"""Stubborn sets: a subset of the firings enabled in a marking that is enough to find every marking in which nothing moves.

Firings that neither disturb nor wait for each other reach the same end in any order, so one order is enough. A set is stubborn when (a) for
each enabled firing in it, the set also has all firings that could take away what this one tests, and all that test what this one takes
away; (b) for each disabled firing in it there is a place that is short of tokens, and the set has all firings that could fill that place;
(c) at least one firing in it is enabled. Then no firing outside can enable, disable or forestall one inside (Valmari 1988), and every
deadlock stays reachable.

What a firing brings into the set are whole groups: the fillers, drainers or testers of a place. A group is added once, so a set costs no
more than the arcs of the net, even where thousands of firings share one place.
"""

from collections.abc import Collection, Iterable, Sequence

from precast.net.model.plain_net import Firing

# How many enabled firings are tried as a seed; the smallest set wins. In large nets fewer, once the sets so far had this many firings.
SEEDS, WORK = 6, 2_000


class Stubborn:
    """The relations between firings that do not depend on the marking, computed once."""

    def __init__(self, all_firings: Sequence[Firing], place_count: int) -> None:
        self.takes = [firing.takes for firing in all_firings]
        self.effects = [sorted(firing.effect().items()) for firing in all_firings]
        # The firings that fill place p are group p; those that drain it are group `_drainers` + p, those that test it `_testers` + p.
        self._drainers, self._testers = place_count, 2 * place_count
        self._groups: list[set[int]] = [set() for _ in range(3 * place_count)]
        # By place: the most tokens that any firing wants there. With that many, one token more enables nothing.
        self._most_wanted = [0] * place_count
        for f, effect in enumerate(self.effects):
            for place, change in effect:
                self._groups[place if change > 0 else self._drainers + place].add(f)
            for place, count in self.takes[f]:
                self._groups[self._testers + place].add(f)
                self._most_wanted[place] = max(self._most_wanted[place], count)
        self._rivals = [self._rivals_of(f) for f in range(len(all_firings))]

    def _rivals_of(self, f: int) -> list[int]:
        """The groups that could take away what f tests, and those that test what f takes away."""
        drainers = [self._drainers + place for place, _ in self.takes[f]]
        return drainers + [self._testers + place for place, change in self.effects[f] if change < 0]

    def enabled(self, tokens: Sequence[int]) -> list[int]:
        return [f for f in range(len(self.takes)) if self._is_enabled(f, tokens)]

    def enabled_after(self, tokens: Sequence[int], enabled: Sequence[int], f: int) -> list[int]:
        """The firings enabled in the marking that f led to, given those enabled before f."""
        gained, lost = set[int](), set[int]()
        for place, change in self.effects[f]:
            if tokens[place] - max(change, 0) < self._most_wanted[place]:
                (gained if change > 0 else lost).update(self._groups[self._testers + place])
        found = [g for g in enabled if g not in lost or self._is_enabled(g, tokens)]
        gained.difference_update(enabled)
        if gained and (new := [g for g in gained if self._is_enabled(g, tokens)]):
            found += new
            found.sort()
        return found

    def _is_enabled(self, f: int, tokens: Sequence[int]) -> bool:
        for place, count in self.takes[f]:  # noqa: SIM110  all() takes twice the time, and this is where a search spends it
            if tokens[place] < count:
                return False
        return True

    def choose(self, tokens: Sequence[int], enabled: list[int]) -> list[int]:
        """The enabled firings of a small stubborn set."""
        now = set(enabled)
        best, work = enabled, 0
        for seed in enabled[:SEEDS]:
            if len(best) == 1 or work > WORK:
                break
            chosen, size = self._close(seed, tokens, now, len(best))
            best, work = chosen or best, work + size
        return best

    def _close(self, seed: int, tokens: Sequence[int], now: Collection[int], most: int) -> tuple[list[int], int]:
        """The enabled firings of the set that grows from a seed, none once they are as many as `most`; and the size of the set."""
        groups, rivals = self._groups, self._rivals
        inside, added = {seed}, set[int]()
        work, chosen = [seed], []
        while work:
            f = work.pop()
            if f in now:
                chosen.append(f)
                if len(chosen) >= most:
                    return [], len(inside)
                needed: Iterable[int] = rivals[f]
            else:
                needed = self._find_fillers(f, tokens, added)
            for group in needed:
                if group not in added:
                    added.add(group)
                    new = groups[group] - inside
                    inside |= new
                    work.extend(new)
        return sorted(chosen), len(inside)

    def _find_fillers(self, f: int, tokens: Sequence[int], added: Collection[int]) -> tuple[int, ...]:
        """The fillers of the place that f is short of and that has the fewest; nothing if such fillers are in the set already."""
        best, fewest = -1, -1
        for place, count in self.takes[f]:
            if tokens[place] < count:
                if place in added:
                    return ()
                fillers = len(self._groups[place])
                if best < 0 or fewest > fillers:
                    best, fewest = place, fillers
        return (best,)

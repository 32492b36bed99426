"""Stubborn sets: a subset of the firings enabled in a marking that is enough to find every marking in which nothing moves.

Firings that neither disturb nor wait for each other reach the same end in any order, so one order is enough. A set is stubborn when (a) for
each enabled firing in it, the set also has all firings that could take away what this one tests, and all that test what this one takes
away; (b) for each disabled firing in it there is a place that is short of tokens, and the set has all firings that could fill that place;
(c) at least one firing in it is enabled. Then no firing outside can enable, disable or forestall one inside (Valmari 1988), and every
deadlock stays reachable.
"""

from collections.abc import Sequence

from precast.net.model.plain_net import Firing

# How many enabled firings are tried as a seed; the smallest set wins.
SEEDS = 6


class Stubborn:
    """The relations between firings that do not depend on the marking, computed once."""

    def __init__(self, all_firings: Sequence[Firing], place_count: int) -> None:
        self.takes = [firing.takes for firing in all_firings]
        self.effects = [sorted(firing.effect().items()) for firing in all_firings]
        self._fillers: list[list[int]] = [[] for _ in range(place_count)]
        drainers: list[list[int]] = [[] for _ in range(place_count)]
        testers: list[list[int]] = [[] for _ in range(place_count)]
        for f, effect in enumerate(self.effects):
            for place, change in effect:
                (self._fillers if change > 0 else drainers)[place].append(f)
            for place, _ in self.takes[f]:
                testers[place].append(f)
        self._rivals = [self._rivals_of(f, drainers, testers) for f in range(len(all_firings))]

    def _rivals_of(self, f: int, drainers: list[list[int]], testers: list[list[int]]) -> list[int]:
        rivals = {drainer for place, _ in self.takes[f] for drainer in drainers[place]}
        for place, change in self.effects[f]:
            if change < 0:
                rivals.update(testers[place])
        return sorted(rivals - {f})

    def enabled(self, tokens: Sequence[int]) -> list[int]:
        return [f for f, takes in enumerate(self.takes) if all(tokens[place] >= count for place, count in takes)]

    def choose(self, tokens: Sequence[int], enabled: list[int]) -> list[int]:
        """The enabled firings of a small stubborn set."""
        now = set(enabled)
        best = enabled
        for seed in enabled[:SEEDS]:
            if len(best) == 1:
                break
            chosen = self._close(seed, tokens, now)
            if len(chosen) < len(best):
                best = chosen
        return best

    def _close(self, seed: int, tokens: Sequence[int], now: set[int]) -> list[int]:
        inside = {seed}
        work = [seed]
        while work:
            f = work.pop()
            needed = self._rivals[f] if f in now else self._find_fillers(f, tokens)
            new = [firing for firing in needed if firing not in inside]
            inside.update(new)
            work += new
        return sorted(inside & now)

    def _find_fillers(self, f: int, tokens: Sequence[int]) -> list[int]:
        """All firings that fill one place that f is short of: the place with the fewest fillers."""
        short = (self._fillers[place] for place, count in self.takes[f] if tokens[place] < count)
        return min(short, key=len)

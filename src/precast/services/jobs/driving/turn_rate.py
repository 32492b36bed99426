"""How many turns a job with a rate may give, as time passes."""

from precast.base.clock import Clock


class TurnRate:
    """Counts the turns that time has earned and that were not taken. The first is free; none are saved up beyond one second's worth."""

    def __init__(self, per_minute: int | None, clock: Clock) -> None:
        self._per_s = None if per_minute is None else per_minute / 60.0
        self.most = max(1, int(self._per_s or 0))
        self._clock = clock
        self._earned = 1.0
        self._counted_s = clock.monotonic_s()

    def take_new(self) -> int:
        """The whole turns that were earned since the last call."""
        assert self._per_s is not None, "the job has a rate"
        now_s = self._clock.monotonic_s()
        self._earned += (now_s - self._counted_s) * self._per_s
        self._counted_s = now_s
        turns = int(self._earned)
        self._earned -= turns
        return min(turns, self.most)

    def wait_s(self) -> float | None:
        """How long until another turn is earned; None without a rate."""
        return None if self._per_s is None else max(0.05, (1.0 - self._earned) / self._per_s)

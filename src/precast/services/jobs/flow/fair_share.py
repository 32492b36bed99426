"""Whose turn is next: a free slot goes to the environment with the fewest attempts in flight, and there to the job with the fewest.

Of several with equally few, the one whose last turn is longest ago is next. So environments share the slots equally, whatever they have to
do, and so do the jobs of an environment: an action over three nodes beside one over 10,000 begins with the next slots and ends first.

The last sixteenth of the slots is reserved for jobs with nothing in flight, in the order of their waiting. Long work that occupies all
other slots therefore delays no other job's beginning, and a job with work waits for at most as many turns as there are such jobs before it.
"""

from precast.services.jobs.flow.ranking import Ranking

RESERVED_PART = 16


class _Job:
    """A job of an environment: how many attempts could start, how many are in flight, and the number of its last turn."""

    __slots__ = ("environment", "in_flight", "last_turn", "offered")

    def __init__(self, environment: str, last_turn: int) -> None:
        self.environment = environment
        self.offered = 0
        self.in_flight = 0
        self.last_turn = last_turn


class _Environment:
    """An environment: its attempts in flight, the number of its last turn, how many jobs are known, and those with work."""

    __slots__ = ("in_flight", "jobs", "last_turn", "ready")

    def __init__(self, last_turn: int) -> None:
        self.in_flight = 0
        self.last_turn = last_turn
        self.jobs = 0
        self.ready = Ranking()


class FairShare:
    """The jobs that one server drives. It knows numbers only; which nodes start is the job's own decision."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}
        self._environments: dict[str, _Environment] = {}
        self._ready = Ranking()  # environments with work
        self._idle = Ranking()  # jobs with work and nothing in flight
        self._turn = 0
        self.in_flight = 0

    def offer(self, environment: str, job: str, count: int) -> None:
        """Say that a job could start `count` more attempts now. This replaces what it offered before; 0 withdraws the offer."""
        self._known(environment, job).offered = count
        self._rank(job)

    def adopt(self, environment: str, job: str, count: int) -> None:
        """Count attempts as in flight that another server has started: the job was taken over."""
        self._add_in_flight(self._known(environment, job), count)
        self._rank(job)

    def take(self, free: int) -> list[tuple[str, int]]:
        """Give out at most `free` slots. Returns each job whose turn it is with the number of attempts that it starts now."""
        taken: dict[str, int] = {}
        reserved = -(-(self.in_flight + free) // RESERVED_PART)
        while free > 0:
            job = self._idle.first() if free <= reserved else self._next_job()
            if job is None:
                break
            count = min(free - reserved, self._jobs[job].offered) if free > reserved and self._is_alone(job) else 1
            self._start(job, count)
            taken[job] = taken.get(job, 0) + count
            free -= count
        return list(taken.items())

    def done(self, job: str, count: int) -> None:
        """Free the slots of attempts that have ended. A job that is not known has none."""
        if (known := self._jobs.get(job)) is not None:
            self._add_in_flight(known, -min(count, known.in_flight))
            self._rank(job)

    def forget(self, job: str) -> None:
        """Withdraw the offer of a job and free its slots: it has ended, or another server drives it."""
        if (known := self._jobs.get(job)) is not None:
            known.offered = 0
            self.done(job, known.in_flight)

    def _known(self, environment: str, job: str) -> _Job:
        if job not in self._jobs:
            self._turn += 1
            self._jobs[job] = _Job(environment, self._turn)
            if environment not in self._environments:
                self._environments[environment] = _Environment(self._turn)
            self._environments[environment].jobs += 1
        return self._jobs[job]

    def _next_job(self) -> str | None:
        environment = self._ready.first()
        return None if environment is None else self._environments[environment].ready.first()

    def _is_alone(self, job: str) -> bool:
        """Whether no other job has work: then it has one turn after the other."""
        return len(self._ready) == 1 and len(self._environments[self._jobs[job].environment].ready) == 1

    def _start(self, job: str, count: int) -> None:
        self._turn += 1
        known = self._jobs[job]
        known.offered -= count
        known.last_turn = self._environments[known.environment].last_turn = self._turn
        self._add_in_flight(known, count)
        self._rank(job)

    def _add_in_flight(self, known: _Job, count: int) -> None:
        known.in_flight += count
        self._environments[known.environment].in_flight += count
        self.in_flight += count

    def _rank(self, job: str) -> None:
        """Rank a job and its environment by their numbers, which have changed; drop what has neither work nor attempts in flight."""
        known = self._jobs[job]
        name, environment = known.environment, self._environments[known.environment]
        if known.offered > 0:
            environment.ready.put(job, (known.in_flight, known.last_turn))
        else:
            environment.ready.discard(job)
        if known.offered > 0 and not known.in_flight:
            self._idle.put(job, (0, known.last_turn))
        else:
            self._idle.discard(job)
        if not known.offered and not known.in_flight:
            del self._jobs[job]
            environment.jobs -= 1
        if environment.ready.first() is not None:
            self._ready.put(name, (environment.in_flight, environment.last_turn))
        else:
            self._ready.discard(name)
        if not environment.jobs:
            del self._environments[name]

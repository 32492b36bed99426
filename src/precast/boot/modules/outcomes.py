"""What came of a module: what it changed, what it warns of, and why it did not run if it did not."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Outcome:
    """The changes in the order in which they were made (in a dry run: would be made), in words without secrets."""

    changes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    not_run: str | None = None  # the reason

    @property
    def has_changed(self) -> bool:
        return bool(self.changes)

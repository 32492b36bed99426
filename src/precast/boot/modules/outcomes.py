"""Records the outcome of a module: its changes, its warnings, and the reason if it did not run."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class ModuleOutcome:
    """Lists the changes in the order in which they were made (in a dry run: would be made). The texts contain no secrets."""

    changes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    not_run: str | None = None  # the reason; the module is due again in the next boot
    remark: str = ""  # why there was nothing to change, though the module counts as run

    @property
    def has_changed(self) -> bool:
        return bool(self.changes)

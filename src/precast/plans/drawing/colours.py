"""The colours of tasks, by type and by state: ground and border. A state is also a word in the drawing, never a colour alone."""

from typing import NamedTuple

from precast.plans.drawing.picture import OTHER, TaskBox
from precast.wire.plans import states


class Colour(NamedTuple):
    """The ground of a box and its border; the border is also the colour of a state's part of a bar."""

    ground: str
    border: str


_PUPPET, _COMMAND, _FILES = Colour("#e6f0fa", "#2f6fb0"), Colour("#fdf3d8", "#a97a00"), Colour("#e6f3e9", "#3a7d4f")
_NOTHING = Colour("#ffffff", "#8a949c")

TYPES: dict[str, Colour] = {
    "catalog": _PUPPET,
    "manifest": _PUPPET,
    "shell": _COMMAND,
    "task": _COMMAND,
    "upload_file": _FILES,
    "copy_files": _FILES,
    "sync": _FILES,
    "reboot": Colour("#fbe9e7", "#b3442e"),
    "run_plan": Colour("#f0e9fa", "#75539f"),
    "stage": Colour("#3f4a52", "#20262b"),
    "skipped": _NOTHING,
    OTHER: Colour("#f4f5f4", "#a3aeb6"),
}

STATES: dict[str, Colour] = {
    states.PENDING: Colour("#f4f5f4", "#a3aeb6"),
    states.READY: Colour("#eef2f5", "#6f8294"),
    states.TESTING: Colour("#e3f1f4", "#2f8296"),
    states.RUNNING: Colour("#e6f0fa", "#1d5a96"),
    states.VERIFYING: Colour("#e2f2ee", "#1f6a64"),
    states.SUCCESSFUL: Colour("#e6f3e9", "#2a6a3c"),
    states.FAILED: Colour("#fbe0dd", "#a8261c"),
    states.DEP_FAILED: Colour("#fbeadb", "#b5651d"),
    states.SKIPPED: Colour("#ffffff", "#8a949c"),
    states.CANCELLED: Colour("#eceeec", "#5b656d"),
}
# The state that a task with nodes in several states is drawn in: the first of these.
_FIRST = (
    *(states.FAILED, states.DEP_FAILED, states.RUNNING, states.VERIFYING, states.TESTING, states.READY),
    *(states.PENDING, states.CANCELLED, states.SUCCESSFUL, states.SKIPPED),
)


def colour_of(box: TaskBox) -> Colour:
    """By type; by state if it has one: what needs attention before what goes on, and that before what has ended well."""
    present = {state for state, _ in box.states}
    return STATES[next(state for state in _FIRST if state in present)] if present else TYPES[box.kind]

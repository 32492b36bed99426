"""Writes a plan as DOT, for Graphviz and every viewer that reads it."""

from precast.net.drawing.dot import quoted
from precast.plans.drawing.box import describe_place
from precast.plans.drawing.colours import colour_of
from precast.plans.drawing.picture import PlanPicture, TaskBox
from precast.plans.views.descriptions import count

_LINES = {"need": "", "cross": 'style=dashed color="#2f6fb0"', "any": 'style=dotted color="#75539f" label=any'}


def write_dot(picture: PlanPicture) -> str:
    """The DOT text."""
    lines = [f"digraph {quoted(picture.name)} {{", '  node [fontname="sans-serif"];']
    lines += [f"  t{number} [{_attributes(box)}];" for number, box in enumerate(picture.boxes)]
    lines += [f"  t{arrow.source} -> t{arrow.target} [{_LINES[arrow.kind]}];" for arrow in picture.arrows]
    return "\n".join([*lines, "}"]) + "\n"


def _attributes(box: TaskBox) -> str:
    colour = colour_of(box)
    is_light = box.kind == "stage" and not box.states
    style = "filled,dashed" if box.kind == "skipped" else "filled,rounded"
    shape = "ellipse" if box.kind == "stage" else "box"
    return (
        f'label={quoted(_label(box))} shape={shape} style="{style}" fillcolor="{colour.ground}" color="{colour.border}"'
        + (' fontcolor="#ffffff"' if is_light else "")
    )


def _label(box: TaskBox) -> str:
    lines = [box.name, describe_place(box), ", ".join(box.marks)]
    tests = [
        f"{count(len(tests), 'test')} {when}" for when, tests in (("before", box.before), ("after", box.after)) if tests
    ]
    lines += [", ".join(tests), ", ".join(f"{number} {state}" for state, number in box.states)]
    return "\n".join(filter(None, lines))

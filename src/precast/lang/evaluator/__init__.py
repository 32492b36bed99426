"""Turns the tree of a program into closures, once; a compile then only runs closures.

`translation` has the dispatch; each other module translates one family of nodes and registers itself there.
"""


def load_translations() -> None:
    """Makes every translation known."""
    from precast.lang.evaluator import (  # noqa: F401
        accessing,
        assignments,
        branches,
        calls,
        declarations,
        links,
        literals,
        operators,
        templates,
    )

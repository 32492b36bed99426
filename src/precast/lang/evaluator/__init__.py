"""Translates a program's tree into closures once; a compile then only runs closures.

`translation` has the dispatch; each other module translates one family of nodes and registers itself there.
"""


def load_translations() -> None:
    """Import every module that registers translations."""
    from precast.lang.evaluator import (  # noqa: F401
        access,
        assignments,
        branches,
        calls,
        collectors,
        declarations,
        literals,
        operators,
        relationships,
        templates,
    )

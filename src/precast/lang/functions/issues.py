"""What can go wrong in a call of a function. Codes LANG-400 to LANG-599.

These errors are raised without a place: the call site adds its own.
"""

from precast.base.errors import Issue, Kind

WRONG_ARGUMENTS = Issue("LANG-400", Kind.INPUT, "'{name}' {reason}", "see `precast doc function {name}`")
NO_SIGNATURE_FITS = Issue(
    "LANG-401",
    Kind.INPUT,
    "The function '{name}' was called with arguments it does not accept. It expects one of:\n{signatures}",
    "see `precast doc function {name}`",
)

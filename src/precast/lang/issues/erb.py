"""Errors in the Ruby code of templates and modules. Their codes begin at LANG-900."""

from precast.base.errors import Issue, Kind

NO_SYNTAX = Issue("LANG-900", Kind.INPUT, "Cannot parse this Ruby code: {problem}", "{hint}")
NOT_IN_SUBSET = Issue(
    "LANG-901",
    Kind.INPUT,
    "Ruby code cannot use {construct} here",
    "templates and functions run without Ruby: docs/explanation/erb.md and module-functions.md list what they can use",
)
NO_METHOD = Issue(
    "LANG-902",
    Kind.INPUT,
    "undefined method `{name}' for {receiver}",
    "show the value with `{subject}.inspect`; docs/explanation/erb.md lists the available methods",
)
BAD_CALL = Issue(
    "LANG-903",
    Kind.INPUT,
    "`{name}' cannot be called like this: {reason}",
    "check the arguments in Ruby's documentation",
)
NO_NAME = Issue(
    "LANG-904",
    Kind.INPUT,
    "undefined local variable or method `{name}'",
    "write a variable of the manifest as @{name}, one of another class as scope['class::name']",
)
RAISED = Issue("LANG-905", Kind.INPUT, "{message}", "the template or function itself raised this error")
TOO_LONG = Issue("LANG-906", Kind.INPUT, "The code did not end within {limit} steps", "check it for an endless loop")
TOO_DEEP = Issue(
    "LANG-907", Kind.INPUT, "The code calls itself too deeply", "check it for a definition that calls itself"
)
TOO_LARGE = Issue(
    "LANG-908", Kind.INPUT, "The code made a value of more than {limit} characters or items", "check what it repeats"
)

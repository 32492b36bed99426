"""Errors in ERB templates. Their codes begin at LANG-900."""

from precast.base.errors import Issue, Kind

NO_SYNTAX = Issue("LANG-900", Kind.INPUT, "Cannot parse this Ruby code: {problem}", "{hint}")
NOT_IN_SUBSET = Issue(
    "LANG-901",
    Kind.INPUT,
    "Templates cannot use {construct}",
    "templates are rendered without Ruby: use the constructs in docs/explanation/erb.md, or write the template in EPP",
)
NO_METHOD = Issue(
    "LANG-902",
    Kind.INPUT,
    "undefined method `{name}' for {receiver}",
    "show the value with `<%= {subject}.inspect %>`; docs/explanation/erb.md lists the available methods",
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
RAISED = Issue("LANG-905", Kind.INPUT, "{message}", "the template itself raised this error")
TOO_LONG = Issue(
    "LANG-906", Kind.INPUT, "The template did not end within {limit} steps", "check it for an endless loop"
)
TOO_DEEP = Issue(
    "LANG-907", Kind.INPUT, "The template calls itself too deeply", "check it for a definition that calls itself"
)

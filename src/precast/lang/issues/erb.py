"""What can go wrong in ERB templates. Codes from LANG-900 on."""

from precast.base.errors import Issue, Kind

NO_SYNTAX = Issue("LANG-900", Kind.INPUT, "This is no Ruby that can be read here: {problem}", "{hint}")
NOT_IN_SUBSET = Issue(
    "LANG-901",
    Kind.INPUT,
    "Templates may not use {construct} here",
    "templates are rendered without Ruby: use what docs/explanation/erb.md lists, or write the template in EPP",
)
NO_METHOD = Issue(
    "LANG-902",
    Kind.INPUT,
    "undefined method `{name}' for {receiver}",
    "look at the value with `<%= {subject}.inspect %>`; what can be called is listed in docs/explanation/erb.md",
)
BAD_CALL = Issue(
    "LANG-903", Kind.INPUT, "`{name}' cannot be called so: {reason}", "compare the arguments with Ruby's documentation"
)
NO_NAME = Issue(
    "LANG-904",
    Kind.INPUT,
    "undefined local variable or method `{name}'",
    "a variable of the manifest is written @{name}, one of another class scope['class::name']",
)
RAISED = Issue("LANG-905", Kind.INPUT, "{message}", "the template raises this itself")
TOO_LONG = Issue(
    "LANG-906", Kind.INPUT, "The template did not end within {limit} steps", "look for a loop that does not end"
)
TOO_DEEP = Issue(
    "LANG-907", Kind.INPUT, "The template calls itself too deeply", "look for a definition that calls itself"
)

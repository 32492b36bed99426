"""Syntax errors, found before anything of a program is evaluated."""

from precast.base.errors import Issue, Kind

# Characters and tokens

UNEXPECTED = Issue("LANG-001", Kind.INPUT, "Syntax error at '{found}'{wanted}", "{advice}")
UNEXPECTED_END = Issue("LANG-002", Kind.INPUT, "Syntax error at end of input{wanted}", "{advice}")
UNCLOSED_QUOTE = Issue(
    "LANG-003",
    Kind.INPUT,
    "Unclosed quote after {quote} followed by '{text}'",
    "close the string; inside it, write a quote of the same kind as \\{mark}",
)
ILLEGAL_NUMBER = Issue(
    "LANG-004",
    Kind.INPUT,
    "Illegal number '{text}'",
    "write a number as 12, 0x1f (hexadecimal), 017 (octal), 1.5 or 1e-3; put anything else in quotes",
)
ILLEGAL_RADIX = Issue(
    "LANG-005",
    Kind.INPUT,
    "Not a valid {radix} number {text}",
    "use digits 0-9 and a-f after 0x, and only digits 0-7 after a leading 0; put it in quotes if it is not a number",
)
INTEGER_RANGE = Issue(
    "LANG-006",
    Kind.INPUT,
    "A Literal Integer resulted in a value outside of Puppet Integer {bound} range, got '{text}'",
    "an integer has 64 bits, so the largest is 9223372036854775807; put it in quotes if it is not a number",
)
BYTE_ORDER_MARK = Issue(
    "LANG-007",
    Kind.INPUT,
    "Illegal Byte Order Mark at the beginning of the file",
    "save the file as UTF-8 without a byte order mark",
)
ILLEGAL_ESCAPE = Issue(
    "LANG-008",
    Kind.INPUT,
    "The character '\\{text}' does not exist",
    "use a code up to \\u{{10ffff}}, except \\ud800 to \\udfff",
)
FLOAT_RANGE = Issue("LANG-009", Kind.INPUT, "The number {text} is too large for a Float", "write a smaller number")
UNCLOSED_COMMENT = Issue("LANG-011", Kind.INPUT, "Unclosed multiline comment", "close it with */")
BOOLEAN_VARIABLE = Issue(
    "LANG-012",
    Kind.INPUT,
    "'{name}' between ${{ and }} would be the name of a variable",
    "write the word outside of ${{…}}, or write ${{String({name})}}",
)
SUSPICIOUS = Issue("LANG-013", Kind.INPUT, "{problem}", "write \\\\ for a backslash, or remove it")
TOO_DEEP = Issue(
    "LANG-010",
    Kind.INPUT,
    "This is nested more than {limit} levels deep",
    "assign the inner part to a variable, or make it a function",
)

# Heredocs

HEREDOC_TAG = Issue(
    "LANG-020", Kind.INPUT, "Heredoc: {problem}", 'write @(TAG), @("TAG") to interpolate, @(TAG:json), @(TAG/L$)'
)
HEREDOC_ESCAPE = Issue(
    "LANG-021",
    Kind.INPUT,
    "Invalid heredoc escape char. Only t, r, n, s, u, L, $ allowed. Got '{char}'",
    "write @(TAG/) for all escapes, or list those you want: @(TAG/tn)",
)
HEREDOC_ESCAPE_TWICE = Issue(
    "LANG-022",
    Kind.INPUT,
    "An escape char for @() may only appear once. Got '{flags}'",
    "write each escape once",
)
HEREDOC_NO_TEXT = Issue(
    "LANG-023",
    Kind.INPUT,
    "Heredoc without any following lines of text",
    "begin the text on the next line and end it with a line that contains only {tag}",
)
HEREDOC_NO_END = Issue(
    "LANG-024",
    Kind.INPUT,
    "Heredoc without end-tagged line",
    "end the text with a line that contains only {tag}, optionally after | (margin) and - (no last line break)",
)

UNCLOSED_TAG = Issue(
    "LANG-025", Kind.INPUT, "Unbalanced epp tag, reached <eof> without closing tag", "close the tag with %> or -%>"
)

# Valid constructs in the wrong place

NOT_A_RESOURCE = Issue(
    "LANG-030",
    Kind.INPUT,
    "Expression is not valid as a resource, resource-default, or resource-override",
    "{advice}",
)
NOT_VIRTUAL = Issue(
    "LANG-031",
    Kind.INPUT,
    "{form} can only be applied to a Resource Expression",
    "write @type {{ 'title': … }}",
)
LIST_WITHOUT_CALL = Issue(
    "LANG-032",
    Kind.INPUT,
    "illegal comma separated argument list",
    "put the arguments in parentheses: name(a, b); or the values in brackets: [a, b]",
)
CALL_NEEDS_PARENTHESES = Issue(
    "LANG-033",
    Kind.INPUT,
    "attempt to pass argument list to the function '{name}' which cannot be called without parentheses",
    "write {name}(…)",
)
QUOTED_NAME = Issue(
    "LANG-034", Kind.INPUT, "A quoted string is not valid as a name here", "write the name without quotes"
)
CLASS_AS_NAME = Issue("LANG-035", Kind.INPUT, "'class' keyword not allowed at this location", "choose another name")
ILLEGAL_CLASS_REFERENCE = Issue(
    "LANG-036", Kind.INPUT, "Illegal class reference", "begin each part of a type's name in upper case: My::Type"
)
PLAN = Issue(
    "LANG-037",
    Kind.INPUT,
    "Plans in the Puppet language are not supported, and '{name}' is one",
    "write it as a Precast plan: a task graph in YAML",
)

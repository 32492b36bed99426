"""What can go wrong with values, data types, conversions and regular expressions. Codes LANG-200 to LANG-399.

These errors are raised without a place: whoever evaluates the expression knows it and adds it.
"""

from precast.base.errors import Issue, Kind

NOT_COMPARABLE = Issue(
    "LANG-201",
    Kind.INPUT,
    "Comparison of: {left} {operator} {right}, is not possible. Caused by '{reason}'.",
    "convert both sides to one kind first, as in Integer($x) {operator} 1",
)
NO_OPERATOR_FOR = Issue(
    "LANG-202",
    Kind.INPUT,
    "Operator '{operator}' is not applicable to a {left} when right side is a {right}.",
    "moments and durations take + and -, durations also * and / with numbers",
)
BAD_RANGE = Issue(
    "LANG-203",
    Kind.INPUT,
    'Unparsable version range: "{text}"',
    "write it like '>=1.0.0 <2.0.0', '1.x', '~1.2.3' or '^1.2.3'",
)
DIVISION_BY_ZERO = Issue("LANG-204", Kind.INPUT, "Division by 0", "check the divisor first")
BAD_REGEXP = Issue(
    "LANG-210",
    Kind.INPUT,
    "Invalid regular expression /{pattern}/: {reason}",
    "correct the pattern; calls of groups, \\G, \\K, \\X and look-behind of variable width have no equal here",
)

"""Errors and warnings of plans, in sections by the modules that raise them."""

from precast.base.errors import Issue, Kind

# The expansion over nodes, subsets and checks: 030 to 049

BAD_PATTERN = Issue(
    "PLAN-030",
    Kind.INPUT,
    "the pattern {pattern} is not supported: {reason}",
    "plain regular expressions work: . [ ] ( ) | * + ? {{2,5}} ^ $",
)
EXPENSIVE_PATTERNS = Issue(
    "PLAN-031",
    Kind.INPUT,
    "the patterns of the plan take too long to match, at {pattern}",
    "name tasks and roles exactly, or use fewer and simpler patterns",
)

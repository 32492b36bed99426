"""The errors of jobs whose nodes would wait for each other for ever."""

from precast.base.errors import Issue, Kind

NOT_SOUND = Issue(
    "FUTURE-050",
    Kind.CONFLICT,
    "the nodes would wait for values that never come: {problem}{more}",
    "{hint}; to start nevertheless, and let these resources fail at their deadlines: --override-futures",
)
NOT_CHECKED = Issue(
    "FUTURE-051",
    Kind.UNAVAILABLE,
    "it could not be checked whether the nodes wait for each other: {reason}",
    "try again, with fewer nodes if there are very many; to start unchecked: --override-futures",
)

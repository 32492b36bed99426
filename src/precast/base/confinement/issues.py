"""The errors of a process that cannot be confined."""

from precast.base.errors import Issue, Kind

NOT_CONFINED = Issue(
    "CONFINE-001",
    Kind.UNAVAILABLE,
    "this system cannot confine a process that handles untrusted input: {missing}",
    'Linux 5.13 or newer with Landlock and seccomp can; the setting confinement = "best" accepts what there is',
)

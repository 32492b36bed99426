"""Issues of approvals."""

from precast.base.errors import Issue, Kind

NO_REQUEST = Issue(
    "APPROVAL-001", Kind.NOT_FOUND, "there is no request for approval {id}", "`precast approval list` shows them"
)
NOT_OPEN = Issue(
    "APPROVAL-002",
    Kind.CONFLICT,
    "the request {id} is {state}, so it cannot be decided any more",
    "see `precast approval show {id}`; request it again if it is still wanted",
)
OWN_REQUEST = Issue(
    "APPROVAL-003",
    Kind.DENIED,
    "{person} has made this request, so somebody else must approve it",
    "ask a person who may approve it; `precast approval withdraw {id}` withdraws it",
)
DECIDED = Issue(
    "APPROVAL-004",
    Kind.CONFLICT,
    "{person} has decided about this request already",
    "each person counts once, whatever token they use",
)
NOT_YOURS = Issue(
    "APPROVAL-005",
    Kind.DENIED,
    "only {person}, who has made the request, can withdraw it",
    "`precast approval reject {id}` rejects it",
)
TOO_MANY = Issue(
    "APPROVAL-006",
    Kind.LIMITED,
    "the environment {environment} has {count} open requests for approval",
    "approve, reject or withdraw some of them; `precast approval list` shows them",
)
OTHER_DIGEST = Issue(
    "APPROVAL-007",
    Kind.CONFLICT,
    "the request {id} is for something else than {digest}",
    "look at it again with `precast approval show {id}`",
)
ROLE_NEEDED = Issue(
    "APPROVAL-008", Kind.DENIED, "a {kind} is approved by a person with the role {role}", "ask such a person"
)

"""Who may call which route, and who may send which message of a session: written by hand, and never taken from the server.

A new route needs a row here. `who` is public, node, or the role of a person: viewer, operator, admin, commands. A higher role may do what
a lower one may, except that commands is a role of its own; a plus means that it opens the route as well. `limited` says what a token for
some environments opens: nothing, the routes of the environments that it names, or a list that shows only its own.
"""

from typing import NamedTuple

LIMITED = ("-", "no", "named", "own")

ROUTES = """
method  path                                              who       limited

GET     /                                                 public    -
GET     /web/{file}                                       public    -
GET     /health/live                                      public    -
GET     /health/ready                                     public    -
GET     /v1/openapi.json                                  public    -
GET     /v1/reference                                     public    -
GET     /v1/authority                                     public    -
GET     /v1/crl                                           public    -
GET     /v1/crl.pem                                       public    -
POST    /v1/enrolments                                    public    -
POST    /v1/renewals                                      public    -
POST    /v1/requests                                      public    -
POST    /v1/hooks/{environment}                           public    -
POST    /v1/web/session                                   public    -

GET     /v1/session                                       node      -
POST    /v1/facts                                         node      -
GET     /v1/catalog                                       node      -
GET     /v1/policy                                        node      -
GET     /v1/content/{digest}                              node      -
GET     /v1/entries/{digest}                              node      -
POST    /v1/secrets                                       node      -
GET     /v1/agent/task-content/{digest}                   node      -
PUT     /v1/agent/task-content/{digest}                   node      -

GET     /v1/web/session                                   viewer    own
DELETE  /v1/web/session                                   viewer    own
GET     /metrics                                          viewer    no
GET     /v1/status                                        viewer    no
GET     /v1/servers                                       viewer    no

GET     /v1/tokens                                        admin     no
POST    /v1/tokens/enrolment                              operator  no
POST    /v1/tokens/person                                 admin     no
DELETE  /v1/tokens/{id}                                   admin     no
GET     /v1/audit                                         admin     no
GET     /v1/audit/chain                                   admin     no
GET     /v1/audit/heads                                   admin     no

GET     /v1/authority/rotation                            viewer    no
POST    /v1/authority/rotation                            admin     no
POST    /v1/authority/retirement                          admin     no
GET     /v1/certificates                                  viewer    no
POST    /v1/certificates/{node}/cleaning                  operator  no
POST    /v1/certificates/{node}/revocation                operator  no
GET     /v1/requests                                      viewer    no
POST    /v1/requests/{node}/signature                     operator  no
POST    /v1/requests/{node}/rejection                     operator  no

GET     /v1/windows                                       viewer    no
GET     /v1/windows/{window}                              viewer    no
POST    /v1/windows/{window}                              operator  no
DELETE  /v1/windows/{window}                              operator  no
POST    /v1/windows/{window}/bindings                     operator  no
DELETE  /v1/windows/{window}/bindings                     operator  no
GET     /v1/nodes/{node}/openings                         viewer    no

GET     /v1/nodes                                         viewer    no
GET     /v1/nodes/{node}                                  viewer    no
GET     /v1/nodes/{node}/session                          viewer    no
GET     /v1/nodes/{node}/facts                            viewer    no
GET     /v1/nodes/{node}/facts/changes                    viewer    no
GET     /v1/nodes/{node}/facts/difference                 viewer    no
GET     /v1/nodes/{node}/catalog                          viewer    no
GET     /v1/nodes/{node}/releases                         viewer    no
GET     /v1/nodes/{node}/catalog/decision                 viewer    no
POST    /v1/nodes/{node}/catalog/decision                 operator  no
GET     /v1/nodes/{node}/catalog/difference               viewer    no
GET     /v1/nodes/{node}/catalog/why                      viewer    no
GET     /v1/nodes/{node}/origin                           viewer    no
GET     /v1/nodes/{node}/policy                           viewer    no
POST    /v1/policies                                      operator  no
POST    /v1/classifications                               operator  no
GET     /v1/rules                                         viewer    no
POST    /v1/rules/{number}                                admin     no
DELETE  /v1/rules/{number}                                admin     no
POST    /v1/collections                                   operator  no
POST    /v1/deactivations                                 operator  no
POST    /v1/reactivations                                 operator  no
POST    /v1/nodes/{node}/machine                          operator  no
POST    /v1/purges                                        admin     no
POST    /v1/targets                                       viewer    no
POST    /v1/queries                                       viewer    own
GET     /v1/exports                                       viewer    own
GET     /v1/exports/{type}                                viewer    own

GET     /v1/environments                                  viewer    own
GET     /v1/environments/{environment}                    viewer    named
GET     /v1/environments/{environment}/difference         viewer    named
GET     /v1/environments/{environment}/content/{digest}   viewer    named
POST    /v1/environments/{environment}/content            operator  named
POST    /v1/environments/{environment}/missing            operator  named
POST    /v1/environments/{environment}/versions           operator  named
POST    /v1/environments/{environment}/rollbacks          operator  named
POST    /v1/environments/{environment}/policies           operator  named
POST    /v1/environments/{environment}/deployments        operator  named
GET     /v1/environments/{environment}/secrets            viewer    named
GET     /v1/environments/{environment}/secrets/{ref}      viewer    named
GET     /v1/secret-keys                                   viewer    no
GET     /v1/secret-sources                                viewer    no
POST    /v1/secret-sources/refreshes                      operator  no
GET     /v1/environments/{environment}/secret-policy      viewer    named
POST    /v1/environments/{environment}/secret-policy      admin     named
GET     /v1/environments/{environment}/signing            viewer    named
POST    /v1/environments/{environment}/signing            admin     named
POST    /v1/environments/{environment}/approvals          admin     named
GET     /v1/environments/{environment}/exports            viewer    named
POST    /v1/environments/{environment}/exports            admin     no
GET     /v1/environments/{environment}/exports/{type}/collectors  viewer  named
GET     /v1/environments/{environment}/futures            viewer    named
GET     /v1/environments/{environment}/futures/value      viewer    named
GET     /v1/environments/{environment}/futures/changes    viewer    named
GET     /v1/environments/{environment}/futures/why        viewer    named
GET     /v1/runs/{run}/futures                            viewer    own
POST    /v1/environments/{environment}/futures            operator  named
GET     /v1/approvals                                     viewer    own
GET     /v1/approvals/{request}                           viewer    own
POST    /v1/approvals/{request}/approval                  operator  own
POST    /v1/approvals/{request}/rejection                 operator  own
POST    /v1/approvals/{request}/withdrawal                operator  own

GET     /v1/nodes/{node}/inputs                           viewer    no
GET     /v1/catalogs/dead                                 viewer    no
GET     /v1/catalogs/errors                               viewer    no
GET     /v1/catalogs/flapping                             viewer    no
GET     /v1/catalogs/loops                                viewer    no
GET     /v1/catalogs/warnings                             viewer    no
POST    /v1/previews                                      viewer    no
POST    /v1/previews/rollback                             viewer    no
POST    /v1/readiness                                     viewer    no
POST    /v1/refreshes                                     operator  no
GET     /v1/releases                                      viewer    no
POST    /v1/releases                                      operator  no
GET     /v1/releases/{release}                            viewer    no
POST    /v1/rollbacks                                     operator  no

GET     /v1/runs                                          viewer    own
POST    /v1/runs                                          operator  own
GET     /v1/runs/{run}                                    viewer    own
GET     /v1/runs/{run}/changes                            viewer    own
GET     /v1/runs/{run}/steps                              viewer    own
POST    /v1/runs/{run}/stop                               operator  own
POST    /v1/runs/{run}/abort                              operator  own
POST    /v1/runs/{run}/resume                             operator  own
POST    /v1/runs/{run}/retry                              operator  own
POST    /v1/commands                                      commands  no
GET     /v1/commands/{run}/changes                        commands  no
GET     /v1/commands/{run}/content/{node}                 commands  no
POST    /v1/commands/{run}/stop                           commands  no
POST    /v1/commands/{run}/abort                          commands  no
POST    /v1/commands/{run}/resume                         commands  no
POST    /v1/commands/{run}/retry                          commands  no

GET     /v1/actions                                       viewer    own
POST    /v1/actions                                       operator  own
GET     /v1/actions/{action}                              viewer    own
POST    /v1/actions/{action}/{change}                     operator  own
GET     /v1/command-actions                               commands  no
POST    /v1/command-actions                               commands  no
GET     /v1/command-actions/{action}                      commands  no
POST    /v1/command-actions/{action}/{change}             commands  no

GET     /v1/environments/{environment}/plans              viewer+   named
POST    /v1/plans/check                                   operator+ own
GET     /v1/plans                                         viewer+   own
POST    /v1/plans                                         operator+ own
GET     /v1/plans/{run}                                   viewer+   own
GET     /v1/plans/{run}/document                          viewer+   own
GET     /v1/plans/{run}/data/{node}                       viewer+   own
GET     /v1/plans/{run}/instances                         viewer+   own
GET     /v1/plans/{run}/changes                           viewer+   own
POST    /v1/plans/{run}/stop                              operator+ own
POST    /v1/plans/{run}/abort                             operator+ own
POST    /v1/plans/{run}/resume                            operator+ own
POST    /v1/plans/{run}/retry                             operator+ own
POST    /v1/plans/{run}/approve                           operator+ own
POST    /v1/plans/{run}/run-task                          operator+ own

GET     /v1/reports                                       viewer    no
GET     /v1/reports/{report}                              viewer    no
GET     /v1/reports/{report}/events                       viewer    no
GET     /v1/events                                        viewer    no
"""

# What happens to a message that a node sends: as the first of its session, and after the welcome.
MESSAGES = """
message    first      later

hello      welcomed   closed
record     closed     accepted
ack        closed     accepted
resend     closed     accepted
subscribe  closed     accepted
welcome    closed     closed
refused    closed     closed
want       closed     closed
reconnect  closed     closed
released   closed     closed
values     closed     closed
"""

# The kinds of records that a server accepts from a node.
RECORDS = {
    *("facts", "loss", "run-began", "run-events", "run-ended"),
    *("claim", "not-run", "order-ended", "exec-began", "exec-output", "exec-ended"),
    *("task-phase", "task-ended"),
    *("promised", "unpromised", "future-waiting", "future-bound"),
}


class RouteRow(NamedTuple):
    """Who may call one route."""

    method: str
    path: str
    who: str
    limited: str

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


class MessageRow(NamedTuple):
    """What a server does with one message of a node."""

    message: str
    first: str
    later: str


def read_routes() -> list[RouteRow]:
    rows = [RouteRow(*line.split()) for line in ROUTES.strip().splitlines()[1:] if line]
    assert len({row.name for row in rows}) == len(rows), "a route stands in the table once"
    for row in rows:
        assert row.limited in LIMITED, row
        assert (row.limited == "-") is (row.who in ("public", "node")), row
        assert (row.limited == "named") <= ("{environment}" in row.path), row
    return rows


def read_messages() -> list[MessageRow]:
    return [MessageRow(*line.split()) for line in MESSAGES.strip().splitlines()[1:] if line]

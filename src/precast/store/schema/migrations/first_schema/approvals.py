"""Tables of approvals: requests, and what people decided about them."""

TABLES = (
    """
    CREATE TABLE approval_request (
        id           TEXT PRIMARY KEY,
        kind         TEXT NOT NULL,          -- what is requested, such as release
        environment  TEXT NOT NULL,
        subject      TEXT NOT NULL,          -- what is requested, in words
        digest       TEXT NOT NULL,          -- of exactly what would be done
        payload      {bytes} NOT NULL,       -- compressed: what the code needs to do it; empty after the end
        needed       {int} NOT NULL,         -- how many people must approve it
        requested_by TEXT NOT NULL,
        token        TEXT NOT NULL,          -- the id of the token that requested it
        why          TEXT NOT NULL,
        requested_at {int} NOT NULL,
        expires_at   {int} NOT NULL,
        state        TEXT NOT NULL,          -- open, granted, rejected, withdrawn, void
        ended_at     {int},
        outcome      TEXT NOT NULL           -- of the end, in words
    ){strict}
    """,
    "CREATE INDEX approval_request_open ON approval_request (environment, state, id)",
    """
    CREATE TABLE approval_decision (
        request    TEXT NOT NULL REFERENCES approval_request (id),
        person     TEXT NOT NULL,            -- in one spelling, however many tokens they have
        approves   {int} NOT NULL,           -- 0 for a rejection
        token      TEXT NOT NULL,            -- the id of the token that decided
        why        TEXT NOT NULL,
        decided_at {int} NOT NULL,
        PRIMARY KEY (request, person)
    ){strict}
    """,
)

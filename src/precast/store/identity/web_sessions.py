"""Sessions of browsers. Only a hash of the secret is stored. Each new session deletes the expired ones."""

from datetime import datetime

import msgspec

from precast.base.clock import from_micros, to_micros
from precast.store.engine.database import Database
from precast.store.engine.query import Query, Transaction

ADD = Query(
    "web_sessions.add",
    """
    INSERT INTO web_session (id, secret_hash, token, created_at, expires_at)
    VALUES (:id, :secret_hash, :token, :now, :expires_at)
    """,
)
FIND = Query("web_sessions.find", "SELECT id, secret_hash, token, expires_at FROM web_session WHERE id = :id")
END = Query("web_sessions.end", "DELETE FROM web_session WHERE id = :id RETURNING id")
END_OLD = Query("web_sessions.end_old", "DELETE FROM web_session WHERE expires_at <= :now")
END_CROWD = Query(
    "web_sessions.end_crowd",
    """
    -- Deletes all but the newest `keep` sessions of a token.
    DELETE FROM web_session WHERE id IN (
        SELECT id FROM web_session WHERE token = :token ORDER BY created_at DESC, id DESC LIMIT 100 OFFSET :keep
    )
    """,
)


class WebSession(msgspec.Struct, frozen=True):
    """A browser session; the browser sends its id and secret in a cookie."""

    id: str
    secret_hash: bytes
    token: str
    expires_at: datetime


class WebSessions:
    """All browser sessions of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, session: WebSession, keep: int) -> Transaction[None]:
        """Begin a session. Deletes expired sessions, and the oldest of this token beyond `keep`."""
        now = to_micros(self._database.clock.now())
        yield END_OLD(now=now)
        yield ADD(
            id=session.id,
            secret_hash=session.secret_hash,
            token=session.token,
            now=now,
            expires_at=to_micros(session.expires_at),
        )
        yield END_CROWD(token=session.token, keep=keep)

    async def find(self, session: str) -> WebSession | None:
        return await self._database.read(_find, session)

    def end(self, session: str) -> Transaction[bool]:
        """End a session; False if it does not exist."""
        return bool((yield END(id=session)))


def _find(session: str) -> Transaction[WebSession | None]:
    rows = yield FIND(id=session)
    if not rows:
        return None
    id_, secret_hash, token, expires = rows[0]
    return WebSession(id_, bytes(secret_hash), token, from_micros(expires))

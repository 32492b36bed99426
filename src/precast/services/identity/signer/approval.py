"""Whether a request is approved: by a person's sealed token with the role that it needs, or by a local command.

A local command is one whose user could read the key itself: root, or the signer's own user. The server's user is never one of them, even
if it is the same user, because a request of the server proves nothing.
"""

from datetime import datetime
from typing import NamedTuple

from precast.base.errors import PrecastError
from precast.services.identity import issues, roles
from precast.services.identity.signer.messages import Credential
from precast.services.identity.signer.seals import SealKey
from precast.services.identity.signer.token_journal import TokenJournal
from precast.wire.identity import tokens as wire


class Peer(NamedTuple):
    """The process at the other end of the socket, as the kernel names it."""

    uid: int
    may_approve: bool  # whether it is a local command


class Approvals:
    """Checks approvals."""

    def __init__(self, seal_key: SealKey, tokens: TokenJournal) -> None:
        self._seal_key, self._tokens = seal_key, tokens

    def check(self, credential: Credential | None, role: str, peer: Peer, now: datetime) -> str:
        """Return the name of the approver, for the log. Raises DeniedError CA-031."""
        if credential is None:
            if not peer.may_approve:
                raise issues.SIGNER_REFUSED.error(
                    reason="nobody approved it, and only root or the signer's user needs no approval"
                )
            return f"uid:{peer.uid}"
        record = credential.record
        try:
            shown = wire.parse_person(credential.token)
        except PrecastError:
            raise issues.SIGNER_REFUSED.error(reason="the approver's token is malformed") from None
        if not self._seal_key.is_sealed(record, credential.seal):
            raise issues.SIGNER_REFUSED.error(reason="the record of the approver's token is not sealed by this signer")
        if shown.id != record.id or not wire.is_secret(shown.secret, record.secret_hash):
            raise issues.SIGNER_REFUSED.error(reason="the approver's token is not the one of its record")
        if record.expires_at <= now or self._tokens.is_revoked(record.id):
            raise issues.SIGNER_REFUSED.error(reason="the approver's token is expired or revoked")
        if not roles.includes(record.role, role) or record.environments:
            raise issues.SIGNER_REFUSED.error(reason=f"the approver is not {role} of the whole site")
        return f"person:{record.person}"

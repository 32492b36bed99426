"""What the verbs of the signer work with, and what one request does."""

from datetime import datetime

from precast.base.clock import Clock
from precast.services.identity.authority_files import LoadedAuthority
from precast.services.identity.signer.approval import Approvals, Peer
from precast.services.identity.signer.limits import Limits
from precast.services.identity.signer.seals import SealKey
from precast.services.identity.signer.state import SignerState


class SignerContext:
    """The key, the state and the settings of one signer."""

    def __init__(
        self,
        authority: LoadedAuthority,
        state: SignerState,
        clock: Clock,
        limits: Limits,
        hosts: frozenset[str],
        crl_url: str = "",
    ) -> None:
        self.authority, self.state, self.clock, self.limits = authority, state, clock, limits
        self.hosts, self.crl_url = hosts, crl_url
        self.seal_key = SealKey(authority.files.load_seal_key())
        self.approvals = Approvals(self.seal_key, state.tokens)


class SignerOperation:
    """One request while it is handled: its log line grows with it."""

    def __init__(self, peer: Peer, now: datetime) -> None:
        self.peer, self.now = peer, now
        self.subject, self.by = "", ""
        self.detail: dict[str, str] = {}

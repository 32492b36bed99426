"""The signer without its socket: takes requests in batches, and answers when everything that they cause is on the disk.

A batch is handled under the lock of the directory. One flush serves all its requests, so that a boot storm does not wait for one disk
write per certificate. An answer leaves only after its use of a token and its log line are on the disk.
"""

import logging
import os
import pwd
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from precast.base.errors import PrecastError
from precast.services.identity import certificates, issues
from precast.services.identity.signer import messages
from precast.services.identity.signer.approval import Peer
from precast.services.identity.signer.context import SignerContext, SignerOperation
from precast.services.identity.signer.limits import Bucket
from precast.services.identity.signer.signer_log import LogLine
from precast.services.identity.signer.verbs import commands, documents, issuing, rotating, sealing

log = logging.getLogger("precast.signer")
# A command that signs by itself prints the error: without any handler, `logging` would print the line too.
log.addHandler(logging.NullHandler())

# Refusals that are logged, after a burst of ten times as many; the rest is counted in the next line.
REFUSALS_PER_S = 10
MAX_DETAIL_CHARS = 200

_VERBS: dict[type[messages.Verb], Callable[[SignerContext, Any, SignerOperation], msgspec.Struct]] = {
    messages.SealPerson: sealing.seal_person,
    messages.SealEnrolment: sealing.seal_enrolment,
    messages.SealPolicies: sealing.seal_policies,
    messages.SealCommand: commands.seal_command,
    messages.SealStanding: commands.seal_standing,
    messages.RevokeToken: sealing.revoke_token,
    messages.Enrol: issuing.enrol,
    messages.Approve: issuing.approve,
    messages.Renew: issuing.renew,
    messages.CertifyServer: issuing.certify_server,
    messages.SignPolicy: documents.sign_policy,
    messages.SignRelease: documents.sign_release,
    messages.SignOrder: commands.sign_order,
    messages.SignTask: commands.sign_task,
    messages.SignCrl: documents.sign_crl,
    messages.Rotate: rotating.rotate,
}

Outcome = msgspec.Struct | PrecastError


class Signer:
    """Handles requests. Calls do not overlap."""

    def __init__(self, context: SignerContext) -> None:
        self._context = context
        self._refusals = Bucket(REFUSALS_PER_S * 10, REFUSALS_PER_S, context.clock.monotonic_s())
        self._unlogged = 0
        self._user = own_user_name()

    def handle(self, batch: Sequence[tuple[messages.AnyVerb, Peer]]) -> list[Outcome]:
        """Return the result or the error of each request, in order; nothing of it may be sent if this raises."""
        state = self._context.state
        try:
            with state.locked():
                outcomes = [self._handle_one(verb, peer) for verb, peer in batch]
                state.flush(self._context.clock.now())
        except OSError as error:
            log.error("cannot write the state of the signer: %s", error)
            failure = issues.SIGNER_UNAVAILABLE.error(reason=f"it cannot write its state: {error.strerror}")
            return [failure for _ in batch]
        return outcomes

    def _handle_one(self, verb: messages.AnyVerb, peer: Peer) -> Outcome:
        if isinstance(verb, messages.Describe):
            return self.describe()
        name = str(verb.__struct_config__.tag)
        operation = SignerOperation(peer, self._context.clock.now())
        try:
            self._context.limits.check(name)
            result = _VERBS[type(verb)](self._context, verb, operation)
        except PrecastError as error:
            self._log_refusal(name, operation, error)
            return error
        except Exception:  # the boundary of a request: our bug must not end the signer
            log.exception("the signer failed at %s", name)
            return issues.SIGNER_UNAVAILABLE.error(reason="it failed; its log has the reason")
        self._log(name, "signed", operation)
        return result

    def describe(self) -> messages.Description:
        """The public part of the authority, as it is now."""
        authority, files = self._context.authority.newest(), self._context.authority.files
        chain, imported = (
            "".join(map(certificates.certificate_pem, chosen)) for chosen in (authority.chain, authority.imported)
        )
        return messages.Description(authority.pem, chain, imported, files.is_prepared, self._user, files.is_encrypted)

    def _log_refusal(self, verb: str, operation: SignerOperation, error: PrecastError) -> None:
        if self._refusals.take(self._context.clock.monotonic_s()):
            if self._unlogged:
                operation.detail["refusals not logged before"] = str(self._unlogged)
                self._unlogged = 0
            self._log(verb, "refused", operation, f"{error.message} [{error.code}]"[:500])
        else:
            self._unlogged += 1

    def _log(self, verb: str, outcome: str, operation: SignerOperation, reason: str = "") -> None:
        # A line is far shorter than what the log reads back to continue its chain, whatever a peer sends.
        detail = {name: text[:MAX_DETAIL_CHARS] for name, text in operation.detail.items()}
        subject = operation.subject[:MAX_DETAIL_CHARS]
        line = LogLine(operation.now, verb, outcome, subject, operation.peer.uid, "", operation.by, reason, detail)
        self._context.state.log.add(line)


def own_user_name() -> str:
    """The name of the user of this process, or its number."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())

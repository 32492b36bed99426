"""The verb that rotates the authority, one step at a time; an admin of the whole site approves each."""

from datetime import timedelta

from precast.services.identity import certificates, issues
from precast.services.identity.authority import Authority
from precast.services.identity.signer.context import SignerContext, SignerOperation
from precast.services.identity.signer.messages import Done, Rotate

# An attempt that has ended without its next step gives way to another after this time.
LEASE = timedelta(seconds=30)
MAX_ATTEMPT_CHARS = 100


def rotate(context: SignerContext, verb: Rotate, operation: SignerOperation) -> Done:
    """Prepare a successor, let it sign, or retire its predecessor. Raises ConflictError CA-012 or CA-015.

    Repeating a step that is done already does nothing, so the server can repeat it after a lost answer.
    """
    operation.subject = verb.step
    operation.by = context.approvals.check(verb.approver, "admin", operation.peer, operation.now)
    if not 0 < len(verb.attempt) <= MAX_ATTEMPT_CHARS:
        raise issues.SIGNER_REFUSED.error(reason="the name of the attempt is invalid")
    loaded, files, lease = context.authority, context.authority.files, context.state.rotation
    if lease.is_held_by_other(verb.attempt, operation.now):
        raise issues.ROTATION_IN_PROGRESS.error(state="another process is changing it right now")
    with files.locked():
        loaded.reload()
        if verb.step == "prepare":
            _prepare(context, operation, lease.attempt == verb.attempt)
        elif verb.step == "switch":
            if files.is_prepared:
                files.switch()
        elif files.is_prepared:
            raise issues.ROTATION_IN_PROGRESS.error(state="the new authority is prepared and does not sign yet")
        else:
            files.retire()
        lease.set(verb.attempt, operation.now + (LEASE if verb.is_continued else timedelta(0)))
        loaded.reload()
    operation.detail["authority"] = loaded.current.fingerprint
    return Done()


def _prepare(context: SignerContext, operation: SignerOperation, is_repeated: bool) -> None:
    files, old = context.authority.files, context.authority.current
    if files.is_prepared and is_repeated:
        return
    if files.is_prepared:
        raise issues.ROTATION_IN_PROGRESS.error(state="the new authority is prepared and does not sign yet")
    if old.others or old.imported:
        raise issues.ROTATION_IN_PROGRESS.error(state="the old authority is still trusted")
    successor = Authority.new(operation.now, old.certificate.subject)
    operation.detail["successor"] = certificates.fingerprint(successor.certificate)
    files.prepare(successor, old.sign_successor(successor, operation.now))

"""The verbs that issue certificates. Each decides by what it verifies itself, and takes name and extensions only from there."""

import base64
import binascii
from datetime import timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from precast.base.digests import Digest
from precast.services.identity import certificates, extensions, issues
from precast.services.identity.issuance import GRACE_S
from precast.services.identity.signer.context import SignerContext, SignerOperation
from precast.services.identity.signer.messages import Approve, CertifyServer, Enrol, Issued, Renew
from precast.wire.identity import tokens as wire
from precast.wire.identity.names import matches


def enrol(context: SignerContext, verb: Enrol, operation: SignerOperation) -> Issued:
    """Issue a node's first certificate if its token allows it. Raises DeniedError CA-006 for every flaw of the token."""
    request = certificates.read_request(verb.request)
    node, record = certificates.common_name(request), verb.record
    operation.subject, operation.detail["token"] = node, record.id
    if not context.seal_key.is_sealed(record, verb.seal):
        raise issues.SIGNER_REFUSED.error(reason="the record of the enrolment token is not sealed by this signer")
    shown = wire.parse_enrolment(verb.token)
    if shown.id != record.id or not wire.is_secret(shown.secret, record.secret_hash):
        raise issues.ENROLMENT_DENIED.error(node=node)
    if not matches(record.pattern, node) or record.expires_at <= operation.now:
        raise issues.ENROLMENT_DENIED.error(node=node)
    tokens, key = context.state.tokens, certificates.key_digest(request)
    # The same key asks again when our answer was lost: that costs no further use.
    if tokens.is_revoked(record.id) or not tokens.use(record.id, key, record.uses, record.expires_at):
        raise issues.ENROLMENT_DENIED.error(node=node)
    return _issue(context, request, record.extensions, operation)


def approve(context: SignerContext, verb: Approve, operation: SignerOperation) -> Issued:
    """Issue the certificate of a request that an operator approves."""
    request = certificates.read_request(verb.request)
    operation.subject = certificates.common_name(request)
    operation.by = context.approvals.check(verb.approver, "operator", operation.peer, operation.now)
    extensions.check(verb.extensions)
    return _issue(context, request, verb.extensions, operation)


def renew(context: SignerContext, verb: Renew, operation: SignerOperation) -> Issued:
    """Issue the next certificate to a node, with the extensions of its last one. Raises DeniedError CA-007 for every flaw."""
    request = certificates.read_request(verb.request)
    operation.subject = certificates.common_name(request)
    old, issuers = _find_issued(context, verb.certificate)
    serial = certificates.serial_text(old)
    operation.detail["before"] = serial
    _check_proof(old, request, verb.proof)
    is_revoked = any(context.state.revocations.has(issuer, serial) for issuer in issuers)
    if is_revoked or certificates.common_name(old) != operation.subject:
        raise issues.RENEWAL_DENIED.error()
    if old.not_valid_after_utc + timedelta(seconds=GRACE_S) <= operation.now:
        raise issues.RENEWAL_DENIED.error()
    context.limits.check_renewal(certificates.fingerprint(old))
    try:
        given = extensions.from_x509(old)
    except ValueError:
        raise issues.RENEWAL_DENIED.error() from None
    return _issue(context, request, given, operation)


def certify_server(context: SignerContext, verb: CertifyServer, operation: SignerOperation) -> Issued:
    """Issue a server's certificate for names that the signer's own settings allow. Raises DeniedError CA-033."""
    operation.subject = ", ".join(verb.hosts)[:200]
    for host in verb.hosts:
        if host not in context.hosts:
            raise issues.HOST_REFUSED.error(host=host[:100])
    try:
        key = serialization.load_der_public_key(verb.key)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not verb.hosts or not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise issues.SIGNER_REFUSED.error(reason="there is no key on the curve P-256, or no host")
    authority = context.authority.newest()
    signed = authority.sign_server(key, verb.hosts, operation.now)
    operation.detail["serial"] = certificates.serial_text(signed)
    return Issued(certificates.certificate_pem(signed), authority.pem, operation.now)


def _issue(
    context: SignerContext, request: x509.CertificateSigningRequest, given: dict[str, str], operation: SignerOperation
) -> Issued:
    authority = context.authority.newest()
    signed = authority.sign_node(request, operation.now, given, context.crl_url)
    operation.detail["serial"] = certificates.serial_text(signed)
    return Issued(certificates.certificate_pem(signed), authority.pem, operation.now, given)


def _find_issued(context: SignerContext, pem: str) -> tuple[x509.Certificate, list[Digest]]:
    """The certificate, and the fingerprints of the trusted authority that issued it. Raises DeniedError CA-007."""
    try:
        old = x509.load_pem_x509_certificate(pem.encode())
        issuers = context.authority.find_issuers(old)
    except (ValueError, UnsupportedAlgorithm):
        raise issues.RENEWAL_DENIED.error() from None
    if not issuers or not _is_nodes(old):
        raise issues.RENEWAL_DENIED.error()
    return old, [certificates.fingerprint(issuer) for issuer in issuers]


def _is_nodes(certificate: x509.Certificate) -> bool:
    """Whether a certificate is for clients. That of a server is not, although it has a name and the server has its key."""
    try:
        given = certificate.extensions
        if given.get_extension_for_class(x509.BasicConstraints).value.ca:
            return False
        return ExtendedKeyUsageOID.CLIENT_AUTH in given.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (x509.ExtensionNotFound, ValueError):
        return False


def _check_proof(old: x509.Certificate, request: x509.CertificateSigningRequest, proof: str) -> None:
    """Check that the key of the old certificate has signed the new request. Raises DeniedError CA-007."""
    signed = request.public_bytes(serialization.Encoding.DER)
    try:
        key, signature = old.public_key(), base64.b64decode(proof, validate=True)
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, signed, ec.ECDSA(hashes.SHA256()))
        elif isinstance(key, rsa.RSAPublicKey):  # of a certificate that was imported from Puppet
            key.verify(signature, signed, padding.PKCS1v15(), hashes.SHA256())
        else:
            raise issues.RENEWAL_DENIED.error()
    except (ValueError, InvalidSignature, UnsupportedAlgorithm, binascii.Error):
        raise issues.RENEWAL_DENIED.error() from None

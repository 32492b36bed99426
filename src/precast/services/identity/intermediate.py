"""An authority under an offline root: the root signs our key once, and its own key stays where no network is.

The certificate from the root replaces our self-signed one. Nodes trust the new certificate itself and never the root above it, which has
other children too. Key and name stay the same, so nodes that know only the earlier certificate still accept the server, and the earlier
certificate stays trusted until `precast ca rotate --finish`.
"""

import itertools
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from precast.services.identity import certificates, issues
from precast.services.identity.authority import Authority
from precast.services.identity.authority_files import AuthorityFiles
from precast.wire.identity.issuers import is_issued_by


def make_request(authority: Authority) -> str:
    """The request that the root signs, as PEM: our name and key, and that they are an authority's."""
    builder = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(authority.certificate.subject)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    )
    return certificates.request_pem(builder.sign(authority.key, hashes.SHA256())).decode()


def install(files: AuthorityFiles, path: Path, now: datetime) -> Authority:
    """Use the certificate that a root has signed; the file has it first, and then those above it up to the root.

    Raises InputError CA-039 if it cannot be used, ConflictError CA-012 during a rotation.
    """
    try:
        chain = x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it contains no certificates in PEM"
        raise issues.BAD_CHAIN.error(path=path, reason=reason) from None
    with files.locked():
        current = files.load()
        if files.is_prepared or current.others or current.imported:
            raise issues.ROTATION_IN_PROGRESS.error(state="another authority is trusted too")
        if problem := _find_problem(chain, current, now):
            raise issues.BAD_CHAIN.error(path=path, reason=problem)
        files.install(chain)
        return files.load()


def _find_problem(chain: list[x509.Certificate], current: Authority, now: datetime) -> str:
    own = chain[0]
    if own.public_key() != current.certificate.public_key():
        return "its first certificate does not have the key of this authority"
    if own.subject != current.certificate.subject:
        return f"its first certificate must have the name {current.certificate.subject.rfc4514_string()}, as the request says"
    if own == current.certificate:
        return "its first certificate is the present one"
    if len(chain) < 2 or not all(is_issued_by(lower, upper) for lower, upper in itertools.pairwise(chain)):
        return "its certificates do not form a chain, each signed by the next"
    if not all(each.not_valid_before_utc <= now < each.not_valid_after_utc for each in chain):
        return "a certificate is not valid now"
    return "" if all(map(_may_sign, chain)) else "a certificate is not one of an authority"


def _may_sign(certificate: x509.Certificate) -> bool:
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (x509.ExtensionNotFound, ValueError):
        return False
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return constraints.ca
    return constraints.ca and usage.key_cert_sign

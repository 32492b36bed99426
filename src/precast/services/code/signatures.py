"""Verifies the signature of a commit or tag with git itself, against the keys that an environment allows.

git uses only the objects of the fetched repository, and exactly the allowed keys. A key counts only while it is valid now: git compares
`valid-before` with the date that the commit gives itself, which the owner of an old key chooses. A tag counts only under its own name and
for the commit that is deployed, so an old signed tag cannot be passed off as a newer one.
"""

import re
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from precast.services.code import issues
from precast.services.code.commits.isolated_git import IsolatedGit, is_object_name

COMMIT, TAG = "commit", "tag"
MAX_KEYS_BYTES = 64 * 1024
_SSH_GOOD = re.compile(r'^Good "git" signature for (\S+) with \S+ key (SHA256:[A-Za-z0-9+/=]+)$', re.MULTILINE)
_GPG_GOOD = re.compile(r"^\[GNUPG:\] GOODSIG [0-9A-F]+ (.+)$", re.MULTILINE)
_GPG_KEY = re.compile(r"^\[GNUPG:\] VALIDSIG ([0-9A-F]{40,64}) .*$", re.MULTILINE)
_GPG_BAD = re.compile(r"^\[GNUPG:\] (?:BADSIG|ERRSIG|EXPSIG|EXPKEYSIG|REVKEYSIG|KEYREVOKED)\b", re.MULTILINE)
# A line of an allowed-signers file: principals, options, and a key with its type.
_SIGNER = re.compile(
    r'(?P<principals>\S+)\s+(?P<options>(?:[^\s"]|"[^"]*")+\s+)?(?P<type>[\w@.-]+)\s+(?P<key>[A-Za-z0-9+/]+=*)(?:\s.*)?'
)
_VALIDITY = re.compile(r'\bvalid-(before|after)="?(\d{8}|\d{12}|\d{14})Z?"?', re.IGNORECASE)
_TIMES = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}


class SigningPolicy(msgspec.Struct, frozen=True):
    """What an environment requires to be signed, and the keys it allows: an allowed-signers file of ssh, and public keys of GPG."""

    required: str  # commit, tag
    signers: str = ""
    gpg_keys: str = ""


class Signer(NamedTuple):
    """Who signed: the principal of an ssh key or the user id of a GPG key, and the key's fingerprint."""

    principal: str
    key: str


def check_policy(policy: SigningPolicy) -> None:
    """Raises InputError ENV-029 for a policy that no signature could satisfy, or that cannot be read."""
    if policy.required not in (COMMIT, TAG):
        raise issues.BAD_SIGNING.error(reason=f"{policy.required[:40]!r} cannot be required")
    if not policy.signers.strip() and not policy.gpg_keys.strip():
        raise issues.BAD_SIGNING.error(reason="no key is allowed")
    if len(policy.signers) + len(policy.gpg_keys) > MAX_KEYS_BYTES:
        raise issues.BAD_SIGNING.error(reason=f"the keys have more than {MAX_KEYS_BYTES} bytes")
    for number, line in enumerate(policy.signers.splitlines(), start=1):
        if line.strip() and not line.startswith("#") and not _SIGNER.fullmatch(line.strip()):
            raise issues.BAD_SIGNING.error(
                reason=f"line {number} of the allowed signers has no principal, type and key"
            )


def verify_signature(repository: Path, commit: str, ref: str, policy: SigningPolicy, now: datetime) -> Signer:
    """Return who signed what must be signed of a commit that was fetched as `ref` into a repository.

    Raises DeniedError ENV-028 if nobody did whose key is allowed. Runs git several times, so call it in a thread.
    """
    with tempfile.TemporaryDirectory(prefix="signatures-") as home:
        git = _Git(repository, Path(home), policy, now)
        return git.verify_commit(commit, ref) if policy.required == COMMIT else git.verify_tag(commit, ref)


class _Git(IsolatedGit):
    """git on one repository, with a home that has only the allowed keys."""

    def __init__(self, fetched: Path, home: Path, policy: SigningPolicy, now: datetime) -> None:
        super().__init__(fetched, home)
        self._signers = home / "allowed_signers"
        self._signers.write_text("".join(f"{line}\n" for line in _valid_lines(policy.signers, now)))
        (home / "gnupg").mkdir(mode=0o700)
        if policy.gpg_keys.strip():
            self.run(["gpg", "--batch", "--no-autostart", "--import"], policy.gpg_keys.encode())

    def verify_commit(self, commit: str, ref: str) -> Signer:
        what = f"the commit {commit[:12]}"
        if not is_object_name(commit):
            raise issues.NOT_SIGNED.error(what=f"the commit {commit[:80]!r}", reason="it is not the hash of a commit")
        if is_object_name(ref) and commit != ref:
            raise issues.NOT_SIGNED.error(what=what, reason=f"{ref[:12]} was to be deployed")
        return self._verify("verify-commit", commit, what)

    def verify_tag(self, commit: str, ref: str) -> Signer:
        name = ref.removeprefix("refs/tags/")
        what = f"the tag {name}"
        tag = self.read_fetched_head()
        if not tag or self.read("cat-file", "-t", tag) != "tag":
            raise issues.NOT_SIGNED.error(what=what, reason=f"{ref} is not an annotated tag")
        header = self.read_objects([tag])[tag].data.decode(errors="replace").partition("\n\n")[0].splitlines()
        # The commit itself, not another tag: what git follows from there, nobody has hashed.
        if header[:2] != [f"object {commit}", "type commit"]:
            raise issues.NOT_SIGNED.error(what=what, reason=f"it is not a tag of the commit {commit[:12]}")
        if f"tag {name}" not in header:
            raise issues.NOT_SIGNED.error(what=what, reason="the tag object was made under another name")
        return self._verify("verify-tag", tag, what)

    def _verify(self, verb: str, name: str, what: str) -> Signer:
        options = [
            *("-c", f"gpg.ssh.allowedSignersFile={self._signers}"),
            *("-c", "gpg.ssh.program=ssh-keygen", "-c", "gpg.openpgp.program=gpg", "-c", "gpg.x509.program=false"),
        ]
        self.read_objects([name])
        result = self.git(verb, "--raw", name, options=options)
        told = result.error.decode(errors="replace")
        signer = _read_signer(told)
        if result.code != 0 or signer is None:
            raise issues.NOT_SIGNED.error(what=what, reason=_reason(told))
        return signer


def _read_signer(told: str) -> Signer | None:
    """Who signed, from what git's verifier reports; None if the signature is not good."""
    ssh = _SSH_GOOD.findall(told)
    if len(ssh) == 1:
        return Signer(*ssh[0])
    names, keys = _GPG_GOOD.findall(told), _GPG_KEY.findall(told)
    if len(names) == len(keys) == 1 and not _GPG_BAD.search(told):
        return Signer(names[0], keys[0])
    return None


def _reason(told: str) -> str:
    if "Good " in told or "GOODSIG" in told or "NO_PUBKEY" in told or "No principal" in told:
        return "the key of its signature is not allowed, or not valid now"
    if "BADSIG" in told or "incorrect signature" in told.lower() or "Could not verify" in told:
        return "its signature is wrong"
    if any(word in told for word in ("EXPKEYSIG", "REVKEYSIG", "EXPSIG")):
        return "the key of its signature has expired or was revoked"
    if "cannot run ssh-keygen" in told or "cannot run gpg" in told:
        return "the server lacks the program that verifies it: install openssh-client or gnupg"
    return "it has no signature" if not told.strip() or "no signature" in told else "its signature is not good"


def _valid_lines(signers: str, now: datetime) -> Iterator[str]:
    """The lines of an allowed-signers file whose keys are valid now; times without a zone are in UTC."""
    for line in signers.splitlines():
        match = _SIGNER.fullmatch(line.strip())
        if match is None:
            continue
        for edge, text in _VALIDITY.findall(match["options"] or ""):
            at = datetime.strptime(text, _TIMES[len(text)]).replace(tzinfo=UTC)
            if (edge.lower() == "before" and now >= at) or (edge.lower() == "after" and now < at):
                break
        else:
            yield line.strip()

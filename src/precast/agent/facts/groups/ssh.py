"""`ssh`: the host's public keys, with their fingerprints for SSHFP records (RFC 4255)."""

import base64
import hashlib

from precast.agent.facts.machine import Facts, Machine

_DIRECTORIES = ("/etc/ssh", "/usr/local/etc/ssh", "/etc", "/usr/local/etc", "/etc/opt/ssh")
# Name of the fact and number of the algorithm.
_KINDS = {
    "ssh-rsa": ("rsa", 1),
    "ssh-dss": ("dsa", 2),
    "ecdsa-sha2-nistp256": ("ecdsa", 3),
    "ecdsa-sha2-nistp384": ("ecdsa", 3),
    "ecdsa-sha2-nistp521": ("ecdsa", 3),
    "ssh-ed25519": ("ed25519", 4),
}


def collect(machine: Machine) -> Facts:
    """Collect the keys. If several directories have a key of the same kind, the last one wins."""
    keys: Facts = {}
    for directory in _DIRECTORIES:
        for name in ("rsa", "dsa", "ecdsa", "ed25519"):
            keys |= _key(machine.read_line(f"{directory}/ssh_host_{name}_key.pub") or "")
    return {"ssh": keys} if keys else {}


def _key(line: str) -> Facts:
    words = line.split()
    if len(words) < 2 or words[0] not in _KINDS:
        return {}
    try:
        raw = base64.b64decode(words[1], validate=True)
    except ValueError:
        return {}
    name, number = _KINDS[words[0]]
    fingerprints = {
        "sha1": f"SSHFP {number} 1 {hashlib.sha1(raw, usedforsecurity=False).hexdigest()}",
        "sha256": f"SSHFP {number} 2 {hashlib.sha256(raw).hexdigest()}",
    }
    return {name: {"type": words[0], "key": words[1], "fingerprints": fingerprints}}

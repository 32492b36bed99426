"""Removes secrets from texts that are shown to other people, such as logs and reports of other programs.

Our own output contains no secrets. This is a second line of defence, for texts that we did not write.
"""

import re

REMOVED = "(removed)"

# The end of a name; its beginning does not matter. The length is bounded, so that no text takes long.
_NAMED = r"(?:passw(?:or)?d|passphrase|secret|token|private_?key|api_?key|credential|sensitive)[\w.-]{0,60}"
# A quoted text, up to its closing quote or the end of the line: so every match attempt succeeds, and there is no backtracking.
_DOUBLE = r'"(?:\\.|[^"\\\n])*"?'
_SINGLE = r"'(?:\\.|[^'\\\n])*'?"
_RULES: tuple[tuple["re.Pattern[str]", str], ...] = (
    # Our own tokens keep their id, which is in the audit log too and is not secret.
    (re.compile(r"\b(pc[eu]1\.[0-9a-f-]{36}\.)[A-Za-z0-9_-]+={0,2}(?:\.[\w:]+)?"), rf"\1{REMOVED}"),
    # A private key, also a truncated one.
    (
        re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL),
        REMOVED,
    ),
    # The end of a private key, where the beginning of a log was cut off.
    (re.compile(r"\A[A-Za-z0-9+/=\s]*-----END [A-Z0-9 ]*PRIVATE KEY-----"), REMOVED),
    (re.compile(r"(\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]{0,100}):[^\s]{0,300}@", re.IGNORECASE), rf"\1:{REMOVED}@"),
    (re.compile(r"\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE), rf"\1\2{REMOVED}"),
    # A sensitive value, as Puppet's data format and its language write it.
    (
        re.compile(rf'("__ptype"\s*:\s*"Sensitive"\s*,\s*"__pvalue"\s*:\s*)(?:{_DOUBLE}|[^\s,}}]+)'),
        rf'\1"{REMOVED}"',
    ),
    (re.compile(rf"(\bSensitive)(?:\.new)?\(\s*(?:{_DOUBLE}|{_SINGLE}|[^)\n]*)\)?"), rf"\1({REMOVED})"),
    # NAME=value, NAME: value, "name": "value"; the parts of a structured value are matched one by one.
    (re.compile(rf"""({_NAMED}["']?\s*[=:]\s*){_DOUBLE}""", re.IGNORECASE), rf'\1"{REMOVED}"'),
    (re.compile(rf"""({_NAMED}["']?\s*[=:]\s*){_SINGLE}""", re.IGNORECASE), rf"\1'{REMOVED}'"),
    (re.compile(rf"""({_NAMED}["']?\s*[=:]\s*)[^\s"'{{\[,;)}}]+""", re.IGNORECASE), rf"\1{REMOVED}"),
)


def redact(text: str) -> str:
    """Replace everything in the text that looks like a secret."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text

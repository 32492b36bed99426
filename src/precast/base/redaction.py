"""Takes secrets out of texts that go to other people: logs, reports, whatever was written by somebody else.

What we print ourselves holds no secret to begin with. This is the second line, for texts whose writers nobody can ask.
"""

import re

GONE = "(removed)"

# The end of a name; how it begins does not matter. Bounded, so that no text takes long.
_NAMED = r"(?:passw(?:or)?d|passphrase|secret|token|private_?key|api_?key|credential|sensitive)[\w.-]{0,60}"
# A text in quotes, to its end or to that of the line: so every attempt succeeds, and none is made twice.
_DOUBLE = r'"(?:\\.|[^"\\\n])*"?'
_SINGLE = r"'(?:\\.|[^'\\\n])*'?"
_RULES: tuple[tuple["re.Pattern[str]", str], ...] = (
    # Our own tokens keep their id: it is in the audit log too, and opens nothing.
    (re.compile(r"\b(pc[eu]1\.[0-9a-f-]{36}\.)[A-Za-z0-9_-]+={0,2}(?:\.[\w:]+)?"), rf"\1{GONE}"),
    # A key, also one that was cut off.
    (
        re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)", re.DOTALL),
        GONE,
    ),
    # Its end, where a log was cut at its beginning.
    (re.compile(r"\A[A-Za-z0-9+/=\s]*-----END [A-Z0-9 ]*PRIVATE KEY-----"), GONE),
    (re.compile(r"(\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]{0,100}):[^\s]{0,300}@", re.IGNORECASE), rf"\1:{GONE}@"),
    (re.compile(r"\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE), rf"\1\2{GONE}"),
    # A sensitive value, as Puppet's data format and its language write it.
    (
        re.compile(rf'("__ptype"\s*:\s*"Sensitive"\s*,\s*"__pvalue"\s*:\s*)(?:{_DOUBLE}|[^\s,}}]+)'),
        rf'\1"{GONE}"',
    ),
    (re.compile(rf"(\bSensitive)(?:\.new)?\(\s*(?:{_DOUBLE}|{_SINGLE}|[^)\n]*)\)?"), rf"\1({GONE})"),
    # NAME=value, NAME: value, "name": "value"; a value that begins a structure is looked at by its parts.
    (re.compile(rf"""({_NAMED}["']?\s*[=:]\s*){_DOUBLE}""", re.IGNORECASE), rf'\1"{GONE}"'),
    (re.compile(rf"""({_NAMED}["']?\s*[=:]\s*){_SINGLE}""", re.IGNORECASE), rf"\1'{GONE}'"),
    (re.compile(rf"""({_NAMED}["']?\s*[=:]\s*)[^\s"'{{\[,;)}}]+""", re.IGNORECASE), rf"\1{GONE}"),
)


def redact(text: str) -> str:
    """The text without what looks like a secret."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text

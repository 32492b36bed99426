"""precast::secret: a value of a secret source of the server, always Sensitive."""

from typing import Any

from precast.lang.functions.host import Call
from precast.lang.functions.registry import Function, Unknowns
from precast.lang.hiera.locations import open_path
from precast.lang.inputs import ABSENT
from precast.lang.issues import functions as function_issues
from precast.lang.issues import secrets as issues
from precast.lang.values.base import Sensitive, from_data, kind_name, to_string
from precast.lang.values.unknowns import Hole, UnknownText, is_late

SECRET = Function(
    "precast::secret",
    "Returns a field of a document in a secret source of the server, or the whole document as a hash, as Sensitive.",
    unknowns=Unknowns.FLOW,
)


@SECRET.dispatch("String[1] source, Any path, String[1] field?", pure=False)
def _secret(call: Call, source: str, path: Any, field: str = "") -> Sensitive:
    if is_late(path):
        path = call.host.concrete(path, call.span)
    if not isinstance(path, str | Hole | UnknownText):
        raise function_issues.NOT_A_STRING.error(name=SECRET.name, kind=kind_name(path))
    where, inputs = open_path(path), call.host.inputs
    value = inputs.secret(source, where, field) if inputs.has_secrets(source, where) else ABSENT
    if value is ABSENT:
        what = f"field '{field}'" if field else "document"
        raise issues.NO_SECRET.error(source=source, what=what, path=to_string(path))
    return Sensitive(from_data(value))

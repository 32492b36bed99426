"""Types that modules bring and Precast applies by itself: those of stdlib, concat and inifile.

A manifest may use them only with the module that brings them on the module path, so the compiler learns of them there; whoever applies
or explains a catalog finds them here.
"""

from precast.types.declaration import AutoRelation, ManagedType

_NAME = "an arbitrary name; the title if not given"
_ENSURE = "present or absent"
_AS_FILE = "as in file"

ANCHOR = ManagedType(
    "anchor",
    "A place in the order of resources, as older modules use it for containment.",
    properties={},
    parameters={"name": _NAME},
    module="stdlib",
)

FILE_LINE = ManagedType(
    "file_line",
    "A line in a file.",
    properties={"ensure": _ENSURE, "line": "the whole line, without its end"},
    parameters={
        "name": _NAME,
        "path": "absolute path of the file, which must exist",
        "match": "a regular expression: a line it matches is replaced",
        "match_for_absence": "with ensure => absent: remove lines by match, not by line",
        "multiple": "match and after may meet several lines",
        "after": "a regular expression: a new line comes after the line it matches",
        "replace": "false leaves a line that match meets as it is",
        "replace_all_matches_not_matching_line": "replace what match meets also if line is there already",
        "append_on_no_match": "false adds nothing if match meets no line",
        "encoding": "of the file, if not UTF-8",
        "provider": "which implementation to use",
    },
    relations=(AutoRelation("file", ("path",), "path"), AutoRelation("concat_file", ("path",), "path")),
    module="stdlib",
)

CONCAT_FILE = ManagedType(
    "concat_file",
    "A file made of fragments.",
    properties={},
    parameters={
        "path": "absolute path; the title if not given",
        "ensure": _ENSURE,
        "owner": _AS_FILE,
        "group": _AS_FILE,
        "mode": _AS_FILE,
        "order": "how fragments are sorted by their order: numeric or alpha",
        "ensure_newline": "end each fragment with a line break",
        "format": "plain, or merge data: yaml, json, json-array, json-pretty, json-array-pretty",
        "force": "when data is merged, the first of two values wins",
        "backup": _AS_FILE,
        "replace": _AS_FILE,
        "show_diff": _AS_FILE,
        "validate_cmd": _AS_FILE,
        "selinux_ignore_defaults": _AS_FILE,
        "selrange": _AS_FILE,
        "selrole": _AS_FILE,
        "seltype": _AS_FILE,
        "seluser": _AS_FILE,
    },
    namevars=("path",),
    relations=(
        AutoRelation("file", ("path",), "parents"),
        AutoRelation("user", ("owner",)),
        AutoRelation("group", ("group",)),
    ),
    module="concat",
)

CONCAT_FRAGMENT = ManagedType(
    "concat_fragment",
    "A part of a concat_file.",
    properties={},
    parameters={
        "name": _NAME,
        "target": "path or title of the concat_file",
        "content": "the text",
        "source": "where to take the text from, as in file",
        "order": "its place among the fragments (10)",
    },
    relations=(
        AutoRelation("file", ("source",), "path"),
        AutoRelation("concat_file", ("target",), "title", "before"),
    ),
    module="concat",
)

_INI = {
    "name": _NAME,
    "path": "absolute path of the file",
    "section": "the section; empty for what stands before the first",
    "setting": "name of the setting",
    "key_val_separator": "what stands between name and value (' = ')",
    "provider": "which implementation to use",
}

INI_SETTING = ManagedType(
    "ini_setting",
    "A setting in a file with sections.",
    properties={"ensure": _ENSURE, "value": "its value"},
    parameters={
        **_INI,
        "show_diff": "whether values are shown: true, md5 or false",
        "section_prefix": "what stands before a section's name ('[')",
        "section_suffix": "what stands after a section's name (']')",
        "indent_char": "what new settings are indented with",
        "indent_width": "how far new settings are indented",
        "refreshonly": "change only when refreshed",
        "force_new_section_creation": "make the section if it is not there",
    },
    relations=(AutoRelation("file", ("path",), "path"),),
    module="inifile",
)

TYPES = (ANCHOR, FILE_LINE, CONCAT_FILE, CONCAT_FRAGMENT, INI_SETTING)

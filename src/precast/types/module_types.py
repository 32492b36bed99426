"""Types that modules declare and Precast implements: those of stdlib, concat and inifile.

A manifest may use them only if the module that declares them is on the module path, where the compiler finds the declaration. Code that
applies or explains a catalog finds them here.
"""

from precast.types import certificates, organisation, software
from precast.types.declaration import AutoRelation, ManagedType, TitlePattern

_NAME = "an arbitrary name; the title if not given"
_ENSURE = "present or absent"
_AS_FILE = "as in file"

ANCHOR = ManagedType(
    "anchor",
    "A point in the order of resources, which older modules use for containment.",
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
        "multiple": "match and after may match several lines",
        "after": "a regular expression: a new line comes after the line it matches",
        "replace": "false does not change a line that matches",
        "replace_all_matches_not_matching_line": "replace lines that match even if the line already exists",
        "append_on_no_match": "false adds nothing if no line matches",
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
        "order": "its position among the fragments (10)",
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
    "section": "the section; empty for settings before the first section",
    "setting": "name of the setting",
    "key_val_separator": "the text between name and value (' = ')",
    "provider": "which implementation to use",
}

INI_SETTING = ManagedType(
    "ini_setting",
    "A setting in a file with sections.",
    properties={"ensure": _ENSURE, "value": "its value"},
    parameters={
        **_INI,
        "show_diff": "whether values are shown: true, md5 or false",
        "section_prefix": "the text before a section's name ('[')",
        "section_suffix": "the text after a section's name (']')",
        "indent_char": "the character with which new settings are indented",
        "indent_width": "how far new settings are indented",
        "refreshonly": "change only when refreshed",
        "force_new_section_creation": "create the section if it does not exist",
    },
    relations=(AutoRelation("file", ("path",), "path"),),
    module="inifile",
)

INI_SUBSETTING = ManagedType(
    "ini_subsetting",
    "An item of a setting whose value is a list, in a file with sections.",
    properties={"ensure": _ENSURE, "value": "its value"},
    parameters={
        **_INI,
        "subsetting": "the item's name, with which it begins",
        "subsetting_separator": "the text between items (' ')",
        "subsetting_key_val_separator": "the text between an item's name and value",
        "quote_char": "a quote around the whole value",
        "use_exact_match": "items have no values: compare them as a whole",
        "insert_type": "where a new item goes: start, end, before, after, index",
        "insert_value": "the item, or the index, for insert_type",
        "delete_if_empty": "remove the setting with its last item",
        "show_diff": "whether values are shown: true, md5 or false",
    },
    relations=(),
    module="inifile",
)

SYSCTL = ManagedType(
    "sysctl",
    "A kernel parameter in sysctl.conf.",
    properties={"ensure": _ENSURE, "val": "its value", "target": "which file"},
    parameters={"name": "the parameter; the title if not given", "provider": "which implementation to use"},
    providers=("parsed",),
    module="sysctl",
)

SYSCTL_RUNTIME = ManagedType(
    "sysctl_runtime",
    "The value that a kernel parameter has now.",
    properties={"val": "the value"},
    parameters={"name": "the parameter; the title if not given", "provider": "which implementation to use"},
    providers=("sysctl_runtime",),
    module="sysctl",
)

ARCHIVE = ManagedType(
    "archive",
    "A file from elsewhere, and what is extracted from it.",
    properties={"ensure": _ENSURE, "creates": "what exists once it is extracted"},
    parameters={
        "path": "absolute path of the archive; the title if not given",
        "filename": "its name, without the directory",
        "source": "where it comes from: http, https, puppet, file, or a path",
        "url": "another name of source",
        "extract": "whether it is extracted",
        "extract_path": "directory that it is extracted into",
        "target": "another name of extract_path",
        "extract_command": "the command that extracts it; %s is its path",
        "extract_flags": "flags of the program that extracts it, or a hash of them by program",
        "cleanup": "remove it once it is extracted",
        "temp_dir": "directory for the download",
        "checksum": "its digits; false: not verified",
        "checksum_type": "none, md5, sha1, sha2, sha256, sha384 or sha512",
        "checksum_url": "where its checksum can be read",
        "checksum_verify": "whether a download is verified",
        "digest_string": "another name of checksum",
        "digest_type": "another name of checksum_type",
        "digest_url": "another name of checksum_url",
        "username": "account for the download",
        "password": "its password",
        "cookie": "a cookie for the download",
        "proxy_server": "proxy for the download",
        "proxy_type": "none, http or https",
        "allow_insecure": "accept any certificate",
        "user": "user that extracts it",
        "group": "group that extracts it",
        "download_options": "options of a program that downloads: not applied by Precast itself",
        "provider": "which implementation to use",
    },
    namevars=("path",),
    relations=(
        AutoRelation("file", ("path",), "parents"),
        AutoRelation("file", ("extract_path",), "path"),
        AutoRelation("exec", (), titles=("install_aws_cli",)),
    ),
    providers=("curl", "wget", "ruby"),
    foreign={"source": "(s3|ftp):.*", "url": "(s3|ftp):.*", "download_options": r"(?!\[\]$).+"},
    module="archive",
)

ALTERNATIVES = ManagedType(
    "alternatives",
    "The program that a generic name leads to.",
    properties={"path": "the program", "mode": "auto or manual"},
    parameters={"name": "the generic name; the title if not given", "provider": "which implementation to use"},
    relations=(AutoRelation("alternative_entry", ("path",)),),
    providers=("dpkg",),
    module="alternatives",
)

ALTERNATIVE_ENTRY = ManagedType(
    "alternative_entry",
    "A program that a generic name may lead to.",
    properties={
        "ensure": _ENSURE,
        "altname": "the generic name",
        "priority": "its priority",
        "altlink_ro": "read only: the generic link",
    },
    parameters={
        "name": "path of the program; the title if not given",
        "altlink": "path of the generic link",
        "provider": "which implementation to use",
    },
    namevars=("name", "altlink"),
    title_patterns=(TitlePattern(r"^([^:]+)$", ("name",)), TitlePattern(r"(?s)^(.*):(.*)$", ("name", "altlink"))),
    providers=("dpkg",),
    module="alternatives",
)

TYPES = (
    ANCHOR,
    ALTERNATIVES,
    ALTERNATIVE_ENTRY,
    software.APT_KEY,
    ARCHIVE,
    CONCAT_FILE,
    CONCAT_FRAGMENT,
    organisation.DATACAT_COLLECTOR,
    organisation.DATACAT_FRAGMENT,
    FILE_LINE,
    INI_SETTING,
    INI_SUBSETTING,
    SYSCTL,
    SYSCTL_RUNTIME,
    *certificates.TYPES,
)

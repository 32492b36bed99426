"""Finds the file that declares a function by a table, so that no file is imported before one of its functions is called."""

import importlib
from collections.abc import Iterator
from typing import Final

from precast.lang.functions.modules.declaration import ModuleFunction
from precast.lang.functions.registry import Function

FILES: Final[dict[str, str]] = {
    "postgresql_acls": "postgresql::postgresql_acls_to_resources_hash",
    "addresses": "enclose_ipv6 get_in_addr_arpa inet6_prefix ipv6_normalize_dnsmasq_ip_subnets normalize_ip_for_uri"
    " stdlib::ip_in_range",
    "arrays": "concat count delete delete_at delete_regex difference grep intersection member prefix reject reverse suffix union zip",
    "random_values": "fqdn_rand_string fqdn_rotate fqdn_uuid seeded_rand seeded_rand_string shuffle",
    "conversions": "any2array any2bool bool2num bool2str num2bool pick pick_default str2bool",
    "deprecation": "deprecation",
    "serialization": "parsehocon parsejson parsepson parseyaml to_json to_json_pretty to_python to_ruby to_toml to_yaml",
    "environment": "convert_cert_to_string date get_module_path glob load_module_metadata loadjson loadyaml template_body time",
    "hashes": "deep_merge delete_undef_values delete_values has_key hash join_keys_to_values merge",
    "monit": "monit_validate_tests",
    "namespaced": "extlib::cidr_to_netmask extlib::cidr_to_network extlib::default_content extlib::netmask_to_cidr extlib::path_join"
    " extlib::sort_by_version mysql::normalise_and_deepmerge mysql_deepmerge postgresql::prepend_sql_password stdlib::crc32"
    " stdlib::has_function stdlib::nested_values stdlib::sha256 stdlib::sort_by systemd::systemd_escape",
    "node_data": "dig44 fact getvar_emptystring has_interface_with has_ip_address has_ip_network ipaddresses scope_defaults try_get_value",
    "numbers": "clamp convert_base range to_bytes values_at",
    "openstack": "convert_to_json_string get_ext_net_name is_service_default os_database_connection os_transport_url range_to_mask"
    " to_array_of_json_strings validate_network_vlan_ranges validate_tunnel_id_ranges validate_vni_ranges validate_vxlan_udp_port"
    " validate_yum_hash",
    "passwords": "apache::apache_pw_hash apache::bool2httpd apache::pw_hash apache_pw_hash bool2httpd mongodb_password mysql::password"
    " mysql::strip_hash mysql_password postgresql::postgresql_escape postgresql::postgresql_password postgresql_escape"
    " postgresql_password pw_hash str2saltedpbkdf2 str2saltedsha512 validate_x509_rsa_key_pair",
    "predicates": "is_a is_absolute_path is_array is_bool is_domain_name is_email_address is_float is_function_available is_hash"
    " is_integer is_ip_address is_ipv4_address is_ipv6_address is_mac_address is_numeric is_string os_version_gte type3x type_of",
    "refused": "archive::artifactory_checksum archive::artifactory_latest_url cert_date_valid go_md5 redisget",
    "resources": "create_ini_settings defined_with_params ensure_packages ensure_resource ensure_resources getparam"
    " inifile::create_ini_settings stdlib::str2resource",
    "applications": "archive::parse_artifactory_url assemble_nexus_url collectd_convert_processes mco_array_to_string memcached::max_memory"
    " staging_parse",
    "strings": "base64 basename batch_escape dirname dos2unix powershell_escape regexpescape shell_escape shell_join shell_split"
    " sprintf_hash squeeze stdlib::end_with stdlib::extname stdlib::start_with stdlib::xml_encode swapcase"
    " translate unix2dos uriescape",
    "validation": "assert_private augeas pry validate_absolute_path validate_array validate_augeas validate_bool validate_cmd"
    " validate_domain_name validate_email_address validate_hash validate_integer validate_ip_address validate_ipv4_address"
    " validate_ipv6_address validate_legacy validate_numeric validate_re validate_slength validate_string",
}

# Newer names of functions in the table above, which has them under their old names.
RENAMED: Final[dict[str, str]] = {
    f"stdlib::{name}": name
    for name in (
        "batch_escape", "ensure_packages", "fqdn_rand_string", "fqdn_rotate", "fqdn_uuid", "has_interface_with", "merge",
        "os_version_gte", "parsehocon", "parsepson", "powershell_escape", "seeded_rand", "seeded_rand_string", "shell_escape",
        "time", "to_json", "to_json_pretty", "to_python", "to_ruby", "to_toml", "to_yaml", "type_of", "validate_domain_name",
        "validate_email_address",
    )
}  # fmt: skip

_FILE_OF: Final = {name: file for file, names in FILES.items() for name in names.split()}


def find(name: str) -> Function | None:
    """Return the function of a name in lower case and without leading `::`, None if there is none."""
    name = RENAMED.get(name, name)
    file = _FILE_OF.get(name)
    if file is None:
        return None
    importlib.import_module(f"precast.lang.functions.modules.{file}")
    return ModuleFunction.named(name)


def functions() -> Iterator[tuple[str, Function]]:
    """Yield every function with its name, also under its newer name. Imports all files."""
    for name in sorted([*_FILE_OF, *RENAMED]):
        function = find(name)
        assert function is not None
        yield name, function

# Every node says who it is; what else it does follows from its role.
include motd

if $trusted['extensions']['pp_role'] == 'web' {
  package { 'nginx': ensure => installed }
  -> service { 'nginx': ensure => running, subscribe => Class['motd'] }
}

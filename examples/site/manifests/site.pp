# Every node gets a message of the day; web servers also run nginx.
include motd

if $trusted['extensions']['pp_role'] == 'web' {
  package { 'nginx': ensure => installed }
  -> service { 'nginx': ensure => running, subscribe => Class['motd'] }
}

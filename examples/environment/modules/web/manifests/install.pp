# The packages, by the family of the system.
class web::install {
  $package = $facts['os']['family'] ? {
    'Debian' => 'nginx-light',
    default  => 'nginx',
  }
  package { $package: ensure => installed }
}

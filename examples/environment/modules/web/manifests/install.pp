# Installs the package for this node's OS family.
class web::install {
  $package = $facts['os']['family'] ? {
    'Debian' => 'nginx-light',
    default  => 'nginx',
  }
  package { $package: ensure => installed }
}

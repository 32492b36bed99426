# A web server with its virtual hosts.
class web (
  Web::Port                     $port   = 80,
  Hash[String[1], Hash]         $vhosts = {},
  String[1]                     $admin  = "root@${facts['networking']['fqdn']}",
) {
  contain web::install

  $vhosts.each |$name, $options| {
    web::vhost { $name: * => $options, port => $port }
  }

  file { '/etc/web.conf':
    content => epp('web/web.conf.epp', { 'port' => $port, 'admin' => $admin }),
    notify  => Service['web'],
  }

  service { 'web': ensure => running, enable => true }

  Class['web::install'] -> File['/etc/web.conf']
}

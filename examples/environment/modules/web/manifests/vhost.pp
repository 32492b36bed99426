# One virtual host.
define web::vhost (
  String[1]        $docroot,
  Web::Port        $port    = 80,
  Array[String[1]] $aliases = [],
) {
  $names = web::names($title, $aliases)

  file { $docroot: ensure => directory }
  file { "/etc/web.d/${title}.conf":
    content => "listen ${port}\nroot ${docroot}\nnames ${names.join(' ')}\n",
    notify  => Service['web'],
  }
}

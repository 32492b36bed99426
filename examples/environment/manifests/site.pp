# Every node is a web server in this example; real sites use node blocks or classification.
node default {
  class { 'web':
    port   => 8080,
    vhosts => {
      'shop' => { 'docroot' => '/srv/shop', 'aliases' => ['www', 'buy'] },
      'blog' => { 'docroot' => '/srv/blog' },
    },
  }
}

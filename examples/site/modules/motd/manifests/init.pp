# The message of the day.
class motd (
  String[1] $greeting = 'Hello',
  Hash[String, String] $contacts = {},
) {
  file { '/etc/motd':
    ensure  => file,
    mode    => '0644',
    content => epp('motd/motd.epp', { 'greeting' => $greeting, 'contacts' => $contacts }),
  }
}

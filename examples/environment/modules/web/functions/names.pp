# Returns the fully qualified names of a virtual host on this node.
function web::names(String[1] $name, Array[String[1]] $aliases) >> Array[String[1]] {
  [$name, *$aliases].map |$each| { "${each}.${facts['networking']['domain']}" }
}

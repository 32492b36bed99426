# A TCP port that a server can listen on.
type Web::Port = Integer[1, 65535]

# A port one may listen on.
type Web::Port = Integer[1, 65535]

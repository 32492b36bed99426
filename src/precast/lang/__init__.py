"""The Puppet language, from text to catalog; everything a compile reads comes through traced inputs."""

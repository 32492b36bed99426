"""The Puppet language, from text to catalog; everything it reads comes in through traced inputs."""

"""The functions of the Puppet language that come with Precast; `library.load()` gives them all."""

"""The functions of the Puppet language that Precast has built in; `library.load()` declares them all.

`registry` declares and calls functions by the signatures of `signatures`; `host` is what a function may use of the compile. The other
files declare functions, one file for each subject. `modules` has the functions that Puppet's modules bring as Ruby code.
"""

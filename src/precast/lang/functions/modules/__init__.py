"""Python implementations of functions that Puppet's modules write in Ruby, one file for each subject.

A file is imported when one of its functions is first called; `library` has the table. A function exists only in environments with a
module that brings a function of that name.
"""

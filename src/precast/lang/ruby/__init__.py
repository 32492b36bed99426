"""The subset of Ruby that templates and module files use, read and evaluated without a Ruby interpreter.

`syntax` reads code into a tree, `evaluation` turns the tree into closures, `methods` has the methods that code can call, `values` the
Ruby values and `execution` the state of one run. `erb` renders templates with them; `declarations` reads what files of modules declare
without running them. `puppet_text`, `puppet_values` and `stdlib` give the functions of Puppet the results that Ruby would give.
"""

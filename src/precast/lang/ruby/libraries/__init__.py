"""Classes of Ruby's standard library that code can use: those without effects outside."""

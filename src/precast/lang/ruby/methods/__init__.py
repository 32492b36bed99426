"""The methods that Ruby code can call, one file for each class of receivers. `library.load` declares them all."""

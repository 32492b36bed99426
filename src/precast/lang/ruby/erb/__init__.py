"""ERB templates, rendered without Ruby: the part of Ruby that templates use, read and evaluated here."""

"""The desired network of a machine: read from every format that clouds use, held in one model, rendered for the machine's network tool."""

"""Files of a net: the text notation that people write, and PNML for other tools."""

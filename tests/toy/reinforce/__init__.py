"""REINFORCE (Williams, 1992): an algorithm as somebody else would add it, in one folder."""

"""Pure mathematics, each piece tested by hand-computed numbers or against autograd."""

"""Mathematics on tensors: pure functions, held to hand-computed numbers and laws."""

"""How many processes a launcher has started to train one run, and which of them this one is."""

from __future__ import annotations

import os
from dataclasses import dataclass

# torchrun, which accelerate launch calls, says it in RANK and WORLD_SIZE; kinds of mpirun follow.
_NAMES = (
    ("RANK", "WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
)


@dataclass(frozen=True, slots=True)
class Launch:
    """This process among those that train together; the first leads, the others follow."""

    rank: int
    count: int

    @property
    def follows(self) -> bool:
        """Whether another process writes, speaks and decides."""
        return self.rank > 0


def launched() -> Launch:
    """What the launcher says; one process alone if there was none."""
    for rank, count in _NAMES:
        if rank in os.environ and count in os.environ:
            return Launch(int(os.environ[rank]), int(os.environ[count]))
    return Launch(0, 1)

"""CRC-32C (Castagnoli) of many byte strings of one length at once, as event files use it."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Checksums = NDArray[np.uint32]

_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8


@cache
def _tables() -> tuple[Checksums, Checksums]:
    """By one byte, and by two at a time: half the passes over the rows."""
    byte = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        byte = np.where(byte & 1, (byte >> 1) ^ np.uint32(_POLYNOMIAL), byte >> 1)
    low, high = np.arange(65536) & 0xFF, np.arange(65536) >> 8
    return byte, byte[byte[low] & 0xFF] ^ (byte[low] >> 8) ^ byte[high]


def masked_crc32c(rows: Bytes) -> Checksums:
    """The masked checksum of each row."""
    byte, pair = _tables()
    length = rows.shape[1]
    crc = np.full(len(rows), 0xFFFFFFFF, dtype=np.uint32)
    columns = np.ascontiguousarray(rows.T)  # one byte of all rows lies together
    for at in range(0, length - 1, 2):
        word = columns[at] | (columns[at + 1].astype(np.uint16) << 8)
        crc = pair[(crc ^ word) & 0xFFFF] ^ (crc >> 16)
    if length % 2:
        crc = byte[(crc ^ columns[-1]) & 0xFF] ^ (crc >> 8)
    crc = ~crc
    masked: Checksums = np.add((crc >> 15) | (crc << 17), np.uint32(_MASK_DELTA), dtype=np.uint32)
    return masked

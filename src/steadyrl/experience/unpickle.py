"""Reading pickles from outside: NumPy arrays and plain containers, nothing else.

A pickle is a program. This one may only call what rebuilds arrays and containers; the first other
name it asks for ends the reading and is told.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from steadyrl.core.errors import DataError

_NUMPY = {"ndarray", "dtype"}
_REBUILD = {"_reconstruct", "scalar", "_frombuffer"}
_REBUILDERS = {
    f"numpy.{core}.{part}" for core in ("core", "_core") for part in ("multiarray", "numeric")
}
_PLAIN = {"list", "dict", "tuple", "set", "frozenset", "bytearray", "complex", "bytes"}
LARGEST = 8 * 2**30  # bytes


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if not name.isidentifier():  # a dotted name would be looked up attribute by attribute
            raise DataError(f"it asks for {module}.{name}, which no plain file needs")
        if module in ("builtins", "__builtin__") and name in _PLAIN:
            return super().find_class("builtins", name)
        if module == "collections" and name in ("OrderedDict", "defaultdict"):
            return super().find_class(module, name)
        if module == "_codecs" and name == "encode":  # how old pickles hold bytes
            return super().find_class(module, name)
        if module == "numpy" and name in _NUMPY:
            return super().find_class(module, name)
        if module in _REBUILDERS and name in _REBUILD:
            return super().find_class(module.replace("numpy.core", "numpy._core"), name)
        if module == "numpy.dtypes" and name.endswith("DType"):
            return super().find_class(module, name)
        raise DataError(
            f"it asks for {module}.{name}, which is neither a NumPy array nor a plain container. "
            "Loading it could run any program. If you trust its source, convert it to NPZ there"
        )

    def persistent_load(self, _pid: Any) -> Any:
        raise DataError("it refers to objects outside the file")


def read_pickle(path: Path) -> Any:
    """The plain values in a pickle file, or a DataError that says why not."""
    size = path.stat().st_size
    if size > LARGEST:
        raise DataError(f"{path}: {size / 2**30:.1f} GB is more than a pickle may have (8 GB).")
    try:
        with path.open("rb") as file:
            return _Reader(file).load()
    except DataError as error:
        raise DataError(f"{path}: refused: {error}.") from None
    except MemoryError:
        raise DataError(f"{path}: refused: it asks for more memory than there is.") from None
    except Exception as error:  # a broken pickle raises almost anything
        kind = type(error).__name__
        raise DataError(f"{path}: not a readable pickle ({kind}: {error}).") from None

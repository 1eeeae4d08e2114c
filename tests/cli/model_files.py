# SPDX-License-Identifier: Apache-2.0
"""Model files, read and summed up without a line of the program's own code."""

import ctypes
import ctypes.util
import json
import struct

TILE_BYTES = 4 * 65536


def read(path):
    """Metadata and the bytes of all values."""
    data = path.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + length])["__metadata__"], data[8 + length:]


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def hash_library():
    """XXH3 of the system; None where it is not installed as a shared library."""
    name = ctypes.util.find_library("xxhash")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    for function, result in ((library.XXH3_64bits, ctypes.c_uint64),
                             (library.XXH3_128bits, Hash128)):
        function.argtypes, function.restype = (ctypes.c_char_p, ctypes.c_size_t), result
    return library


def digest(library, models):
    """XXH3-128 over the XXH3-64 digests of the tiles of every model in order."""
    tiles = b"".join(
        struct.pack("<Q", library.XXH3_64bits(tile, len(tile)))
        for values in models for begin in range(0, len(values), TILE_BYTES)
        for tile in [values[begin:begin + TILE_BYTES]])
    result = library.XXH3_128bits(tiles, len(tiles))
    return f"{result.high:016x}{result.low:016x}"

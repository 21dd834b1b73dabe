#!/usr/bin/env python3
"""Makes the .npy and .npz fixtures of tests/unit/base with numpy; run it in this folder.

Values follow one rule, so that the C++ test can state them: element i of an array is (7 * i - 20) in the
array's type (wrapped), booleans are i % 3 == 0.
"""
import numpy as np

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


def array(dtype, shape):
    count = int(np.prod(shape))
    i = np.arange(count, dtype=np.int64)
    values = i % 3 == 0 if dtype == "bool" else (7 * i - 20)
    return values.astype(dtype).reshape(shape)


def main():
    arrays = {name: array(name, (2, 3, 5)) for name in TYPES}
    arrays["scalar"] = array("float32", ())
    arrays["vector"] = array("int8", (7,))
    arrays["empty"] = array("int32", (3, 0, 2))
    arrays["folder/long"] = array("int8", (64, 64))
    np.savez("stored.npz", **arrays)
    np.savez_compressed("deflated.npz", **arrays)
    np.save("int16.npy", arrays["int16"])
    np.save("fortran.npy", np.asfortranarray(arrays["int16"]))
    np.save("big_endian.npy", arrays["int16"].astype(">i2"))
    with open("version2.npy", "wb") as file:
        np.lib.format.write_array(file, arrays["int16"], version=(2, 0))
    with open("version3.npy", "wb") as file:
        np.lib.format.write_array(file, arrays["int16"], version=(3, 0))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Reads a safetensors file with nothing but struct and json: a second opinion on what we write.

    read_safetensors.py FILE OUT    one line a tensor, "NAME DTYPE SHAPE"; its bytes in OUT/NAME.bin

Where the safetensors package is installed, its answer must be the same.
"""
import json
import os
import struct
import sys

SIZES = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2,
         "I8": 1, "U8": 1, "BOOL": 1}


def read(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length).decode("utf-8"))
        data = file.read()
    assert (8 + length) % 8 == 0, "data is not aligned"
    metadata = header.pop("__metadata__", {})
    end = 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, last = entry["data_offsets"]
        elements = 1
        for n in entry["shape"]:
            elements *= n
        assert begin == end, f"{name} does not follow the tensor before it"
        assert last - begin == elements * SIZES[entry["dtype"]], f"{name} has the wrong size"
        assert begin % SIZES[entry["dtype"]] == 0, f"{name} is not aligned"
        end = last
    assert end == len(data), "bytes that belong to no tensor"
    return metadata, {name: (e["dtype"], e["shape"], data[slice(*e["data_offsets"])]) for name, e in header.items()}


def compare_with_package(path, tensors):
    try:
        from safetensors import deserialize
    except ImportError:
        return
    with open(path, "rb") as file:
        theirs = dict(deserialize(file.read()))
    assert set(theirs) == set(tensors)
    for name, (dtype, shape, data) in tensors.items():
        assert theirs[name]["dtype"] == dtype and list(theirs[name]["shape"]) == shape
        assert bytes(theirs[name]["data"]) == data, name


def main():
    path, out = sys.argv[1:]
    metadata, tensors = read(path)
    assert metadata.get("format") == "pt", "transformers refuses files without a format"
    compare_with_package(path, tensors)
    os.makedirs(out, exist_ok=True)
    for name, (dtype, shape, data) in sorted(tensors.items()):
        print(name, dtype, "x".join(map(str, shape)))
        with open(os.path.join(out, name + ".bin"), "wb") as file:
            file.write(data)


main()

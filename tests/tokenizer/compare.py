#!/usr/bin/env python3
"""Tokens of nereus data prepare beside those of reference.py, over random Unicode texts and a real one.

  tests/tokenizer/compare.py NEREUS TEXT [TEXTS [SEED]]       how many random texts for each tokenizer (default 2000)
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from make import random_text, tokenizers  # noqa: E402
from reference import Reference  # noqa: E402


def read_tokens(path):
    """Documents of a token file; its header is described in src/data/token_layout.hpp."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"NEREUSTK"
    width, = struct.unpack_from("<I", data, 12)
    vocabulary, tokens, documents = struct.unpack_from("<QQQ", data, 16)
    end = 128 + width * tokens
    flat = struct.unpack_from(f"<{tokens}{ {1: 'B', 2: 'H', 4: 'I'}[width] }".replace(" ", ""), data, 128)
    starts = struct.unpack_from(f"<{documents}Q", data, (end + 7) // 8 * 8)
    return [list(flat[a:b]) for a, b in zip(starts, [*starts[1:], tokens])], vocabulary


def main(program, text_file, count=2000, seed=1):
    with open(text_file, encoding="utf-8") as file:
        source = file.read()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, made in tokenizers(source[:150000], 500).items():
            path = os.path.join(folder, name + ".json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(made, file, ensure_ascii=seed % 2 == 0)
            reference = Reference(made)
            end = next(t["id"] for t in made["added_tokens"]
                       if t["content"] in ("<|endoftext|>", "<|end_of_text|>", "</s>"))
            texts = [random_text(seed * 1000003 + i, source) for i in range(count)]
            texts = [t for t in texts if t]
            # Long ones: they come in pieces of 256 KiB.
            for i in range(2):
                texts.append("".join(random_text(seed * 7919 + 31 * i + j, source) for j in range(1500)) if name != "llama2"
                             else source[i * 1000:i * 1000 + 3000])
            lines = os.path.join(folder, "texts.jsonl")
            with open(lines, "w", encoding="utf-8") as file:
                for text in texts:
                    file.write(json.dumps({"text": text}) + "\n")
            out = os.path.join(folder, name + ".tokens")
            subprocess.run([program, "data", "prepare", lines, "--documents", "jsonl", "--tokenizer", path, "-o", out],
                           check=True, stdout=subprocess.DEVNULL)
            documents, _ = read_tokens(out)
            assert len(documents) == len(texts), (len(documents), len(texts))
            wrong = 0
            for text, tokens in zip(texts, documents):
                expected = reference.encode(text) + [end]
                if tokens != expected:
                    wrong += 1
                    if wrong <= 3:
                        print(f"{name}: {text[:200]!r}\n  expected {expected[:60]}\n  got      {tokens[:60]}")
            failures += wrong
            print(f"{name}: {len(texts)} texts, {sum(map(len, documents))} tokens, {wrong} differ")
            # A whole file in pieces must give what the reference gives for all of it.
            if name != "llama2":
                subprocess.run([program, "data", "prepare", text_file, "--tokenizer", path, "-o", out], check=True,
                               stdout=subprocess.DEVNULL)
                if read_tokens(out)[0] != [reference.encode(source) + [end]]:
                    print(f"{name}: {text_file} differs")
                    failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])))

"""Byte-pair encoding written to be read: slow, straightforward, and independent of src/data.

Pieces are found by Python's own regular expressions on a text in which each character is replaced by one of its
class; merges are searched from end to end at each join. Classes come from unicodedata.
"""
import re
import unicodedata

MARK = "\u2581"
SPACES = set("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | {chr(c) for c in range(0x2000, 0x200B)}

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")

# Characters that expressions name, and one for each class.
LETTERS, NUMBER, SPACE, OTHER = "strevmldSTREVMLD\u017f", "0", "\t", "!"


def class_of(c):
    if c in "'\r\n " or c in LETTERS:
        return c
    if c in SPACES:
        return SPACE
    kind = unicodedata.category(c)[0]
    return "a" if kind == "L" else NUMBER if kind == "N" else OTHER


def compiled(expression):
    letters = "a" + LETTERS
    for old, new in ((r"[^\r\n\p{L}\p{N}]", f"[^\\r\\n{letters}{NUMBER}]"),
                     (r"[^\s\p{L}\p{N}]", f"[^ \\t\\r\\n{letters}{NUMBER}]"),
                     (r"\p{L}", f"[{letters}]"), (r"\p{N}", NUMBER),
                     (r"\S", "[^ \\t\\r\\n]"), (r"\s", "[ \\t\\r\\n]")):
        expression = expression.replace(old, new)
    return re.compile(expression)


def pieces(expression, text):
    classes = "".join(map(class_of, text))
    found = [text[m.start():m.end()] for m in compiled(expression).finditer(classes)]
    assert "".join(found) == text
    return found


def byte_characters():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, extra = {}, 0
    for byte in range(256):
        if byte in plain:
            table[byte] = chr(byte)
        else:
            table[byte] = chr(256 + extra)
            extra += 1
    return table


BYTES = byte_characters()


def merged(symbols, ranks):
    symbols = list(symbols)
    while True:
        found = [(ranks[pair], i) for i, pair in enumerate(zip(symbols, symbols[1:])) if pair in ranks]
        if not found:
            return symbols
        _, i = min(found)
        symbols[i:i + 2] = [symbols[i] + symbols[i + 1]]


class Reference:
    """Of a tokenizer.json as a dictionary."""

    def __init__(self, file):
        model = file["model"]
        self.vocab = model["vocab"]
        pairs = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in model["merges"]]
        self.ranks = {pair: rank for rank, pair in enumerate(pairs)}
        self.ignore_merges = model.get("ignore_merges", False)
        self.added = {t["content"]: t["id"] for t in file["added_tokens"]}
        self.words = file["normalizer"] is not None
        self.expression, self.prefix = GPT2, False
        if not self.words:
            steps = file["pre_tokenizer"].get("pretokenizers", [file["pre_tokenizer"]])
            if len(steps) == 2:
                self.expression = steps[0]["pattern"]["Regex"]
            self.prefix = steps[-1]["add_prefix_space"]

    def encode_piece(self, piece):
        symbols = "".join(BYTES[b] for b in piece.encode())
        if self.ignore_merges and symbols in self.vocab:
            return [self.vocab[symbols]]
        return [self.vocab[s] for s in merged(symbols, self.ranks)]

    def encode_words(self, text):
        if not text:
            return []
        symbols = []
        for c in MARK + text.replace(" ", MARK):  # all of it at once: no pieces
            symbols += [c] if c in self.vocab else [f"<0x{b:02X}>" for b in c.encode()]
        return [self.vocab[s] for s in merged(symbols, self.ranks)]

    def encode(self, text):
        tokens = []
        longest_first = sorted(self.added, key=len, reverse=True)
        parts = re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text) if self.added else [text]
        for part in parts:
            if part in self.added:
                tokens.append(self.added[part])
            elif self.words:
                tokens += self.encode_words(part)
            else:
                if self.prefix and part and not part.startswith(" "):
                    part = " " + part
                for piece in pieces(self.expression, part):
                    tokens += self.encode_piece(piece)
        return tokens

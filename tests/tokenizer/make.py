"""Small tokenizers of each kind that nereus reads, trained on a text; and texts to try them on."""
import collections
import random

from reference import BYTES, GPT2, LLAMA3, MARK, QWEN2, merged, pieces


def train(words, num_merges):
    """Merges of the commonest neighbours, by counting; `words` are counted sequences of symbols."""
    words = {tuple(w): n for w, n in words.items()}
    merges = []
    for _ in range(num_merges):
        counts = collections.Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                counts[pair] += n
        if not counts:
            break
        best = max(counts, key=lambda p: (counts[p], p))
        merges.append(best)
        rank = {best: 0}
        renewed = collections.Counter()
        for word, n in words.items():
            renewed[tuple(merged(word, rank)) if best[0] in word else word] += n
        words = renewed
    return merges


def vocabulary(alphabet, merges):
    vocab = {}
    for token in [*alphabet, *(a + b for a, b in merges)]:
        vocab.setdefault(token, len(vocab))
    return vocab


def added(first, *contents):
    return [{"id": first + i, "content": c, "single_word": False, "lstrip": False, "rstrip": False,
             "normalized": False, "special": True} for i, c in enumerate(contents)]


def file_of(normalizer, pre_tokenizer, vocab, merges, tokens, **model):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": None,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, **model,
                      "vocab": vocab, "merges": merges}}


def byte_level(expression, text, num_merges):
    words = collections.Counter("".join(BYTES[b] for b in p.encode()) for p in pieces(expression, text))
    merges = train(words, num_merges)
    return vocabulary(BYTES.values(), merges), merges


def split(expression):
    return {"type": "Sequence", "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}


def tokenizers(text, num_merges):
    """Name -> tokenizer.json."""
    made = {}
    vocab, merges = byte_level(GPT2, text, num_merges)
    strings = [" ".join(m) for m in merges]
    for name, prefix in (("gpt2", False), ("gpt2-prefix", True)):
        made[name] = file_of(None, {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True}, vocab,
                             strings, added(len(vocab), "<|endoftext|>", "<|end|>", "<|endoftext"))
    for name, expression in (("llama3", LLAMA3), ("qwen2", QWEN2)):
        vocab, merges = byte_level(expression, text, num_merges)
        # Tokens that no merge leads to: only ignore_merges finds them.
        for token in ("zyx", "\u0120Pemberley", "!!!", "000"):
            vocab.setdefault(token, len(vocab))
        made[name] = file_of(None, split(expression), vocab, [list(m) for m in merges],
                             added(len(vocab), "<|begin_of_text|>", "<|end_of_text|>"), ignore_merges=name == "llama3")
    words = collections.Counter(MARK + w for w in text.replace("\n", " \n ").split(" ") if w)
    words[MARK * 16] = 50
    merges = train(words, num_merges)
    letters = sorted({c for w in words for c in w} | {MARK, "\u00e9", "\u4e2d"})
    vocab = vocabulary(["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *letters], merges)
    made["llama2"] = file_of(
        {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": MARK},
                                             {"type": "Replace", "pattern": {"String": " "}, "content": MARK}]},
        None, vocab, [" ".join(m) for m in merges],
        [{**t, "id": vocab[t["content"]]} for t in added(0, "<unk>", "<s>", "</s>")], unk_token="<unk>",
        fuse_unk=True, byte_fallback=True)
    return made


INTERESTING = ["'s", "'S", "'re", "'LL", "'\u017f", "''", "'", " ", "  ", "\n", "\r\n", "\n\n ", "\t", " \n", "\u00a0",
               "\u3000", "\u2028", "\u0085", "1", "12", "123", "1234567", "\u00bd", "\u0663", "\u216b", "a", "the", " the",
               "Pemberley", " Pemberley", "zyx", "!!!", "000", "?", "...", "\u2026", "\u2581", "\u2581\u2581", "\u00e9",
               "e\u0301", "\u4e2d\u6587", "\ud55c\uad6d\uc5b4", "\u0639\u0631\u0628", "\U0001f600", "\U0001f469\u200d\U0001f680",
               "\U00010348", "\ufeff", "\x00", "\x1c", "<|endoftext|>", "<|endoftext", "<|end", "<|end|>", "<|end_of_text|>",
               "<s>", "</s>", "<", "|>", "_", "-", "\u200b", "\u180e"]


def random_text(seed, source):
    r = random.Random(seed)
    out = []
    for _ in range(r.randrange(1, 40)):
        kind = r.randrange(4)
        if kind == 0:
            at = r.randrange(len(source) - 50)
            out.append(source[at:at + r.randrange(1, 50)])
        elif kind == 1:
            out.append(chr(r.choice([r.randrange(0x20, 0x250), r.randrange(0x250, 0xD800), r.randrange(0xE000, 0x20000)])))
        else:
            out.append(r.choice(INTERESTING) * r.choice([1, 1, 1, 2, 7]))
    return "".join(out)

"""The GPT of the reference programs in plain PyTorch, 1.13 or 2.x."""
import torch
from torch import nn
from torch.nn import functional as F


def attend(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):  # 2.x
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    above = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool, device=q.device).triu(1)
    scores = (q * q.size(-1) ** -0.5) @ k.transpose(-2, -1)
    return F.softmax(scores.masked_fill_(above, float("-inf")), -1) @ v


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.projection = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.wide, self.narrow = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        n, s, h = x.shape
        q, k, v = (part.view(n, s, self.heads, h // self.heads).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(h, 2))
        x = x + self.projection(attend(q, k, v).transpose(1, 2).reshape(n, s, h))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, hidden, heads, vocabulary, length):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, hidden), nn.Embedding(length, hidden)
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden)

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.positions(torch.arange(ids.size(1), device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.view(-1, logits.size(-1)).float(), targets.reshape(-1))

"""peers.py: the model of `make train` in PyTorch, on the same texts, from the same parameters' sizes.

usage: DEVICE=cuda MODEL=124m make train STEPS=200          our losses, in build/train/124m.csv
       python3 grader/train/peers.py build/train/124m.csv build/train/text 124m 200 SEED

Eager with scaled_dot_product_attention and fused AdamW, then the same under torch.compile, in one
run: tokens per second of the last 100 steps of each, and by how much the losses differ from ours. The
texts of a step are drawn as text.c draws them. The parameters at the beginning are drawn by
PyTorch, with the same sizes: the first steps differ, and the means of 20 steps should not.
"""

import csv
import math
import sys
import time

import torch
import torch.nn.functional as F

SIZES = {  # layers, C, H, N, B, V, lr, embedding
    "tiny": (2, 64, 1, 32, 8, 96, 8e-3, 0.15),
    "small": (6, 384, 6, 256, 16, 96, 1e-3, 0.05),
    "124m": (12, 768, 12, 1024, 16, 50304, 6e-4, 0.02),
}
MASK = (1 << 64) - 1


def draw_bits(seed, index):
    """model.c's draw_bits()."""
    x = (seed * 0x9E3779B97F4A7C15 + index + 1) & MASK
    for _ in range(2):
        x = (x + 0x9E3779B97F4A7C15) & MASK
        x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
        x ^= x >> 31
    return x


class Text:
    """text.c: tokens, chunks, and the texts of a step."""

    def __init__(self, path, N):
        with open(path, "rb") as file:
            data = file.read()
        self.tokens = torch.tensor(
            [95 if b == 10 else b - 32 for b in data if b == 10 or 32 <= b <= 126], dtype=torch.int64)
        self.chunk = 1024 if N < 256 else 4 * N + 4
        self.chunks = len(self.tokens) // self.chunk

    def draw(self, B, N, seed, step):
        held, x, y = self.chunks // 10, [], []
        for b in range(B):
            index = 2 * (step * B + b)
            i = (draw_bits(~seed & MASK, index) >> 1) % (self.chunks - held)
            chunk = i // 9 * 10 + i % 9
            at = (draw_bits(~seed & MASK, index + 1) >> 1) % (self.chunk - N)
            first = chunk * self.chunk + at
            x.append(self.tokens[first:first + N])
            y.append(self.tokens[first + 1:first + N + 1])
        return torch.stack(x), torch.stack(y)


class Block(torch.nn.Module):
    def __init__(self, C, H):
        super().__init__()
        self.H = H
        self.norm1, self.norm2 = torch.nn.LayerNorm(C), torch.nn.LayerNorm(C)
        self.qkv, self.proj = torch.nn.Linear(C, 3 * C), torch.nn.Linear(C, C)
        self.fc, self.out = torch.nn.Linear(C, 4 * C), torch.nn.Linear(4 * C, C)

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(B, N, 3, self.H, C // self.H).permute(2, 0, 3, 1, 4)
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(o.transpose(1, 2).reshape(B, N, C))
        return x + self.out(F.gelu(self.fc(self.norm2(x))))


class GPT(torch.nn.Module):
    def __init__(self, layers, C, H, N, V, embedding):
        super().__init__()
        self.E, self.P = torch.nn.Embedding(V, C), torch.nn.Embedding(N, C)
        self.blocks = torch.nn.ModuleList(Block(C, H) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(C)
        matrices = 0.02 * math.sqrt(768 / C)
        for name, p in self.named_parameters():
            if p.dim() < 2:
                continue
            size = embedding if name.startswith("E") else 0.02 if name.startswith("P") else matrices
            if "proj" in name or ".out" in name:
                size /= math.sqrt(2 * layers)
            torch.nn.init.normal_(p, 0, size)
        for name, p in self.named_parameters():
            if p.dim() == 1 and name.endswith("bias"):
                torch.nn.init.zeros_(p)

    def forward(self, x, y):
        h = self.E(x) + self.P.weight
        for block in self.blocks:
            h = block(h)
        logits = F.linear(self.norm(h), self.E.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), y.view(-1))


def rate(lr, step, steps):
    """main.c's rate()."""
    warm = min(100, math.ceil(steps / 20))
    done = (step - warm) / (steps - warm) if steps > warm else 0
    return lr * (step / warm if step < warm else 1 - 0.9 * done)


def train(name, text, steps, seed, compiled):
    layers, C, H, N, B, V, lr, embedding = SIZES[name]
    torch.manual_seed(seed)
    model = GPT(layers, C, H, N, V, embedding).cuda()
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    adamw = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1},
                               {"params": others, "weight_decay": 0.0}],
                              lr=lr, betas=(0.9, 0.95), eps=1e-8, fused=True)
    run = torch.compile(model) if compiled else model
    losses, begun = [], None
    for step in range(1, steps + 1):
        if step == max(1, steps - 100):
            torch.cuda.synchronize()
            begun, first = time.perf_counter(), step
        x, y = (t.cuda(non_blocking=True) for t in text.draw(B, N, seed, step))
        for group in adamw.param_groups:
            group["lr"] = rate(lr, step, steps)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = run(x, y)
        loss.backward()
        adamw.step()
        adamw.zero_grad(set_to_none=True)
        losses.append(loss.detach())
    torch.cuda.synchronize()
    seconds = time.perf_counter() - begun
    return (steps - first + 1) * B * N / seconds, [float(loss) for loss in losses]


def mean(losses, first, count=20):
    part = losses[first:first + count]
    return sum(part) / len(part)


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    curve, path, name, steps, seed = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
    with open(curve, newline="") as file:
        ours = [float(row["loss"]) for row in csv.DictReader(file)]
    if len(ours) != steps:
        sys.exit(f"{curve} has {len(ours)} steps, not {steps}: make train STEPS={steps} first")
    text = Text(path, SIZES[name][3])
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, MODEL={name}, {steps} steps")
    for compiled in (False, True):
        speed, losses = train(name, text, steps, seed, compiled)
        apart = max(abs(mean(losses, i) / mean(ours, i) - 1) for i in range(20, steps - 19, 20))
        print(f"{'torch.compile' if compiled else 'eager':14} {speed:10.0f} tokens/s, "
              f"loss {losses[-1]:.4f} (ours {ours[-1]:.4f}), means of 20 steps apart by {100 * apart:.2f} %")


if __name__ == "__main__":
    main()

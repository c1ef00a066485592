"""peers.py: the model of `make train` in PyTorch: the same parameters at the beginning, the same texts.

usage: DEVICE=cuda MODEL=124m make train STEPS=200
       python3 grader/train/peers.py build/train build/train/text 124m TO [SEED]

reads build/train/124m.csv (our losses) and 124m.speed.csv (our speed), and trains on the same text for as many
steps: eager with scaled_dot_product_attention and fused AdamW, then the same under torch.compile; bf16 by
autocast, with float parameters. It prints a table, and writes TO.tokens.csv, a row for ours and for each
of PyTorch's, and TO.losses.csv, the loss of each step: what `make plots` draws from
plots/data/GPU/29_train_gpt.*.csv. SEED is that of the training, 1 if it is not given,
and so is WARM in the environment.

Speed is that of the second half of the steps, in blocks of 20: PyTorch is waited for at a block's
end, ours after each step, which is to our disadvantage.
"""

import csv
import datetime
import math
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

SIZES = {  # layers, C, H, N, B, V, warm-up, lr, embedding
    "tiny": (2, 64, 1, 32, 4, 96, 60, 6e-3, 0.15),
    "small": (6, 384, 6, 256, 16, 96, 100, 1e-3, 0.05),
    "124m": (12, 768, 12, 1024, 16, 50304, 100, 6e-4, 0.02),
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


def shifted(x, bits):
    """x >> bits of 64 bits without a sign, in PyTorch's integers with one."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def signed(x):
    return x - (1 << 64) if x >> 63 else x


def draw_normal(seed, first, count, device):
    """model.c's draw_normal() of `count` numbers from `first` on, as float."""
    def bits(index):
        x = index + signed((seed * 0x9E3779B97F4A7C15 + 1) & MASK)
        for _ in range(2):
            x = x + signed(0x9E3779B97F4A7C15)
            x = (x ^ shifted(x, 30)) * signed(0xBF58476D1CE4E5B9)
            x = (x ^ shifted(x, 27)) * signed(0x94D049BB133111EB)
            x = x ^ shifted(x, 31)
        return shifted(x, 11)

    out = torch.empty(count, device=device)
    part = 1 << 22
    for at in range(0, count, part):
        n = min(part, count - at)
        index = 2 * torch.arange(first + at, first + at + n, device=device)
        a, b = (bits(index).double() + 1) * 2.0**-53, bits(index + 1).double() * 2.0**-53
        out[at:at + n] = (torch.sqrt(-2 * torch.log(a)) * torch.cos(2 * math.pi * b)).float()
    return out


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
    def __init__(self, layers, C, H, N, V):
        super().__init__()
        self.E, self.P = torch.nn.Embedding(V, C), torch.nn.Embedding(N, C)
        self.blocks = torch.nn.ModuleList(Block(C, H) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(C)

    def forward(self, x, y):
        h = self.E(x) + self.P.weight
        for block in self.blocks:
            h = block(h)
        logits = F.linear(self.norm(h), self.E.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), y.view(-1))

    @torch.no_grad()
    def draw(self, seed, embedding):
        """The parameters that draw_parameters() of model.c draws, in its order: matrices from the seed, block
        by block; norms 1, biases 0 (the former are LayerNorm's own)."""
        usual = 0.02 * math.sqrt(768 / self.E.weight.shape[1])
        ending = usual / math.sqrt(2 * len(self.blocks))
        matrices = [(self.E.weight, embedding), (self.P.weight, embedding)]
        for b in self.blocks:
            matrices += [(b.qkv.weight, usual), (b.proj.weight, ending), (b.fc.weight, usual), (b.out.weight, ending)]
            for layer in (b.qkv, b.proj, b.fc, b.out):
                layer.bias.zero_()
        at = 0
        for p, size in matrices:
            p.copy_(size * draw_normal(seed, at, p.numel(), p.device).view_as(p))
            at += p.numel()  # a parameter's number in the model is that of its draw


def rate(lr, warm, step, steps):
    """main.c's rate()."""
    warm = min(warm, math.ceil(steps / 2))
    done = (step - warm) / (steps - warm) if steps > warm else 0
    return lr * (step / warm if step < warm else 1 - 0.9 * done)


BLOCK = 20  # steps


def train(name, text, steps, seed, compiled):
    """Milliseconds of a step, a number for each block, and the losses."""
    layers, C, H, N, B, V, warm, lr, embedding = SIZES[name]
    warm = int(os.environ.get("WARM") or warm)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    with torch.device(device):
        model = GPT(layers, C, H, N, V)
    model.draw(seed, embedding)
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    adamw = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1},
                               {"params": others, "weight_decay": 0.0}],
                              lr=lr, betas=(0.9, 0.95), eps=1e-8, fused=True)
    run = torch.compile(model) if compiled else model
    drawn = [text.draw(B, N, seed, step) for step in range(1, steps + 1)]
    x, y = (torch.stack([d[i] for d in drawn]).to(device) for i in (0, 1))
    losses, blocks = [], []
    for step in range(1, steps + 1):
        if (step - 1) % BLOCK == 0:
            wait()
            begun = time.perf_counter()
        for group in adamw.param_groups:
            group["lr"] = rate(lr, warm, step, steps)
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = run(x[step - 1], y[step - 1])
        loss.backward()
        adamw.step()
        adamw.zero_grad(set_to_none=True)
        losses.append(loss.detach())
        if step % BLOCK == 0:
            wait()
            blocks.append(1e3 * (time.perf_counter() - begun) / BLOCK)
    return blocks[len(blocks) // 2:], [float(loss) for loss in losses]


def apart(losses, ours):
    """The largest relative difference of a mean of 20 steps, and of a single step."""
    means = [(sum(losses[i:i + 20]), sum(ours[i:i + 20])) for i in range(0, len(ours) - 19, 20)]
    return max(abs(a / b - 1) for a, b in means), max(abs(a / b - 1) for a, b in zip(losses, ours))


def driver():
    known = os.environ.get("BENCH_DRIVER")
    try:
        return known or subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                                       capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return ""


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    folder, path, name, to = sys.argv[1:5]
    seed = int(sys.argv[5]) if len(sys.argv) == 6 else 1
    with open(f"{folder}/{name}.csv", newline="") as file:
        ours = [float(row["loss"]) for row in csv.DictReader(file)]
    with open(f"{folder}/{name}.speed.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    steps = len(ours)
    if steps < 2 * BLOCK:
        sys.exit(f"{folder}/{name}.csv has {steps} steps: make train STEPS=200 first")
    N, B = SIZES[name][3:5]
    text = Text(path, N)
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    print(f"{gpu}, PyTorch {torch.__version__}, MODEL={name}, {steps} steps, seed {seed}")
    print(f"  {'':14} {'ms a step':>9} {'tokens/s':>9}  {'of ours':>7}  last loss  "
          "apart from ours: means of 20, a step")
    speed = float(rows[0]["tokens_per_s"])
    print(f"  {'ours':14} {float(rows[0]['median_ms']):9.2f} {speed:9.0f}  {1:7.2f}  {ours[-1]:9.4f}")
    curves = {"ours": ours}
    for version, compiled in (("eager", False), ("torch.compile", True)):
        ms, losses = train(name, text, steps, seed, compiled)
        middle = statistics.median(ms)
        of_20, of_one = apart(losses, ours)
        print(f"  {version:14} {middle:9.2f} {1e3 * B * N / middle:9.0f}  {1e3 * B * N / middle / speed:7.2f}  "
              f"{losses[-1]:9.4f}  {100 * of_20:.2f} %, {100 * of_one:.2f} %", flush=True)
        rows.append({**rows[0], "version": version, "gpus": 1, "median_ms": f"{middle:.3f}",
                     "low_ms": f"{min(ms):.3f}", "high_ms": f"{max(ms):.3f}",
                     "tokens_per_s": f"{1e3 * B * N / middle:.0f}", "loss": f"{losses[-1]:.4f}",
                     "held_out": "", "gpu": gpu, "driver": driver(), "cuda": torch.version.cuda or "",
                     "torch": torch.__version__, "date": datetime.date.today().isoformat()})
        curves[version] = losses
    with open(f"{to}.tokens.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    with open(f"{to}.losses.csv", "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["step", *curves])
        writer.writerows([i + 1, *(f"{x:.6f}" for x in row)] for i, row in enumerate(zip(*curves.values())))


if __name__ == "__main__":
    main()

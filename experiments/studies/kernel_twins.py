#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CUDA kernels beside what one would write with PyTorch, on one GPU in one run.

    experiments/studies/kernel_twins.py --binary build/cuda/hearsay [--sizes 1000000,124000000,1000000000]
                                        [--only WORD,WORD] [--json FILE]

Calls `hearsay bench kernels --device cuda` first, then times each PyTorch twin by CUDA events (median of 20)
and prints one table: operator, what PyTorch does, its ms, ours, and how many times faster ours is. Where one
side is missing (an operator that is not built, memory that does not suffice, a PyTorch that cannot) the row
says so; what PyTorch refused is told under the table.
"""
import argparse
import json
import statistics
import subprocess
import sys

RUNS, WARM_UPS = 20, 5
ALPHA, BETA = 0.25, 0.9


def flags():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="hearsay, with libhearsay_cuda_bench.so beside it")
    parser.add_argument("--sizes", default="1000000,124000000,1000000000")
    parser.add_argument("--only", default="", help="words; twins whose names contain one of them")
    parser.add_argument("--json", help="writes all rows there, too")
    return parser.parse_args()


def our_rows(options):
    """{(op, n): row}. Without a result there is nothing to compare: the reason and exit."""
    command = [options.binary, "bench", "kernels", "--device", "cuda", "--sizes", options.sizes, "--json"]
    if options.only:
        command += ["--only", options.only]
    print("+", " ".join(command), file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{options.binary} ended with {done.returncode}")
    rows = json.loads(done.stdout)["rows"]
    for row in rows:
        if row.get("wrong"):
            print(f"{row['op']} n={row['n']}: {row['wrong']} values are wrong", file=sys.stderr)
    return {(row["op"], row["n"]): row for row in rows}


def milliseconds(torch, body):
    for _ in range(WARM_UPS):
        body()
    samples = []
    for _ in range(RUNS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        body()
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end))
    return statistics.median(samples)


class Twins:
    """Each method makes its inputs and returns what is timed. The names are in TWINS."""

    def __init__(self, torch):
        self.torch = torch

    def values(self, n, dtype=None, scale=1.0):
        torch = self.torch
        made = torch.empty(n, device="cuda", dtype=dtype or torch.float32)
        return made.normal_(0.0, scale)

    def indices(self, n, share):
        """Ascending, without repeats, one in each stretch of 1 / share values."""
        torch, k = self.torch, max(1, int(n * share))
        stretch = n // k
        within = torch.randint(0, stretch, (k,), device="cuda")
        return torch.arange(k, device="cuda") * stretch + within

    def lerp(self, n):
        w, v = self.values(n), self.values(n)
        return lambda: w.lerp_(v, ALPHA)

    def lerp_norm(self, n):
        w, v = self.values(n), self.values(n)

        def body():
            norm = self.torch.linalg.vector_norm(v - w)
            w.lerp_(v, ALPHA)
            return norm
        return body

    def checked_merge(self, w, v):
        torch = self.torch
        u = (v - w) * ALPHA
        good = torch.isfinite(u)
        u = torch.where(good, u, torch.zeros_like(u))
        facts = torch.linalg.vector_norm(u), u.abs().max(), (~good).sum()
        w.add_(u)
        return facts

    def composite(self, n):
        w, v = self.values(n), self.values(n)
        return lambda: self.checked_merge(w, v)

    def compiled_composite(self, n):
        w, v = self.values(n), self.values(n)
        merge = self.torch.compile(self.checked_merge)
        return lambda: merge(w, v)

    def lerp_bf16(self, n):
        torch = self.torch
        w, v = self.values(n, torch.bfloat16), self.values(n, torch.bfloat16)
        return lambda: w.lerp_(v, ALPHA)

    def lerp_fp16(self, n):
        torch = self.torch
        w, v = self.values(n, torch.float16), self.values(n, torch.float16)
        return lambda: w.lerp_(v, ALPHA)

    def lerp_from_bf16(self, n):
        w, v = self.values(n), self.values(n, self.torch.bfloat16)
        return lambda: w.lerp_(v.float(), ALPHA)

    def lerp_master(self, n):
        torch = self.torch
        master, w, v = self.values(n), self.values(n, torch.bfloat16), self.values(n, torch.bfloat16)

        def body():
            master.lerp_(v.float(), ALPHA)
            w.copy_(master)
        return body

    def stats(self, n):
        torch = self.torch
        w, v = self.values(n), self.values(n)

        def body():
            return (torch.linalg.vector_norm(v - w), torch.linalg.vector_norm(w),
                    (~torch.isfinite(w)).sum() + (~torch.isfinite(v)).sum())
        return body

    def dot(self, n):
        x, y = self.values(n), self.values(n)
        return lambda: self.torch.dot(x, y)

    def axpy(self, n):
        x, y = self.values(n), self.values(n)
        return lambda: y.add_(x, alpha=ALPHA)

    def bins(self, u):
        """The histogram of the upper eleven bits of |u|, as the kernels make it."""
        keys = (u.view(self.torch.int32) & 0x7fffffff) >> 20
        return self.torch.bincount(keys, minlength=2048)

    def delta(self, n):
        torch = self.torch
        w, anchor, error = self.values(n), self.values(n), self.values(n, scale=0.01)

        def body():
            error.add_(w).sub_(anchor)
            return torch.linalg.vector_norm(error), error.abs().max(), self.bins(error)
        return body

    def delta_momentum(self, n):
        torch = self.torch
        w, anchor, error = self.values(n), self.values(n), self.values(n, scale=0.01)
        momentum = self.values(n, scale=0.1)

        def body():
            momentum.mul_(BETA).add_(w).sub_(anchor)
            error.add_(momentum)
            return torch.linalg.vector_norm(error), error.abs().max(), self.bins(error)
        return body

    def moving_kthvalue(self, n):
        ma, g = self.values(n).abs_(), self.values(n)
        rank = n - max(1, n // 100) + 1

        def body():
            ma.lerp_(g.abs(), 1.0 - BETA)
            return ma.kthvalue(rank).values
        return body

    def moving_quantile(self, n):
        """torch.quantile takes 2^24 values at most: beyond that it is asked for a sample, as one would."""
        ma, g = self.values(n).abs_(), self.values(n)
        step = -(-n // (1 << 24))

        def body():
            ma.lerp_(g.abs(), 1.0 - BETA)
            return self.torch.quantile(ma[::step], 0.99)
        return body

    def topk(self, n):
        x = self.values(n)
        k = max(1, n // 100)

        def body():
            indices = self.torch.topk(x.abs(), k, sorted=False).indices
            return indices, x[indices]
        return body

    def index_add(self, n):
        w, indices = self.values(n), self.indices(n, 0.01)
        u = self.values(len(indices))
        return lambda: w.index_add_(0, indices, u, alpha=ALPHA)

    def sparse_ema(self, n):
        w, indices = self.values(n), self.indices(n, 0.01)
        v = self.values(len(indices))
        return lambda: w.index_copy_(0, indices, w[indices].lerp_(v, ALPHA))

    def sparse_blocks(self, n):
        w = self.values(n // 16 * 16).view(-1, 16)
        indices = self.indices(len(w), 0.01)
        v = self.values(16 * len(indices)).view(-1, 16)
        return lambda: w.index_copy_(0, indices, w[indices].lerp_(v, ALPHA))

    def eight_lists(self, n):
        w = self.values(n)
        lists = [self.indices(n, 0.05) for _ in range(8)]
        values = [self.values(len(indices)) for indices in lists]

        def body():
            for indices, u in zip(lists, values):
                w.index_add_(0, indices, u, alpha=ALPHA)
        return body

    def int8(self, x):
        torch = self.torch
        blocks = x.view(-1, 64)
        scale = blocks.abs().amax(dim=1, keepdim=True) / 127.0
        scaled = blocks / scale.clamp_min(1e-30)
        noise = torch.rand_like(scaled)
        return torch.floor(scaled + noise).clamp_(-127, 127).to(torch.int8), scale

    def quantise(self, n):
        x = self.values(n // 64 * 64)
        return lambda: self.int8(x)

    def compiled_quantise(self, n):
        x = self.values(n // 64 * 64)
        quantise = self.torch.compile(self.int8)
        return lambda: quantise(x)

    def int4(self, x):
        torch = self.torch
        blocks = x.view(-1, 32)
        scale = blocks.abs().amax(dim=1, keepdim=True) / 7.0
        codes = torch.floor(blocks / scale.clamp_min(1e-30) + torch.rand_like(blocks)).clamp_(-7, 7)
        codes = codes.to(torch.int8).view(-1, 2)
        return (codes[:, 0] & 15) | (codes[:, 1] << 4), scale

    def quantise4(self, n):
        x = self.values(n // 32 * 32)
        return lambda: self.int4(x)

    def sketch(self, n):
        torch = self.torch
        x = self.values(n)
        signs = torch.randint(0, 2, (n,), device="cuda", dtype=torch.int8)
        buckets = torch.randint(0, 16384, (n,), device="cuda", dtype=torch.int32)
        out = torch.zeros(16384, device="cuda")

        def body():
            out.zero_()
            out.index_add_(0, buckets, x * (signs * 2 - 1))
        return body


# (our operator, what PyTorch does, method)
TWINS = (
    ("ema fp32", "lerp_ alone, no checks", "lerp"),
    ("ema fp32", "lerp_ + norm", "lerp_norm"),
    ("ema fp32", "sub, isfinite, norm, abs max, add_", "composite"),
    ("ema fp32", "the same, torch.compile", "compiled_composite"),
    ("ema bf16 sr", "lerp_ to nearest, no checks", "lerp_bf16"),
    ("ema fp16 sr", "lerp_ to nearest, no checks", "lerp_fp16"),
    ("ema fp32<-bf16", "float + lerp_, no checks", "lerp_from_bf16"),
    ("ema bf16 master", "float + lerp_ + copy_, no checks", "lerp_master"),
    ("stats fp32", "two norms, isfinite", "stats"),
    ("dot", "dot", "dot"),
    ("axpy", "add_(alpha)", "axpy"),
    ("delta+histogram", "add_, sub_, norm, abs max, bincount", "delta"),
    ("delta momentum", "the same with momentum", "delta_momentum"),
    ("moving average", "lerp_ + kthvalue", "moving_kthvalue"),
    ("moving average", "lerp_ + quantile", "moving_quantile"),
    ("select 1% exact", "topk(abs) + gather", "topk"),
    ("select 1% published", "topk(abs) + gather", "topk"),
    ("select 1% threshold", "topk(abs) + gather", "topk"),
    ("sparse ema 1%", "index_add_", "index_add"),
    ("sparse ema 1%", "gather, lerp_, index_copy_", "sparse_ema"),
    ("sparse ema 1% blocks16", "gather, lerp_, index_copy_ of rows", "sparse_blocks"),
    ("merge 8 lists 5%", "8 x index_add_", "eight_lists"),
    ("int8 b64 sr", "eager", "quantise"),
    ("int8 b64 sr", "torch.compile", "compiled_quantise"),
    ("int4 b32 sr", "eager", "quantise4"),
    ("sketch 16384", "signs + index_add_", "sketch"),
)


def measured(torch, twins, method, n):
    """(ms, None), or (None, why not). Memory of a twin is gone before the next one asks for its own."""
    try:
        body = getattr(twins, method)(n)
        with torch.no_grad():
            return milliseconds(torch, body), None
    except Exception as problem:  # whatever PyTorch and its compiler throw: the row says so
        return None, (str(problem).strip() or type(problem).__name__).splitlines()[0][:90]
    finally:
        body = None
        torch.cuda.empty_cache()


def table(rows):
    head = ("operator", "n", "PyTorch", "PyTorch ms", "hearsay ms", "ratio")
    cells = [head] + [(row["op"], f"{row['n']:.3g}", row["torch"], text(row["torch_ms"]), text(row["our_ms"]),
                       "" if row["ratio"] is None else f"{row['ratio']:.2f}") for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]
    for line in cells:
        print("  ".join(cell.ljust(width) if column in (0, 2) else cell.rjust(width)
                        for column, (cell, width) in enumerate(zip(line, widths))))


def text(ms):
    return "-" if ms is None else f"{ms:.3f}"


def main():
    options = flags()
    try:
        import torch
    except ImportError:
        sys.exit("needs PyTorch: pip install torch")
    if not torch.cuda.is_available():
        sys.exit("needs a GPU that PyTorch can use")
    ours = our_rows(options)
    twins, rows, times = Twins(torch), [], {}
    wanted = [word for word in options.only.split(",") if word]
    for n in [int(float(size)) for size in options.sizes.split(",")]:
        for op, what, method in TWINS:
            if wanted and not any(word in op for word in wanted):
                continue
            if (method, n) not in times:
                times[method, n] = measured(torch, twins, method, n)
            torch_ms, why = times[method, n]
            row = ours.get((op, n))
            our_ms = row["p50_us"] / 1e3 if row else None
            ratio = torch_ms / our_ms if torch_ms and our_ms else None
            rows.append({"op": op, "n": n, "torch": what, "torch_ms": torch_ms, "our_ms": our_ms,
                         "ratio": ratio, "why": why})
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}; "
          f"medians of {RUNS}")
    table(rows)
    for row in rows:
        if row["why"]:
            print(f"{row['op']}, {row['torch']}, n = {row['n']:.3g}: {row['why']}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()

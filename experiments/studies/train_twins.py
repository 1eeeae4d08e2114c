#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training throughput of a pool on one GPU beside what a PyTorch user would write, in one run.

    experiments/studies/train_twins.py --binary build/cuda/hearsay [--peers 16] [--epochs 5]

For an MLP and a small CNN on Fashion-MNIST's shapes, batch 32, SGD with momentum and clipping, fp32
without TF32: hearsay sim --device cuda:0 (samples a second inside mini-batches, and of the whole
run), PyTorch eager (one model after the other) and PyTorch batched over models by torch.func.vmap.
Prints one table. The twins train on data that are on the GPU already, as hearsay does.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import torch
from torch import nn

BATCH, CLASSES = 32, 10
MODELS = {"mlp:256,128": lambda: nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(),
                                               nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, CLASSES)),
          "cnn:16,32,dense=128": lambda: nn.Sequential(
              nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(),
              nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, CLASSES))}


def of_hearsay(options, model):
    with tempfile.TemporaryDirectory() as folder:
        command = [options.binary, "sim", "--peers", str(options.peers), "--model", model, "--batch",
                   str(BATCH), "--epochs", str(options.epochs), "--eval-every", "0", "--data", options.data,
                   "--optimizer", "sgd:lr=0.05,momentum=0.9,clip=1", "--device", "cuda:0", "--quiet",
                   "--json", "--run", str(pathlib.Path(folder) / "run")]
        result = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    whole = result["samples"] / result["wall_s"]
    return whole / result["training_share"], whole


def timed(step, seconds=3.0):
    """Samples a second of a function that trains so many."""
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    begin, samples = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        for _ in range(20):
            samples += step()
        torch.cuda.synchronize()
    return samples / (time.perf_counter() - begin)


def eager(options, make, images, labels):
    models = [make().cuda() for _ in range(options.peers)]
    optimizers = [torch.optim.SGD(m.parameters(), lr=0.05, momentum=0.9) for m in models]
    loss_of = nn.CrossEntropyLoss()

    def step():
        for model, optimizer in zip(models, optimizers):
            places = torch.randint(len(images), (BATCH,), device="cuda")
            optimizer.zero_grad()
            loss_of(model(images[places]), labels[places]).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return options.peers * BATCH
    return timed(step)


def batched(options, make, images, labels):
    models = [make().cuda() for _ in range(options.peers)]
    params, buffers = torch.func.stack_module_state(models)
    params = {k: v.detach() for k, v in params.items()}
    momentum = {k: torch.zeros_like(v) for k, v in params.items()}
    base = make().cuda().to("meta")

    def loss_of(p, x, y):
        return nn.functional.cross_entropy(torch.func.functional_call(base, (p, {}), (x,)), y)
    gradient_of = torch.func.vmap(torch.func.grad(loss_of))

    def step():
        places = torch.randint(len(images), (options.peers, BATCH), device="cuda")
        gradients = gradient_of(params, images[places], labels[places])
        squares = sum(g.flatten(1).square().sum(1) for g in gradients.values())
        factor = torch.clamp(1.0 / squares.sqrt(), max=1.0)
        for name, g in gradients.items():
            g = g * factor.view(-1, *[1] * (g.dim() - 1))
            momentum[name].mul_(0.9).add_(g)
            params[name].sub_(momentum[name], alpha=0.05)
        return options.peers * BATCH
    return timed(step)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--peers", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--data", default="fashion-mnist")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    images = torch.randn(60000, 1, 28, 28, device="cuda")
    labels = torch.randint(CLASSES, (60000,), device="cuda")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {options.peers} peers, "
          f"batch {BATCH}; samples a second")
    print("| model | hearsay, training | whole run | PyTorch eager | PyTorch vmap | training / eager |")
    print("|---|---|---|---|---|---|")
    for name, make in MODELS.items():
        training, whole = of_hearsay(options, name)
        one, many = eager(options, make, images, labels), batched(options, make, images, labels)
        rates = " | ".join(f"{rate:,.0f}" for rate in (training, whole, one, many))
        print(f"| {name} | {rates} | {training / one:.1f} |", flush=True)


if __name__ == "__main__":
    main()

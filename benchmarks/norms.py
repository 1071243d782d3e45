"""Time normlib against PyTorch, forward and backward, in one process and on one thread.

    make bench

The two take turns, so that whatever slows the machine slows both, and the medians are compared. Both sides get the same
float32 numbers. PyTorch's backward pass reuses the μ and σ its forward pass kept; normlib computes them anew.
"""

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # before NumPy loads

import statistics
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (PyTorch's own convention)

# The numerics need NumPy alone. Standing in for the package keeps its __init__, and what that imports, out of the way.
package = types.ModuleType("normlib")
package.__path__ = [str(Path(__file__).parents[1] / "normlib")]
sys.modules["normlib"] = package

from normlib.gradients import layer_norm_backward, rms_norm_backward  # noqa: E402
from normlib.norms import layer_norm, rms_norm  # noqa: E402

SHAPE, ROUNDS, EPS = (8192, 1024), 25, 1e-5


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(name: str, ours: Callable[[], object], theirs: Callable[[], object]) -> None:
    for a, b in zip(ours(), theirs(), strict=True):  # a first, untimed run: the two must agree
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-3, atol=1e-3)
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    ms_ours, ms_theirs = (1e3 * statistics.median(times) for times in zip(*pairs, strict=True))
    low, _, high = statistics.quantiles((a / b for a, b in pairs), n=4)
    print(f"{name:22}{ms_ours:9.1f} ms{ms_theirs:9.1f} ms{ms_ours / ms_theirs:8.2f}   {low:.2f} – {high:.2f}")


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    x, dy = rng.standard_normal((2, *SHAPE)).astype(np.float32)
    gamma, beta = rng.standard_normal((2, SHAPE[1])).astype(np.float32)
    tx, tgamma, tbeta = (torch.from_numpy(a).requires_grad_() for a in (x, gamma, beta))
    tdy = torch.from_numpy(dy)
    layer_y = F.layer_norm(tx, SHAPE[1:], tgamma, tbeta, EPS)
    rms_y = F.rms_norm(tx, SHAPE[1:], tgamma, EPS)

    @torch.no_grad()
    def torch_layer_norm() -> list[torch.Tensor]:
        return [F.layer_norm(tx, SHAPE[1:], tgamma, tbeta, EPS)]

    @torch.no_grad()
    def torch_rms_norm() -> list[torch.Tensor]:
        return [F.rms_norm(tx, SHAPE[1:], tgamma, EPS)]

    def back(y: torch.Tensor, *inputs: torch.Tensor) -> Callable[[], tuple[torch.Tensor, ...]]:
        return lambda: torch.autograd.grad(y, inputs, tdy, retain_graph=True)

    print(
        f"{SHAPE} float32, one thread, NumPy {np.__version__}, PyTorch {torch.__version__}, medians of {ROUNDS} turns"
    )
    print(f"{'':22}{'normlib':>12}{'PyTorch':>12}{'ratio':>8}   middle half of the ratios")
    compare("layer_norm forward", lambda: [layer_norm(x, gamma, beta)], torch_layer_norm)
    compare("layer_norm backward", lambda: layer_norm_backward(dy, x, gamma), back(layer_y, tx, tgamma, tbeta))
    compare("rms_norm forward", lambda: [rms_norm(x, gamma)], torch_rms_norm)
    compare("rms_norm backward", lambda: rms_norm_backward(dy, x, gamma), back(rms_y, tx, tgamma))


if __name__ == "__main__":
    main()

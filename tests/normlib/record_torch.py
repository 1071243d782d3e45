"""Record what PyTorch computes, forward and backward, into torch_values.json beside this file.

The tests read the recorded values, so PyTorch is needed only to run this script: in an environment of its own,

    python -m venv torch-env && torch-env/bin/pip install torch==2.13.0 numpy
    torch-env/bin/python tests/normlib/record_torch.py

The version that made the values is written into the file. Inputs are drawn with a fixed seed.
"""

import json
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812 (PyTorch's own convention)

TARGET = Path(__file__).with_name("torch_values.json")

# (shape of x, normalized axes, ε, scale of x, mean of x)
LAYOUTS = [
    ((3, 5), (1,), 1e-5, 3.0, 2.0),
    ((3, 5), (0,), 1e-5, 3.0, 2.0),
    ((4, 2), (1,), 1e-5, 1e-3, 0.0),
    ((3, 1), (1,), 1e-5, 1.0, 1.0),
    ((7,), (0,), 1e-12, 1.0, -5.0),
    ((2, 3, 4), (2,), 0.1, 1.0, 0.0),
    ((2, 3, 4), (1, 2), 1e-5, 1.0, 10.0),
    ((2, 3, 4), (0, 2), 1e-6, 1.0, 0.0),
    ((2, 2, 3, 2), (1, 2, 3), 1e-5, 100.0, 0.0),
]


def numbers(tensor: torch.Tensor | None) -> list | None:
    """Nested lists, each number with the fewest digits that give it back in its own float type."""
    return None if tensor is None else tensor.detach().numpy().astype(str).astype(float).tolist()


def draw(*shape: int, dtype: torch.dtype, scale: float = 1.0, mean: float = 0.0) -> torch.Tensor:
    return (torch.randn(shape, dtype=torch.float64) * scale + mean).to(dtype)


def along(norm, x: torch.Tensor, axes: tuple[int, ...], *parameters, eps: float) -> torch.Tensor:
    """PyTorch normalizes trailing axes only: move ours to the end and back."""
    tail = tuple(range(-len(axes), 0))
    moved = x.movedim(axes, tail)
    return norm(moved, moved.shape[-len(axes) :], *parameters, eps=eps).movedim(tail, axes)


def row_norm(norm, layout, dtype: torch.dtype, *, gamma: bool, beta: bool) -> dict:
    shape, axes, eps, scale, mean = layout
    x = draw(*shape, dtype=dtype, scale=scale, mean=mean).requires_grad_()
    features = [shape[axis] for axis in axes]
    # Parameters are passed even where the test passes None, so that their gradients are recorded too.
    weight = (draw(*features, dtype=dtype) if gamma else torch.ones(features, dtype=dtype)).requires_grad_()
    bias = (draw(*features, dtype=dtype) if beta else torch.zeros(features, dtype=dtype)).requires_grad_()
    parameters = [weight, bias] if norm is F.layer_norm else [weight]
    y = along(norm, x, axes, *parameters, eps=eps)
    dy = draw(*shape, dtype=dtype)
    gradients = torch.autograd.grad(y, [x, *parameters], dy)
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "axis": axes,
        "eps": eps,
        "x": numbers(x),
        "gamma": numbers(weight) if gamma else None,
        "beta": numbers(bias) if beta else None,
        "dy": numbers(dy),
        "y": numbers(y),
        "gradients": [numbers(gradient) for gradient in gradients],
    }


def batch_norm(dtype: torch.dtype, *, affine: bool, momentum: float) -> dict:
    """Three training steps that carry the running statistics along, then inference."""
    gamma, beta = (draw(4, dtype=dtype), draw(4, dtype=dtype)) if affine else (None, None)
    mean, var = torch.zeros(4, dtype=dtype), torch.ones(4, dtype=dtype)
    steps = []
    for training in (True, True, True, False):
        x = draw(6, 4, dtype=dtype, scale=2.0, mean=1.0)
        before = [numbers(mean), numbers(var)]
        y = F.batch_norm(x, mean, var, gamma, beta, training=training, momentum=momentum, eps=1e-5)
        after = [numbers(mean), numbers(var)]
        steps.append({"training": training, "x": numbers(x), "before": before, "after": after, "y": numbers(y)})
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "momentum": momentum,
        "gamma": numbers(gamma),
        "beta": numbers(beta),
        "steps": steps,
    }


def main() -> None:
    torch.manual_seed(20160721)
    dtypes = (torch.float32, torch.float64)
    affine = ((False, False), (True, False), (True, True))
    values = {
        "torch": torch.__version__.partition("+")[0],
        "layer_norm": [
            row_norm(F.layer_norm, layout, dtype, gamma=gamma, beta=beta)
            for layout, dtype, (gamma, beta) in product(LAYOUTS, dtypes, affine)
        ],
        "rms_norm": [
            row_norm(F.rms_norm, layout, dtype, gamma=gamma, beta=False)
            for layout, dtype, gamma in product(LAYOUTS, dtypes, (False, True))
        ],
        "half": [
            row_norm(F.layer_norm, LAYOUTS[0], torch.float16, gamma=True, beta=True),
            row_norm(F.layer_norm, LAYOUTS[6], torch.float16, gamma=True, beta=True),
        ],
        "batch_norm": [
            batch_norm(dtype, affine=affine, momentum=momentum)
            for dtype, affine, momentum in product(dtypes, (False, True), (0.1, 0.6))
        ],
    }
    with TARGET.open("w", encoding="utf-8") as file:
        json.dump(values, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()

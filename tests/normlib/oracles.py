"""Where the right values come from: loops over 50-digit numbers, and what PyTorch recorded (record_torch.py)."""

import json
from pathlib import Path

import mpmath as mp
import numpy as np

TORCH = json.loads(Path(__file__).with_name("torch_values.json").read_text(encoding="utf-8"))


def exact_row(row, eps=0, *, center=True):
    """Normalize one list of mpmath numbers, word for word as the formula reads."""
    H = len(row)
    mu = sum(row) / H if center else mp.mpf(0)
    variance = sum((value - mu) ** 2 for value in row) / H
    return [(value - mu) / mp.sqrt(variance + mp.mpf(eps)) for value in row]


@mp.workdps(50)
def exact_norm(x, gamma=None, beta=None, *, axis=(-1,), eps=0, center=True):
    """γ x̂ + β by loops at 50 digits, rounded to float64 at the very end."""
    axes = sorted(i % x.ndim for i in axis)
    groups = {}
    for index in np.ndindex(x.shape):
        outer = tuple(i for position, i in enumerate(index) if position not in axes)
        groups.setdefault(outer, []).append(index)
    y = np.empty(x.shape)
    for group in groups.values():
        for index, value in zip(
            group, exact_row([mp.mpf(float(x[i])) for i in group], eps, center=center), strict=True
        ):
            feature = tuple(index[i] for i in axes)
            scale = 1 if gamma is None else mp.mpf(float(gamma[feature]))
            shift = 0 if beta is None else mp.mpf(float(beta[feature]))
            y[index] = scale * value + shift
    return y


@mp.workdps(50)
def exact_dx(dy, row, gamma, eps=0, *, center=True):
    """d/dx of Σ dy·γ·x̂ for one row: central differences at 50 digits, so some 30 digits are right."""
    weights = [mp.mpf(float(a)) * mp.mpf(float(b)) for a, b in zip(dy, gamma, strict=True)]
    row = [mp.mpf(float(value)) for value in row]
    mean = sum(row) / len(row)
    h = mp.mpf("1e-20") * mp.sqrt(sum((value - mean) ** 2 for value in row))

    def loss(j, shift):
        moved = [value + shift * (i == j) for i, value in enumerate(row)]
        return mp.fdot(weights, exact_row(moved, eps, center=center))

    return np.array([float((loss(j, h) - loss(j, -h)) / (2 * h)) for j in range(len(row))])


def exact_jacobian(row, eps=0):
    """∂x̂ᵢ/∂xⱼ, one row of it per unit vector."""
    return np.array([exact_dx(unit, row, np.ones(len(row)), eps) for unit in np.eye(len(row))])

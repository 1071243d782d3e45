"""Derivatives of the norms: the backward passes, the Jacobian of one row, and finite differences to check them.

For one row, with g = γ·dy and r = √(σ² + ε), the chain rule through x̂ = (x − μ)/r leaves three terms:

    dx = (g − mean(g) − x̂ · mean(g x̂)) / r

The second comes from μ, the third from σ. RMS normalization has no μ, so it has no mean term either.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from normlib.norms import (
    Array,
    Axis,
    as_rows,
    blocks,
    checked_eps,
    normalize,
    normalized_axes,
    parameter,
    real_array,
    row_means,
)


def layer_norm_backward(
    dy: npt.ArrayLike, x: npt.ArrayLike, gamma: npt.ArrayLike | None = None, *, axis: Axis = -1, eps: float = 1e-5
) -> tuple[Array, Array, Array]:
    """Carry a gradient back through `layer_norm`.

    Parameters
    ----------
    dy
        The gradient of the loss with respect to y, with the shape of x.
    x, gamma, axis, eps
        What `layer_norm` was given. β is not needed: it does not change any of the gradients.

    Returns
    -------
    dx, dgamma, dbeta
        dx has the shape of x; dgamma and dbeta have the shape of the normalized axes and are summed over all rows.
        They are returned even when γ is None. All have the float type of x.

    Raises
    ------
    ValueError
        As `layer_norm`, and when dy has not the shape of x.

    Notes
    -----
    The same chain rule as Ioffe and Szegedy, "Batch Normalization" (2015), section 3, along rows in place of columns.
    """
    return _backward(dy, x, gamma, axis, eps, center=True)


def rms_norm_backward(
    dy: npt.ArrayLike, x: npt.ArrayLike, gamma: npt.ArrayLike | None = None, *, axis: Axis = -1, eps: float = 1e-5
) -> tuple[Array, Array]:
    """Carry a gradient back through `rms_norm`.

    Parameters
    ----------
    dy
        The gradient of the loss with respect to y, with the shape of x.
    x, gamma, axis, eps
        What `rms_norm` was given.

    Returns
    -------
    dx, dgamma
        As `layer_norm_backward`, without dbeta.

    Raises
    ------
    ValueError
        As `layer_norm_backward`.
    """
    dx, dgamma, _ = _backward(dy, x, gamma, axis, eps, center=False)
    return dx, dgamma


@np.errstate(all="ignore")
def standardize_jacobian(x: npt.ArrayLike, *, eps: float = 0.0) -> Array:
    """Return the (H, H) matrix of ∂x̂ᵢ/∂xⱼ for one row x: (I − 11ᵀ/H − x̂x̂ᵀ/H) / √(σ² + ε).

    Parameters
    ----------
    x
        One row, (H,).
    eps
        ε, zero or more. With ε = 0 a constant row has no Jacobian: every entry is NaN.

    Returns
    -------
    numpy.ndarray
        The Jacobian, (H, H), row i for x̂ᵢ, with the float type of x.

    Raises
    ------
    ValueError
        When x is not one row of one or more real numbers, or ε is below zero.
    """
    x, eps = real_array("x", x), checked_eps(eps)
    if x.ndim != 1:
        raise ValueError(f"x has shape {x.shape}; the Jacobian is that of one row, (H,).")
    rows, _ = as_rows(x, normalized_axes(0, x))  # (1, H)
    x_hat = np.empty_like(rows)  # (1, H)
    root = normalize(rows, x_hat, eps, center=True)  # (1, 1)
    H = x.size
    jacobian = (np.eye(H, dtype=rows.dtype) - 1 / H - x_hat.T * x_hat / H) / root  # (H, H)
    return jacobian.astype(x.dtype, copy=False)


def numerical_gradient(f: Callable[[Array], npt.ArrayLike], x: npt.ArrayLike, *, step: float = 1e-5) -> Array:
    """Differentiate f at x by central differences: (f(x + h) − f(x − h)) / 2h, one entry of x at a time.

    Parameters
    ----------
    f
        A function of one float64 array, with a real number or an array as its value.
    x
        Where to differentiate, of any shape.
    step
        h for entries up to 1 in size; for larger ones h = step · abs(x). The error is of order h² · f‴, plus rounding
        of order 1e-16 · f / h. With the default about nine digits are right where f and x are of order 1.

    Returns
    -------
    numpy.ndarray
        ∂f/∂x as float64, of shape f(x).shape + x.shape.

    Raises
    ------
    ValueError
        When x or f(x) does not hold real numbers, or the step is not a finite number above zero.
    """
    x = real_array("x", x).astype(np.float64)
    if not 0 < step < math.inf:
        raise ValueError(f"step is {step}; it must be a finite number above zero.")

    def value(at: Array) -> Array:
        return real_array("f(x)", f(at.copy())).astype(np.float64)  # a copy: f may change its argument

    gradient = np.empty(value(x).shape + x.shape)
    for index in np.ndindex(x.shape):
        above, below = x.copy(), x.copy()
        above[index] += step * max(1, abs(x[index]))
        below[index] -= step * max(1, abs(x[index]))
        # Divide by the step as it was rounded, not as it was meant.
        gradient[..., *index] = (value(above) - value(below)) / (above[index] - below[index])
    return gradient


@np.errstate(all="ignore")
def _backward(
    dy: npt.ArrayLike, x: npt.ArrayLike, gamma: npt.ArrayLike | None, axis: Axis, eps: float, *, center: bool
) -> tuple[Array, Array, Array]:
    x, dy, eps = real_array("x", x), real_array("dy", dy), checked_eps(eps)
    if dy.shape != x.shape:
        raise ValueError(f"dy has shape {dy.shape}; it must have the shape of x, {x.shape}.")
    axes = normalized_axes(axis, x)
    gamma = parameter("gamma", gamma, x, axes)
    rows, restore = as_rows(x, axes)  # (N, H)
    dy_rows, _ = as_rows(dy.astype(rows.dtype, copy=False), axes)  # (N, H)
    dx = np.empty_like(rows)  # (N, H)
    dgamma, dbeta = np.zeros((2, rows.shape[1]))  # (H,) each, in float64: there may be many rows to add up

    for block in blocks(rows):
        dy, g = dy_rows[block], dx[block]  # (R, H): g is finished in place and becomes dx
        x_hat = np.empty_like(g)  # (R, H)
        root = normalize(rows[block], x_hat, eps, center)  # (R, 1)
        np.multiply(dy, x_hat, out=g)
        dgamma += g.sum(axis=0)
        dbeta += dy.sum(axis=0)
        np.multiply(dy, 1 if gamma is None else gamma.ravel(), out=g)
        if center:
            g -= row_means(g)  # through μ
        x_hat *= row_means(g, x_hat)
        g -= x_hat  # through σ
        g /= root

    shape = tuple(x.shape[i] for i in axes)
    return (
        restore(dx).astype(x.dtype, copy=False),
        dgamma.reshape(shape).astype(x.dtype),
        dbeta.reshape(shape).astype(x.dtype),
    )

"""The norms of the course: standardize, layer_norm, rms_norm and batch_norm, in NumPy.

All of them share one recipe. The axes that are normalized are moved to the end and flattened, so that x becomes a
matrix with one row per group of H numbers. Then each row is centered, measured, and divided by what was measured:

    x̂ = (x − μ) / √(σ² + ε)        y = γ x̂ + β

The deviations are computed first and squared afterwards (two passes), with divisor H. The shortcut E[x²] − E[x]² would
lose every digit on a row such as (40000, 40001, 40002, 40003) in float32.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating]
Axis = int | Sequence[int]

BLOCK_BYTES = 1 << 19  # Rows are worked on 512 KiB at a time: they stay in the cache from one step to the next.


def standardize(x: npt.ArrayLike, *, axis: Axis = -1, eps: float = 0.0) -> Array:
    """Shift and scale x to mean 0 and variance 1 along `axis`: x̂ = (x − μ) / √(σ² + ε).

    Parameters
    ----------
    x
        Real numbers, of any shape. Integers are taken as float64.
    axis
        The axis, or the axes, that μ and σ² average over.
    eps
        ε, zero or more. With ε = 0 a constant row is 0/0 and comes out as NaN.

    Returns
    -------
    numpy.ndarray
        x̂, with the shape and float type of x. float16 is computed in float32 and given back as float16.

    Raises
    ------
    ValueError
        For numbers that are not real, an axis that x does not have, rows without entries, or an ε below zero.

    Notes
    -----
    Any row of normal numbers is safe: if its squares would overflow or vanish, it is measured in units of its largest
    entry. Subnormal numbers (below 2e-308, or 1e-38 in float32) have few digits, and so has their x̂.
    A NaN or an infinity spoils its own row and no other.
    """
    return _forward(x, None, None, axis, eps, center=True)


def layer_norm(
    x: npt.ArrayLike,
    gamma: npt.ArrayLike | None = None,
    beta: npt.ArrayLike | None = None,
    *,
    axis: Axis = -1,
    eps: float = 1e-5,
) -> Array:
    """Layer normalization: y = γ x̂ + β, with x̂ standardized along `axis`.

    Parameters
    ----------
    x
        Real numbers, of any shape.
    gamma, beta
        The learned scale γ and shift β: one number per normalized feature. Their shape is the lengths of the normalized
        axes, in the order x has them. None stands for ones and zeros.
    axis
        The axis, or the axes, that are normalized.
    eps
        ε, zero or more, added to the variance inside the root.

    Returns
    -------
    numpy.ndarray
        y, with the shape and float type of x.

    Raises
    ------
    ValueError
        As `standardize`, and for a γ or β of another shape.

    Notes
    -----
    Ba, Kiros and Hinton, "Layer Normalization" (2016), equations 3 and 4. ε is not in the paper; every library has it.
    """
    return _forward(x, gamma, beta, axis, eps, center=True)


def rms_norm(x: npt.ArrayLike, gamma: npt.ArrayLike | None = None, *, axis: Axis = -1, eps: float = 1e-5) -> Array:
    """RMS normalization: y = γ x / √(mean(x²) + ε). Layer normalization without the centering and without β.

    Parameters
    ----------
    x
        Real numbers, of any shape.
    gamma
        The learned scale γ, one number per normalized feature. None stands for ones.
    axis
        The axis, or the axes, that are normalized.
    eps
        ε, zero or more, added to the mean square inside the root.

    Returns
    -------
    numpy.ndarray
        y, with the shape and float type of x.

    Raises
    ------
    ValueError
        As `layer_norm`.

    Notes
    -----
    Zhang and Sennrich, "Root Mean Square Layer Normalization" (2019), equation 4.
    """
    return _forward(x, gamma, None, axis, eps, center=False)


@np.errstate(all="ignore")
def batch_norm(
    x: npt.ArrayLike,
    gamma: npt.ArrayLike | None = None,
    beta: npt.ArrayLike | None = None,
    *,
    running: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    training: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Array | tuple[Array, tuple[Array, Array]]:
    """Batch normalization of x, (B, H): each feature is standardized down its column, over the B examples.

    Parameters
    ----------
    x
        Real numbers, (B, H). Reshape images (B, height, width, channels) to (B·height·width, channels) first.
    gamma, beta
        The learned scale γ and shift β, (H,). None stands for ones and zeros.
    running
        The running mean and variance, (H,) each. Give them, and you get them back.
    training
        True: use the statistics of this batch, and move the running ones towards them. False: use the running ones.
    momentum
        How far the running statistics move: new = (1 − momentum) · old + momentum · batch, from 0 to 1.
    eps
        ε, zero or more, added to the variance inside the root.

    Returns
    -------
    y or (y, (mean, var))
        y, (B, H), alone when `running` is None; else with the running statistics, which inference leaves as they were.

    Raises
    ------
    ValueError
        As `layer_norm`; for x of another rank, inference without running statistics, and an update from one example
        alone, which has no unbiased variance.

    Notes
    -----
    Ioffe and Szegedy, "Batch Normalization" (2015), algorithms 1 and 2. The output uses the variance with divisor B;
    the running variance is fed the unbiased one, with divisor B − 1. That is PyTorch's convention.
    """
    x = real_array("x", x)
    if x.ndim != 2:
        raise ValueError(f"x has shape {x.shape}; batch_norm takes (B, H), one row per example.")
    if running is None and not training:
        raise ValueError("batch_norm in inference needs the running statistics: running=(mean, var).")
    if running is not None and training and len(x) == 1:
        raise ValueError("x has a single example; the running variance (divisor B − 1) needs two or more.")
    if not 0 <= momentum <= 1:
        raise ValueError(f"momentum is {momentum}; it must lie between 0 and 1.")
    work = x.astype(work_type(x), copy=False)
    gamma, beta = parameter("gamma", gamma, work, (1,)), parameter("beta", beta, work, (1,))

    if running is not None:
        mean, var = _running_statistics(running, x.shape[1:])
    eps = checked_eps(eps)
    y = standardize(work, axis=0, eps=eps) if training else (work - mean) / np.sqrt(var + eps)  # (B, H)
    y = y if gamma is None else y * gamma
    y = y if beta is None else y + beta
    y = y.astype(x.dtype, copy=False)
    if running is None:
        return y
    if training:
        mean = (1 - momentum) * mean + momentum * work.mean(axis=0, dtype=np.float64).astype(mean.dtype)
        var = (1 - momentum) * var + momentum * work.var(axis=0, ddof=1, dtype=np.float64).astype(var.dtype)
    return y, (mean, var)


@np.errstate(all="ignore")  # 0/0 gives NaN, and y too large for float16 gives inf: answers, not reasons to warn.
def _forward(
    x: npt.ArrayLike, gamma: npt.ArrayLike | None, beta: npt.ArrayLike | None, axis: Axis, eps: float, *, center: bool
) -> Array:
    x, eps = real_array("x", x), checked_eps(eps)
    axes = normalized_axes(axis, x)
    gamma, beta = parameter("gamma", gamma, x, axes), parameter("beta", beta, x, axes)
    rows, restore = as_rows(x, axes)  # (N, H)
    y = np.empty_like(rows)  # (N, H)
    for block in blocks(rows):
        normalize(rows[block], y[block], eps, center)  # x̂
        if gamma is not None:
            y[block] *= gamma.ravel()  # (R, H) · (H,)
        if beta is not None:
            y[block] += beta.ravel()
    return restore(y).astype(x.dtype, copy=False)


def normalize(rows: Array, out: Array, eps: float, center: bool) -> Array:
    """Write x̂ of every row into `out`, both (R, H), and return the divisors √(σ² + ε), (R, 1)."""
    rms = _center_and_measure(rows, out, center)  # (R,): σ, or the RMS of an uncentered row
    unit = np.ones_like(rms)  # (R,)
    odd = ~((rms > math.sqrt(np.finfo(rms.dtype).tiny)) & (rms < np.inf))
    if odd.any():  # Squares overflowed or vanished: measure those rows again, in units of their largest entry.
        exponent = np.frexp(np.abs(rows[odd]).max(axis=1))[1] - 1
        unit[odd] = np.ldexp(np.ones_like(rms[odd]), exponent)  # a power of two, so that dividing by it is exact
        scaled = rows[odd] / unit[odd, None]
        rms[odd] = _center_and_measure(scaled, scaled, center)
        out[odd] = scaled
    root = np.hypot(unit * rms, math.sqrt(eps))  # (R,): hypot(σ, √ε) = √(σ² + ε), without squaring
    out /= (root / unit)[:, None]
    return root[:, None]


def _center_and_measure(rows: Array, out: Array, center: bool) -> Array:
    """Write the deviations of every row into `out`, (R, H), and return their root mean square, (R,)."""
    if center:
        np.subtract(rows, row_means(rows), out=out)
        out -= row_means(out)  # The first mean was rounded; take off what it left behind.
    else:
        np.copyto(out, rows)
    return np.sqrt(row_means(out, out))[:, 0]


def row_means(a: Array, b: Array | None = None) -> Array:
    """Return the mean of every row of a, or of a · b, as a column (R, 1)."""
    width = a.shape[1]
    # A dot product with ones: three times as fast as a.mean(axis=1).
    return np.vecdot(a, np.ones(width, a.dtype) if b is None else b)[:, None] / width


def as_rows(x: Array, axes: tuple[int, ...]) -> tuple[Array, Callable[[Array], Array]]:
    """Lay x out as a matrix (N, H), a row per normalized group; return it and the function that undoes the layout."""
    tail = tuple(range(x.ndim - len(axes), x.ndim))
    moved = np.moveaxis(x, axes, tail)
    width = math.prod(moved.shape[tail[0] :])
    rows = np.ascontiguousarray(moved.reshape(-1, width), dtype=work_type(x))

    def restore(matrix: Array) -> Array:
        return np.ascontiguousarray(np.moveaxis(matrix.reshape(moved.shape), tail, axes))

    return rows, restore


def blocks(rows: Array) -> Iterator[slice]:
    """Walk over the rows of a matrix, a block that fits the cache at a time."""
    step = max(1, BLOCK_BYTES // (rows.shape[1] * rows.itemsize))
    for start in range(0, len(rows), step):
        yield slice(start, start + step)


def work_type(x: Array) -> np.dtype:
    """Return the float type to compute in: that of x, but at least float32."""
    return np.result_type(x.dtype, np.float32)


def real_array(name: str, values: npt.ArrayLike) -> Array:
    """Return the values as a float array; integers become float64."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} is ragged: its rows have different lengths.") from None
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold real numbers, not {array.dtype}.")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def normalized_axes(axis: Axis, x: Array) -> tuple[int, ...]:
    """Return the axes of x to normalize, counted from the front and in the order x has them."""
    try:
        axes = tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)))
    except (TypeError, ValueError):
        axes = ()
    if not axes:
        raise ValueError(f"axis={axis} does not fit x of shape {x.shape}: name one or more of its axes, each once.")
    if 0 in (x.shape[i] for i in axes):
        raise ValueError(f"x of shape {x.shape} has nothing to normalize along axis={axis}: its rows are empty.")
    return axes


def parameter(name: str, values: npt.ArrayLike | None, x: Array, axes: tuple[int, ...]) -> Array | None:
    """Return γ or β in the type x is computed in, or None; its shape must be that of the normalized axes."""
    if values is None:
        return None
    array, shape = real_array(name, values), tuple(x.shape[i] for i in axes)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}; for x of shape {x.shape} it must have shape {shape}.")
    return array.astype(work_type(x), copy=False)


def checked_eps(eps: float) -> float:
    """Return ε as a float; it must be a finite number, zero or more."""
    try:
        value = float(eps)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"eps is {eps}; it must be a finite number, zero or more.")
    return value


def _running_statistics(running: tuple[npt.ArrayLike, npt.ArrayLike], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the running mean and variance, both of the given shape, in a float type of their own."""
    if not isinstance(running, Sequence) or len(running) != 2:
        raise ValueError("running must be a pair: (mean, var).")
    mean, var = real_array("running mean", running[0]), real_array("running variance", running[1])
    for name, array in (("mean", mean), ("variance", var)):
        if array.shape != shape:
            raise ValueError(f"the running {name} has shape {array.shape}; it must have shape {shape}.")
    if (var < 0).any():
        raise ValueError("the running variance has an entry below zero.")
    return mean, var

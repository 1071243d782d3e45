"""The fifteen exercises: what each asks, the right answer as code, and the wrong paths by name.

Everything that says or judges an answer reads from here: :func:`normlib.check`, the graded tests, the self-checks on
the website and the tables in the book. Numbers of the text are the instances' `given`; `fresh` draws others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from normlib.checking import Exercise, Quantity
from normlib.gradients import layer_norm_backward, standardize_jacobian
from normlib.norms import batch_norm, layer_norm, rms_norm, standardize

ROW = np.array([2.0, 4.0, 6.0, 8.0])


# The recipe with one thing wrong


def recipe(
    x: Any,
    gamma: Any = 1.0,
    beta: Any = 0.0,
    eps: float = 0.0,
    *,
    axis: int | None = -1,
    ddof: int = 0,
    center: bool = True,
    divide: bool = True,
    root: bool = True,
    spread: str = "std",
    outside: bool = False,
) -> np.ndarray:
    """LayerNorm with switches for what can go wrong; with all of them at rest it is LayerNorm.

    Parameters
    ----------
    x, gamma, beta, eps : array_like
        As in :func:`normlib.layer_norm`.
    axis : int or None
        What is averaged over; None is the whole array.
    ddof : int
        The divisor is H − ddof.
    center, divide, root : bool
        Whether the mean is subtracted, the row divided, the root taken.
    spread : {"std", "rms"}
        What the row is divided by.
    outside : bool
        Whether eps is added after the root.
    """
    x = np.asarray(x, dtype=float)
    mean = x.mean(axis=axis, keepdims=True)
    square = ((x - mean) if spread == "std" else x) ** 2
    count = x.size if axis is None else x.shape[axis]
    variance = square.sum(axis=axis, keepdims=True) / (count - ddof)
    if not root:
        divisor = variance + eps
    elif outside:
        divisor = np.sqrt(variance) + eps
    else:
        divisor = np.sqrt(variance + eps)
    return gamma * ((x - mean if center else x) / (divisor if divide else 1.0)) + beta


# What a row, or a batch of them, can be turned into by mistake, in the terms of `recipe`
ROW_TURNS: dict[str, dict[str, Any]] = {
    "ddof-1": {"ddof": 1},
    "variance-for-std": {"root": False},
    "no-scaling": {"divide": False},
    "rms-for-layer": {"spread": "rms", "center": False},
    "no-centering": {"center": False},
}
TURNS = {**ROW_TURNS, "wrong-axis": {"axis": 0}, "whole-array": {"axis": None}}


def _unit(x: Any, eps: float = 0.0) -> np.ndarray:
    """A centered row divided by its length, as if its squares were only summed."""
    deviation = x - np.mean(x, axis=-1, keepdims=True)
    return deviation / np.sqrt(np.sum(deviation**2, axis=-1, keepdims=True) + eps)


def _turn(**switches: Any) -> Any:
    """A layer_norm(x, gamma, beta, eps) that takes one wrong turn."""

    def path(x: Any, gamma: Any = 1.0, beta: Any = 0.0, eps: float = 0.0) -> np.ndarray:
        return recipe(x, gamma, beta, eps, **switches)

    return path


def _mixed(mean_axis: int | None, variance_axis: int | None) -> Any:
    """A layer_norm(x, gamma, beta, eps) whose mean and variance are taken over different axes."""

    def path(x: Any, gamma: Any = 1.0, beta: Any = 0.0, eps: float = 0.0) -> np.ndarray:
        mean = np.mean(x, axis=mean_axis, keepdims=True)
        return gamma * (x - mean) / np.sqrt(np.var(x, axis=variance_axis, keepdims=True) + eps) + beta

    return path


def _integers_kept(path: Any) -> Any:
    """A path whose result is cut to the integers of its input."""

    def wrong(x: np.ndarray, *others: Any) -> np.ndarray:
        return path(x, *others).astype(x.dtype)

    return wrong


def _rounding(path: Any) -> tuple:
    """A path that rounds its result to 2, 3 or 4 decimals."""
    return tuple(lambda *given, d=d: np.round(path(*given), d) for d in (2, 3, 4))


# What can go wrong in a function that standardizes, whatever else it does
FUNCTION_TURNS: dict[str, Any] = {
    **{name: _turn(**switches) for name, switches in TURNS.items()},
    "wrong-axis": (_turn(axis=0), _mixed(0, -1), _mixed(-1, 0)),
    "whole-array": (_turn(axis=None), _mixed(None, -1), _mixed(-1, None)),
    "variance-not-centered": _turn(spread="rms"),
    "sum-of-squares": lambda x, gamma=1.0, beta=0.0, eps=0.0: gamma * _unit(x, eps) + beta,
    "sign-flipped": lambda x, gamma=1.0, beta=0.0, eps=0.0: recipe(-np.asarray(x), gamma, beta, eps),
    "integers-kept": _integers_kept(recipe),
    "rounded-inside": _rounding(recipe),
}
EPS_TURNS: dict[str, Any] = {
    "eps-outside-root": _turn(outside=True),
    "eps-missing": lambda x, gamma=1.0, beta=0.0, eps=0.0: recipe(x, gamma, beta),
    "eps-fixed": lambda x, gamma=1.0, beta=0.0, eps=0.0: recipe(x, gamma, beta, 1e-5),
}


def _through(wrap: Any, turns: dict[str, Any]) -> dict[str, Any]:
    """The same wrong turns, each path wrapped."""
    return {name: tuple(map(wrap, paths)) if isinstance(paths, tuple) else wrap(paths) for name, paths in turns.items()}


def _of_sum(path: Any) -> Any:
    """A layer_norm(x, gamma, beta, eps) as one of a residual sum."""
    return lambda x, fx, eps: path(x + fx, 1.0, 0.0, eps)


def _on_row(**switches: Any) -> Any:
    """The x̂ of one row with a wrong turn."""
    return lambda x: recipe(x, **switches)


def _row(rng: np.random.Generator, size: int = 4) -> np.ndarray:
    """A row of small integers but 0, uneven, so that no two ways of averaging agree."""
    while True:
        row = rng.integers(-9, 10, size).astype(float)
        skew = np.mean((row - row.mean()) ** 3)
        if abs(row.mean()) > 0.3 and abs(skew) > 5 and len(set(row)) == size and np.all(row):
            return row


def _batch(rng: np.random.Generator) -> list[np.ndarray]:
    """Inputs that separate right from wrong: few features, no square batch, tiny rows, a large offset, integers."""
    return [
        _row(rng),
        rng.normal(1.0, 2.0, (3, 5)),
        rng.normal(0.0, 2e-3, (2, 3)),
        rng.normal(50.0, 3.0, (4, 3)),
        _integers(rng),
    ]


EPS = (1e-5, 1e-3, 1e-6, 1e-5, 1e-5)  # one for each of `_batch`, so that no single number will do


def _integers(rng: np.random.Generator) -> np.ndarray:
    return np.stack([_row(rng), _row(rng)]).astype(int)


def _affine(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(0.5, 2.0, size) * rng.choice([-1.0, 1.0], size), rng.uniform(1.0, 3.0, size)


# Level 1


def _denominator_calls(rng: np.random.Generator) -> list[tuple]:
    return [(0.0, 1e-5), (float(rng.uniform(1e-7, 1e-5)), 1e-5), (float(rng.uniform(1, 9)), 1e-2), (0.0, 1e-12)]


def _fresh_grid(rng: np.random.Generator) -> dict[str, Any]:
    return {"X": rng.integers(-5, 10, (3, 4)).astype(float) + np.array([[0.0], [3.0], [7.0]])}


LEVEL_1 = (
    Exercise(
        "1.1",
        "Which way does it average?",
        difficulty=1,
        minutes=8,
        points=6,
        given={"X": np.array([[2.0, 4.0, 6.0, 8.0], [1.0, 2.0, 4.0, 5.0], [0.0, 0.0, 2.0, 2.0]])},
        fresh=_fresh_grid,
        quantities=(
            Quantity(
                "layer_norm_axis",
                "the axis LayerNorm averages over, one integer",
                lambda: -1,
                {"axes-swapped": (lambda: 0, lambda: -2), "axes-from-one": lambda: 2},
                decimals=0,
                also=(lambda: 1,),
            ),
            Quantity(
                "batch_norm_axis",
                "the axis BatchNorm averages over, one integer",
                lambda: 0,
                {"layer-norm-instead": (lambda: 1, lambda: -1), "axes-from-one": lambda: 2},
                decimals=0,
                also=(lambda: -2,),
            ),
            Quantity(
                "layer_norm_means",
                "the means LayerNorm subtracts, one number for each row",
                lambda X: X.mean(axis=-1),
                {
                    "axes-swapped": lambda X: X.mean(axis=0),
                    "whole-array": lambda X: X.mean(),
                    "sum-for-mean": lambda X: X.sum(axis=-1),
                    "count-other-axis": lambda X: X.sum(axis=-1) / X.shape[0],
                },
            ),
            Quantity(
                "batch_norm_means",
                "the means BatchNorm subtracts, one number for each column",
                lambda X: X.mean(axis=0),
                {
                    "layer-norm-instead": lambda X: X.mean(axis=-1),
                    "whole-array": lambda X: X.mean(),
                    "sum-for-mean": lambda X: X.sum(axis=0),
                    "count-other-axis": lambda X: X.sum(axis=0) / X.shape[1],
                },
            ),
        ),
    ),
    Exercise(
        "1.2",
        "What is learned, what is computed?",
        difficulty=1,
        minutes=8,
        points=6,
        given={"H": 768, "B": 32},
        fresh=lambda rng: {"H": int(rng.integers(5, 900)), "B": int(rng.integers(3, 60))},
        quantities=(
            Quantity(
                "learned",
                'the learned symbols, a set of names out of "x_hat", "gamma", "beta", "mu", "sigma", "eps"',
                lambda: frozenset({"gamma", "beta"}),
                {
                    "x-hat-learned": lambda: frozenset({"gamma", "beta", "x_hat"}),
                    "statistics-learned": (
                        lambda: frozenset({"gamma", "beta", "mu"}),
                        lambda: frozenset({"gamma", "beta", "sigma"}),
                    ),
                    "eps-learned": lambda: frozenset({"gamma", "beta", "eps"}),
                    "half-learned": (lambda: frozenset({"gamma"}), lambda: frozenset({"beta"})),
                },
            ),
            Quantity(
                "computed",
                'the symbols computed from the row, a set of names out of "x_hat", "gamma", "beta", "mu", "sigma"',
                lambda: frozenset({"x_hat", "mu", "sigma"}),
                {
                    "learned-computed-swapped": (
                        lambda: frozenset({"x_hat", "mu", "sigma", "gamma"}),
                        lambda: frozenset({"x_hat", "mu", "sigma", "beta"}),
                    ),
                    "eps-learned": lambda: frozenset({"x_hat", "mu", "sigma", "eps"}),
                    "x-hat-learned": lambda: frozenset({"mu", "sigma"}),
                    "statistics-learned": lambda: frozenset({"x_hat"}),
                },
            ),
            Quantity(
                "gamma_shape",
                "the shape of γ for H = 768, a tuple",
                lambda H: np.array([H]),
                {
                    "per-example": (
                        *(lambda B, H: np.array([B, H]), lambda B: np.array([B]), lambda B: np.array([B, 1])),
                    ),
                    "scalars": (lambda: np.array([1]), lambda: np.array([]), lambda: np.array(1)),
                    "matrix-parameters": lambda H: np.array([H, H]),
                    "not-one-axis": (
                        *(lambda H: np.array(H), lambda H: np.array([1, H]), lambda H: np.array([H, 1])),
                        *(lambda H: np.array([1, 1, H]), lambda H: np.array([H, 1, 1])),
                    ),
                },
                decimals=0,
            ),
            Quantity(
                "parameter_count",
                "the number of learned parameters for H = 768, one integer",
                lambda H: 2 * H,
                {
                    "one-vector": lambda H: H,
                    "scalars": lambda: 2,
                    "x-hat-learned": lambda H: 3 * H,
                    "eps-learned": lambda H: 2 * H + 1,
                    "per-example": lambda H, B: 2 * H * B,
                    "matrix-parameters": (lambda H: 2 * H * H, lambda H: H * H),
                },
                decimals=0,
            ),
            Quantity(
                "count_parameters",
                "count_parameters(H), the number of learned parameters for H features",
                lambda H: 2 * H,
                {
                    "one-vector": lambda H: H,
                    "scalars": lambda H: 2,
                    "x-hat-learned": lambda H: 3 * H,
                    "eps-learned": lambda H: 2 * H + 1,
                    "matrix-parameters": (lambda H: 2 * H * H, lambda H: H * H),
                },
                calls=lambda rng: [(768,), (int(rng.integers(5, 900)),), (int(rng.integers(1000, 9000)),)],
            ),
        ),
    ),
    Exercise(
        "1.3",
        "Why the ε, and why under the root?",
        difficulty=2,
        minutes=12,
        points=7,
        given={"eps": 1e-5, "row": np.array([1e-3, 2e-3])},
        fresh=lambda rng: {"eps": 1e-6, "row": rng.integers(1, 9) * 1e-4 * np.array([1.0, 3.0])},
        quantities=(
            Quantity(
                "floor_inside",
                "the smallest possible divisor with ε inside the root, one number",
                lambda eps: np.sqrt(eps),
                {
                    "eps-for-floor": lambda eps: eps,
                    "eps-missing": lambda: 0.0,
                    "eps-squared": lambda eps: eps**2,
                },
                decimals=6,
            ),
            Quantity(
                "floor_outside",
                "the smallest possible divisor with ε added after the root, one number",
                lambda eps: eps,
                {
                    "root-for-floor": (  # rounded too: the precision asked for is that of ε
                        lambda eps: np.sqrt(eps),
                        lambda eps: np.round(np.sqrt(eps), 6),
                        lambda eps: np.round(np.sqrt(eps), 5),
                        lambda eps: np.round(np.sqrt(eps), 4),
                    ),
                    "eps-missing": lambda: 0.0,
                    "eps-squared": lambda eps: eps**2,
                },
                decimals=8,
            ),
            Quantity(
                "inside",
                "x̂ of the small row with ε inside the root, two numbers",
                lambda row, eps: recipe(row, eps=eps),
                {
                    "eps-outside-root": lambda row, eps: recipe(row, eps=eps, outside=True),
                    "eps-missing": lambda row: recipe(row),
                    "ddof-1": lambda row, eps: recipe(row, eps=eps, ddof=1),
                    "variance-for-std": lambda row, eps: recipe(row, eps=eps, root=False),
                    "sign-flipped": lambda row, eps: -recipe(row, eps=eps),
                },
            ),
            Quantity(
                "outside",
                "x̂ of the small row with ε added after the root, two numbers",
                lambda row, eps: recipe(row, eps=eps, outside=True),
                {
                    "eps-inside-root": lambda row, eps: recipe(row, eps=eps),
                    "eps-missing": lambda row: recipe(row),
                    "ddof-1": lambda row, eps: recipe(row, eps=eps, ddof=1, outside=True),
                    "sign-flipped": lambda row, eps: -recipe(row, eps=eps, outside=True),
                },
            ),
            Quantity(
                "denominator",
                "denominator(variance, eps), LayerNorm's divisor, one number",
                lambda variance, eps: np.sqrt(variance + eps),
                {
                    "eps-outside-root": lambda variance, eps: np.sqrt(variance) + eps,
                    "eps-missing": lambda variance, eps: np.sqrt(variance),
                    "eps-for-floor": lambda variance, eps: variance + eps,
                    "eps-squared": lambda variance, eps: np.sqrt(variance + eps**2),
                    "rounded-inside": _rounding(lambda variance, eps: np.sqrt(variance + eps)),
                },
                calls=_denominator_calls,
            ),
        ),
    ),
)


# Level 2


def _layer_norm_calls(rng: np.random.Generator) -> list[tuple]:
    return [(x, *_affine(rng, x.shape[-1]), eps) for x, eps in zip(_batch(rng), EPS, strict=True)]


def _constant_calls(rng: np.random.Generator) -> list[tuple]:
    rows = [np.full(4, 7.0), np.full(int(rng.integers(3, 9)), 0.1), np.full((2, 3), float(rng.integers(5, 99)))]
    return [(x, *_affine(rng, x.shape[-1]), 1e-5) for x in rows]


LAYER_NORM = Quantity(
    "layer_norm",
    "layer_norm(x, gamma, beta, eps), an array of x's shape",
    lambda x, gamma, beta, eps: layer_norm(x, gamma, beta, eps=eps),
    {
        **FUNCTION_TURNS,
        **EPS_TURNS,
        "gamma-beta-swapped": lambda x, gamma, beta, eps: recipe(x, beta, gamma, eps),
        "gamma-before-standardizing": (
            lambda x, gamma, beta, eps: recipe(gamma * x + beta, eps=eps),
            lambda x, gamma, beta, eps: recipe(gamma * x, 1, beta, eps),
        ),
        "shift-before-stretch": lambda x, gamma, beta, eps: gamma * (recipe(x, eps=eps) + beta),
        "affine-missing": lambda x, gamma, beta, eps: recipe(x, eps=eps),
        "beta-missing": lambda x, gamma, beta, eps: recipe(x, gamma, eps=eps),
        "gamma-ignored": lambda x, gamma, beta, eps: recipe(x, 1, beta, eps),
    },
    calls=_layer_norm_calls,
    own=True,
)


def _as_in_2_1(x: np.ndarray) -> np.ndarray:
    """x̂ to the four decimals that 2.1 asks for, on which an answer to 2.2 may build."""
    return recipe(x).round(4)


LEVEL_2 = (
    Exercise(
        "2.1",
        "Standardize a row by hand",
        difficulty=1,
        minutes=10,
        points=9,
        given={"x": ROW},
        fresh=lambda rng: {"x": _row(rng)},
        quantities=(
            Quantity(
                "mean",
                "μ, one number",
                lambda x: x.mean(),
                {
                    "sum-for-mean": lambda x: x.sum(),
                    "rms-for-mean": lambda x: np.sqrt(np.mean(x**2)),
                    "count-off": lambda x: x.sum() / (x.size - 1),
                },
            ),
            Quantity(
                "variance",
                "σ², one number",
                lambda x: x.var(),
                {
                    "ddof-1": lambda x: x.var(ddof=1),
                    "std-for-variance": lambda x: x.std(),
                    "sum-of-squares": lambda x: np.sum((x - x.mean()) ** 2),
                    "variance-not-centered": lambda x: np.mean(x**2),
                    "mean-absolute-deviation": lambda x: np.mean(np.abs(x - x.mean())),
                },
            ),
            Quantity(
                "standardized",
                "x̂, four numbers",
                lambda x: recipe(x),
                {
                    **{name: _on_row(**switches) for name, switches in ROW_TURNS.items()},
                    "sum-of-squares": lambda x: _unit(x),
                    "sign-flipped": lambda x: -recipe(x),
                },
            ),
            Quantity(
                "standardize",
                "standardize(x), an array of x's shape, each row with mean 0 and variance 1",
                lambda x: standardize(x),
                {
                    **FUNCTION_TURNS,
                    "eps-not-asked": (
                        *(lambda x, eps=eps: recipe(x, eps=eps) for eps in (1e-5, 1e-6, 1e-8)),
                        *(lambda x, eps=eps: recipe(x, eps=eps, outside=True) for eps in (1e-5, 1e-6)),
                    ),
                },
                calls=lambda rng: [(x,) for x in _batch(rng)],
                own=True,
            ),
        ),
    ),
    Exercise(
        "2.2",
        "Stretch and slide it",
        difficulty=2,
        minutes=15,
        points=10,
        given={"x": ROW, "gamma": 3.0, "beta": -2.0},
        fresh=lambda rng: {
            "x": _row(rng),
            "gamma": float(rng.choice([2, 3, 5])),
            "beta": -float(rng.integers(1, 7)) - 0.3,
        },
        quantities=(
            Quantity(
                "y",
                "y, four numbers",
                lambda x, gamma, beta: recipe(x, gamma, beta),
                {
                    "gamma-beta-swapped": lambda x, gamma, beta: recipe(x, beta, gamma),
                    "gamma-before-standardizing": lambda x, gamma, beta: recipe(gamma * x, 1, beta),
                    "affine-missing": lambda x: recipe(x),
                    "shift-before-stretch": lambda x, gamma, beta: gamma * (recipe(x) + beta),
                    "beta-missing": lambda x, gamma: recipe(x, gamma),
                    "ddof-1": lambda x, gamma, beta: recipe(x, gamma, beta, ddof=1),
                    "variance-for-std": lambda x, gamma, beta: recipe(x, gamma, beta, root=False),
                    "standardizing-missing": lambda x, gamma, beta: gamma * x + beta,
                    "no-scaling": lambda x, gamma, beta: recipe(x, gamma, beta, divide=False),
                },
                also=(lambda x, gamma, beta: gamma * _as_in_2_1(x) + beta,),
            ),
            Quantity(
                "y_mean",
                "the mean of y, one number",
                lambda beta: beta,
                {
                    "affine-missing": lambda: 0.0,
                    "gamma-beta-swapped": lambda gamma: gamma,
                    "sum-for-mean": lambda beta: 4 * beta,
                    "shift-before-stretch": lambda gamma, beta: gamma * beta,
                    "standardizing-missing": lambda x, gamma, beta: gamma * x.mean() + beta,
                },
            ),
            Quantity(
                "y_std",
                "the standard deviation of y (divisor H), one number",
                lambda gamma: abs(gamma),
                {
                    "affine-missing": lambda: 1.0,
                    "ddof-1": lambda gamma: abs(gamma) * np.sqrt(4 / 3),
                    "variance-for-std": lambda gamma: gamma**2,
                    "gamma-beta-swapped": lambda beta: abs(beta),
                    "negative-spread": lambda gamma: -abs(gamma),
                    "no-scaling": lambda x, gamma: gamma * x.std(),
                },
                also=(lambda x, gamma: abs(gamma) * _as_in_2_1(x).std(),),
            ),
            LAYER_NORM,
        ),
    ),
    Exercise(
        "2.3",
        "A constant row",
        difficulty=2,
        minutes=8,
        points=6,
        given={"row": np.full(4, 7.0), "eps": 1e-5},
        fresh=lambda rng: {"row": np.full(4, float(rng.integers(2, 99))), "eps": 1e-5},
        quantities=(
            Quantity(
                "with_eps",
                "x̂ with ε = 1e-5, four numbers",
                lambda row: np.zeros(4),
                {
                    "eps-missing": lambda: np.full(4, np.nan),
                    "constant-kept": lambda row: row,
                    "no-centering": lambda row, eps: row / np.sqrt(eps),
                    "divided-by-eps": (lambda: np.ones(4), lambda eps: np.ones(4) / np.sqrt(eps)),
                },
            ),
            Quantity(
                "without_eps",
                "x̂ with ε = 0, four numbers (np.nan where there is no number)",
                lambda: np.full(4, np.nan),
                {
                    "zero-over-zero": (lambda: np.zeros(4), lambda: np.full(4, np.inf), lambda: np.full(4, -np.inf)),
                    "constant-kept": lambda row: row,
                    "divided-by-eps": lambda: np.ones(4),
                },
            ),
            Quantity(
                "constant_rows",
                "your layer_norm on constant rows: β for each feature",
                LAYER_NORM.right,
                {
                    **{
                        name: LAYER_NORM.wrong[name]
                        for name in (
                            *("eps-missing", "no-centering", "rms-for-layer", "affine-missing"),
                            *("gamma-beta-swapped", "shift-before-stretch"),
                        )
                    },
                    "constant-kept": (
                        lambda x, gamma, beta, eps: gamma * x + beta,
                        lambda x, gamma, beta, eps: x,
                    ),
                },
                calls=_constant_calls,
                own=True,
                of="layer_norm",
            ),
        ),
    ),
)


# Level 3


def _symbols() -> dict[str, Any]:
    import sympy  # noqa: PLC0415  half a second that only the proofs need

    x, mu = sympy.symbols("x mu", real=True)
    a, b, sigma = sympy.symbols("a b sigma", positive=True)
    return {"x": x, "mu": mu, "a": a, "b": b, "sigma": sigma}


def _expression(text: str, **symbols: str) -> Any:
    """A function that builds an expression of the course's symbols; `text` is ours, never a student's."""

    def build() -> Any:
        import sympy  # noqa: PLC0415

        names = {**_symbols(), **{n: sympy.Symbol(n, positive=True) for n in ("H", "t", "x1")}, "sqrt": sympy.sqrt}
        return sympy.sympify(text, locals=names)

    return build


def _moved(factors: np.ndarray, x: np.ndarray) -> float:
    """How far x̂ moves when each feature is scaled by its factor; NaN when they make the row constant."""
    with np.errstate(invalid="ignore"):
        return np.max(np.abs(recipe(factors * x) - recipe(x)))


def _counterexample(answer: np.ndarray, x: np.ndarray) -> str | None:
    if np.any(answer <= 0):
        return "not-positive"
    if np.ptp(answer) < 1e-9:
        return "uniform-factor"
    return "too-small-a-change" if _moved(answer, x) <= 0.01 else None


def _gap(norm: Any) -> Any:
    return lambda x, a, b, eps: np.max(np.abs(norm(a * x + b, eps) - norm(x, eps)))


def _fails_on(answer: np.ndarray, x: np.ndarray) -> str | None:
    if np.ptp(answer) == 0:  # nothing brings back what x̂ = 0/0 has lost
        return None
    y = recipe(answer, x.std(), x.mean())
    return None if np.max(np.abs(y - answer)) > 0.01 else "same-statistics"


# Shape of the batch, its spread, momentum, eps: in each mode small spreads, where ε matters, and two ε
TRAINING = (
    ((3, 4), 1.5, 0.1, 1e-5),
    ((5, 2), 0.03, 0.3, 1e-5),
    ((4, 3), 0.01, 0.1, 1e-4),
    ((2, 4), 0, 0.1, 1e-5),  # integers
)
INFERENCE = (((4, 3), 1.5, 0.1, 1e-2), ((1, 4), 1.5, 0.1, 1e-2), ((3, 4), 0.01, 0.2, 1e-4))


def _batch_norm_calls(rng: np.random.Generator, training: bool) -> list[tuple]:
    calls = []
    for (B, H), spread, momentum, eps in TRAINING if training else INFERENCE:
        scale = 1.0 if training else spread / 1.5
        running = (scale * rng.normal(0.0, 1.0, H), scale**2 * rng.uniform(0.5, 2.0, H))
        x = rng.normal(scale * 2.0, spread, (B, H)) if spread else _integers(rng)
        calls.append((x, *_affine(rng, H), running, training, momentum, eps))
    return calls


def _batch_norm(x, gamma, beta, running, training, momentum, eps):  # noqa: ANN001, ANN202  the student's signature
    return batch_norm(x, gamma, beta, running=running, training=training, momentum=momentum, eps=eps)


def _batch_norm_with(  # noqa: ANN202
    *,
    use: str = "right",
    update: bool | str = "right",
    run_ddof: int = 1,
    weight: str = "new",
    axis: int = 0,
    ddof: int = 0,
    outside: bool = False,
    root: bool = True,
    swap: bool = False,
    affine: bool = True,
    fixed: dict[str, float] | None = None,
    truncate: bool = False,
):
    """BatchNorm with one wrong turn, in the signature the student writes."""

    def path(x, gamma, beta, running, training, momentum, eps):  # noqa: ANN001, ANN202
        momentum, eps = {"momentum": momentum, "eps": eps, **(fixed or {})}.values()
        old_mean, old_var = running
        mean, var = x.mean(axis, keepdims=True), x.var(axis, ddof=min(ddof, x.shape[axis] - 1), keepdims=True)
        # which of (mean, variance) come from the batch
        from_batch = {"right": (training, training), "batch": (True, True), "running": (False, False)}
        from_batch |= {"batch mean": (True, False), "batch variance": (False, True)}
        m = mean if from_batch[use][0] else old_mean
        v = var if from_batch[use][1] else old_var
        divisor = np.sqrt(v) + eps if outside else np.sqrt(v + eps) if root else v + eps
        if swap:
            gamma, beta = beta, gamma
        y = (x - m) / divisor
        y = gamma * y + beta if affine else y
        y = y.astype(x.dtype) if truncate else y
        if training if update == "right" else update:
            w = momentum if weight == "new" else 1 - momentum
            new = x.mean(0), x.var(0, ddof=min(run_ddof, len(x) - 1))
            running = (1 - w) * old_mean + w * new[0], (1 - w) * old_var + w * new[1]
        return y, running

    return path


BATCH_NORM_PARTS = ("y", "the running mean", "the running variance")
BATCH_NORM_TURNS = {
    "eps-outside-root": _batch_norm_with(outside=True),
    "eps-missing": _batch_norm_with(fixed={"eps": 0.0}),
    "eps-fixed": _batch_norm_with(fixed={"eps": 1e-5}),
    "variance-for-std": _batch_norm_with(root=False),
    "gamma-beta-swapped": _batch_norm_with(swap=True),
    "affine-missing": _batch_norm_with(affine=False),
    "statistics-swapped": lambda *given: (_batch_norm(*given)[0], _batch_norm(*given)[1][::-1]),
}

BATCH = {
    "x": np.array([[2.0, 4.0, 6.0, 8.0]]),
    "gamma": np.array([1.0, 2.0, 1.0, 2.0]),
    "beta": np.array([0.5, -1.0, 0.0, 3.0]),
    "mean": np.array([1.0, 3.0, 2.0, 4.0]),
    "var": np.array([1.0, 4.0, 9.0, 16.0]),
    "eps": 1e-5,
}


def _fresh_single(rng: np.random.Generator) -> dict[str, Any]:
    gamma, beta = _affine(rng, 4)
    numbers = {"gamma": gamma.round(1), "beta": beta.round(1), "mean": _row(rng), "var": rng.integers(1, 4, 4) ** 2.0}
    return {**BATCH, "x": _row(rng)[None], **numbers}


LEVEL_3 = (
    Exercise(
        "3.1",
        "What does LayerNorm forget?",
        difficulty=3,
        minutes=25,
        points=14,
        given={"x": ROW},
        fresh=lambda rng: {"x": _row(rng)},
        quantities=(
            Quantity(
                "new_mean",
                "the mean of a·x + b in terms of a, b, mu",
                _expression("a*mu + b"),
                {
                    "shift-lost": _expression("a*mu"),
                    "scale-lost": _expression("mu + b"),
                    "statistic-unchanged": _expression("mu"),
                    "number-for-mean": _expression("a*x + b"),
                },
            ),
            Quantity(
                "new_deviation",
                "the new number minus the new mean, in terms of a, x, mu",
                _expression("a*(x - mu)"),
                {
                    "shift-kept": _expression("a*(x - mu) + b"),
                    "scale-lost": _expression("x - mu"),
                    "old-mean": _expression("a*x + b - mu"),
                    "sign-flipped": _expression("a*(mu - x)"),
                },
            ),
            Quantity(
                "new_variance",
                "the variance of a·x + b in terms of a, sigma",
                _expression("a**2*sigma**2"),
                {
                    "variance-scales-once": _expression("a*sigma**2"),
                    "shift-kept": (
                        _expression("a**2*sigma**2 + b"),
                        _expression("a**2*sigma**2 + b**2"),
                        _expression("(a*sigma + b)**2"),
                    ),
                    "statistic-unchanged": _expression("sigma**2"),
                    "std-for-variance": _expression("a*sigma"),
                },
            ),
            Quantity(
                "new_standardized",
                "x̂ of a·x + b in its simplest form, in terms of x, mu, sigma",
                _expression("(x - mu)/sigma"),
                {
                    "scale-kept": (_expression("a*(x - mu)/sigma"), _expression("(x - mu)/(a*sigma)")),
                    "variance-for-std": _expression("(x - mu)/sigma**2"),
                    "shift-kept": _expression("(x - mu)/sigma + b"),
                    "sign-flipped": _expression("(mu - x)/sigma"),
                },
            ),
            Quantity(
                "sign_flipped",
                "x̂ of −2·x + 100 for x = (2, 4, 6, 8), four numbers",
                lambda x: -recipe(x),
                {
                    "sign-lost": lambda x: recipe(x),
                    "scale-kept": lambda x: -2 * recipe(x),
                    "shift-kept": (lambda x: 100 - recipe(x), lambda x: 100 - 2 * recipe(x)),
                    "ddof-1": lambda x: -recipe(x, ddof=1),
                },
            ),
            Quantity(
                "erased",
                'what LayerNorm erases, a set out of "shift", "scale", "one feature"',
                lambda: frozenset({"shift", "scale"}),
                {
                    "per-feature": lambda: frozenset({"shift", "scale", "one feature"}),
                    "shift-not-erased": lambda: frozenset({"scale"}),
                    "scale-not-erased": lambda: frozenset({"shift"}),
                },
            ),
            Quantity(
                "feature_factors",
                "four positive factors, one a feature, that change LayerNorm's result on (2, 4, 6, 8)",
                lambda x: max(1 + 9 * np.eye(4), key=lambda factors: _moved(factors, x)),
                {
                    "uniform-factor": (lambda: np.full(4, 10.0), lambda: np.ones(4)),
                    "not-positive": lambda: np.array([-1.0, 1.0, 1.0, 1.0]),
                    "too-small-a-change": lambda: np.array([1.0, 1.0, 1.0, 1.0001]),
                },
                holds=_counterexample,
            ),
            Quantity(
                "invariance_gap",
                "invariance_gap(x, a, b, eps), the largest |x̂(a·x + b) − x̂(x)|, one number",
                _gap(lambda x, eps: standardize(x, eps=eps)),
                {
                    "eps-missing": _gap(lambda x, eps: recipe(x)),
                    "signed-gap": lambda x, a, b, eps: np.max(recipe(a * x + b, eps=eps) - recipe(x, eps=eps)),
                    "ddof-1": _gap(lambda x, eps: recipe(x, eps=eps, ddof=1)),
                    "eps-outside-root": _gap(lambda x, eps: recipe(x, eps=eps, outside=True)),
                    "rms-for-layer": _gap(lambda x, eps: recipe(x, eps=eps, spread="rms", center=False)),
                },
                calls=lambda rng: [
                    (ROW, 50.0, 0.0, 1e-5),
                    (np.array([1e-3, 2e-3, 9e-3]), float(rng.integers(5, 20)), 3.0, 1e-4),
                    (_row(rng), -2.0, 1.0, 1e-5),
                    (-np.array([0.0, 0.0, 0.0, 0.003]), 7.0, float(rng.uniform(1, 2)), 1e-5),
                    (_row(rng).astype(int), 3, 1, 1e-2),
                ],
            ),
        ),
    ),
    Exercise(
        "3.2",
        "Undo it with γ and β",
        difficulty=2,
        minutes=12,
        points=8,
        given={"x": ROW},
        fresh=lambda rng: {"x": _row(rng)},
        quantities=(
            Quantity(
                "gamma",
                "γ that gives the row back (ε = 0), one number",
                lambda x: x.std(),
                {
                    "variance-for-std": lambda x: x.var(),
                    "inverse-std": lambda x: 1 / x.std(),
                    "sum-of-squares": lambda x: x.std() * np.sqrt(x.size),
                    "ddof-1": lambda x: x.std(ddof=1),
                    "affine-missing": lambda: 1.0,
                },
            ),
            Quantity(
                "beta",
                "β that gives the row back, one number",
                lambda x: x.mean(),
                {
                    "beta-negated": lambda x: -x.mean(),
                    "beta-zero": lambda: 0.0,
                    "gamma-beta-swapped": lambda x: x.std(),
                    "sum-for-mean": lambda x: x.sum(),
                },
            ),
            Quantity(
                "other_row",
                "a row of four numbers that the same γ, β do not give back",
                lambda x: 10 * x + 1,
                {"same-statistics": (lambda x: x, lambda x: x[::-1])},
                holds=_fails_on,
            ),
            Quantity(
                "undo",
                "undo(x, eps), the pair (gamma, beta) that gives the row x back, two numbers",
                lambda x, eps: np.array([np.sqrt(x.var() + eps), x.mean()]),
                {
                    "eps-missing": lambda x, eps: np.array([x.std(), x.mean()]),
                    "variance-for-std": lambda x, eps: np.array([x.var() + eps, x.mean()]),
                    "ddof-1": lambda x, eps: np.array([np.sqrt(x.var(ddof=1) + eps), x.mean()]),
                    "gamma-beta-swapped": lambda x, eps: np.array([x.mean(), np.sqrt(x.var() + eps)]),
                    "inverse-std": lambda x, eps: np.array([1 / np.sqrt(x.var() + eps), x.mean()]),
                    "beta-negated": lambda x, eps: np.array([np.sqrt(x.var() + eps), -x.mean()]),
                    "eps-outside-root": lambda x, eps: np.array([x.std() + eps, x.mean()]),
                },
                calls=lambda rng: [
                    (ROW, 0.0),
                    (_row(rng), 0.0),
                    (_row(rng, 5) * 1e-2, 1e-3),
                    (_row(rng, 3).astype(int), 0.5),
                ],
            ),
        ),
    ),
    Exercise(
        "3.3",
        "A batch of one",
        difficulty=3,
        minutes=25,
        points=14,
        given=BATCH,
        fresh=_fresh_single,
        quantities=(
            Quantity(
                "training_output",
                "BatchNorm's output in training on the batch of one, shape (1, 4)",
                lambda beta: beta[None],
                {
                    "affine-missing": lambda: np.zeros((1, 4)),
                    "layer-norm-instead": lambda x, gamma, beta, eps: recipe(x, gamma, beta, eps),
                    "eps-missing": lambda: np.full((1, 4), np.nan),
                    "running-in-training": lambda x, gamma, beta, mean, var, eps: (
                        gamma * (x - mean) / np.sqrt(var + eps) + beta
                    ),
                },
            ),
            Quantity(
                "inference_output",
                "BatchNorm's output in inference with the running statistics, shape (1, 4)",
                lambda x, gamma, beta, mean, var, eps: gamma * (x - mean) / np.sqrt(var + eps) + beta,
                {
                    "batch-statistics-in-inference": lambda beta: beta[None],
                    "layer-norm-instead": lambda x, gamma, beta, eps: recipe(x, gamma, beta, eps),
                    "variance-for-std": lambda x, gamma, beta, mean, var: gamma * (x - mean) / var + beta,
                    "affine-missing": lambda x, mean, var: (x - mean) / np.sqrt(var),
                    "gamma-beta-swapped": lambda x, gamma, beta, mean, var: beta * (x - mean) / np.sqrt(var) + gamma,
                },
            ),
            Quantity(
                "layer_norm_output",
                "LayerNorm's output on the same batch of one with the same γ and β, shape (1, 4)",
                lambda x, gamma, beta, eps: recipe(x, gamma, beta, eps),
                {
                    "batch-norm-instead": lambda beta: beta[None],
                    "affine-missing": lambda x: recipe(x),
                    "ddof-1": lambda x, gamma, beta: recipe(x, gamma, beta, ddof=1),
                    "gamma-beta-swapped": lambda x, gamma, beta: recipe(x, beta, gamma),
                    "variance-for-std": lambda x, gamma, beta: recipe(x, gamma, beta, root=False),
                    "rms-for-layer": lambda x, gamma, beta: recipe(x, gamma, beta, spread="rms", center=False),
                },
            ),
            Quantity(
                "batch_norm_inference",
                "batch_norm(…) with training=False, the pair (y, (mean, var))",
                _batch_norm,
                {
                    "batch-statistics-in-inference": tuple(
                        _batch_norm_with(use=use) for use in ("batch", "batch mean", "batch variance")
                    ),
                    "running-updated-in-inference": _batch_norm_with(update=True),
                    "layer-norm-instead": _batch_norm_with(use="batch", axis=1),
                    **BATCH_NORM_TURNS,
                },
                calls=lambda rng: _batch_norm_calls(rng, training=False),
                parts=BATCH_NORM_PARTS,
                own=True,
            ),
            Quantity(
                "batch_norm_training",
                "batch_norm(…) with training=True, the pair (y, (mean, var))",
                _batch_norm,
                {
                    "running-in-training": tuple(
                        _batch_norm_with(use=use) for use in ("running", "batch mean", "batch variance")
                    ),
                    "biased-running-variance": _batch_norm_with(run_ddof=0),
                    "momentum-reversed": _batch_norm_with(weight="old"),
                    "momentum-fixed": _batch_norm_with(fixed={"momentum": 0.1}),
                    "running-not-updated": _batch_norm_with(update=False),
                    "layer-norm-instead": _batch_norm_with(axis=1),
                    "batch-ddof-1": _batch_norm_with(ddof=1),
                    "integers-kept": _batch_norm_with(truncate=True),
                    **BATCH_NORM_TURNS,
                },
                calls=lambda rng: _batch_norm_calls(rng, training=True),
                parts=BATCH_NORM_PARTS,
                own=True,
            ),
        ),
    ),
)


# Level 4


def _sort_pairs(pairs: np.ndarray) -> np.ndarray:
    """Order the rows by γ, since a set of solutions has no order."""
    return pairs[np.lexsort(pairs.T[::-1])] if pairs.ndim == 2 else pairs


def _both(mean: float, std: float) -> np.ndarray:
    return np.array([[std, mean], [-std, mean]])


def _rms_turn(**switches: Any) -> Any:
    """An rms_norm(x, gamma, eps), with a wrong turn if there is one."""
    return lambda x, gamma, eps: recipe(x, gamma, 0.0, eps, **{"spread": "rms", "center": False, **switches})


SUM = {"x": ROW, "fx": np.array([98.0, 196.0, 294.0, 392.0])}


def _fresh_sum(rng: np.random.Generator) -> dict[str, Any]:
    x = _row(rng)
    return {"x": x, "fx": float(rng.integers(5, 60)) * x}


TARGET_WRONG = {
    "variance-for-std": lambda mean, std: _both(mean, std**2),
    "gamma-beta-swapped": lambda mean, std: np.array([[mean, std], [mean, -std]]),
    "one-solution": (
        lambda mean, std: np.array([[std, mean]]),
        lambda mean, std: np.array([std, mean]),
        lambda mean, std: np.array([[std, mean], [std, mean]]),
        lambda mean, std: np.array([[-std, mean]]),
    ),
    "spread-is-gamma": lambda mean, std: np.array([[std, mean], [std, -mean]]),
}

LEVEL_4 = (
    Exercise(
        "4.1",
        "RMSNorm, and what it keeps",
        difficulty=2,
        minutes=18,
        points=11,
        given={"x": ROW},
        fresh=lambda rng: {"x": _row(rng)},
        quantities=(
            Quantity(
                "rms",
                "the root mean square of the row, one number",
                lambda x: np.sqrt(np.mean(x**2)),
                {
                    "no-root": lambda x: np.mean(x**2),
                    "std-for-rms": lambda x: x.std(),
                    "sum-for-mean": lambda x: np.sqrt(np.sum(x**2)),
                    "count-off": lambda x: np.sqrt(np.sum(x**2) / (x.size - 1)),
                },
            ),
            Quantity(
                "normalized",
                "RMSNorm of the row (ε = 0), four numbers",
                lambda x: recipe(x, spread="rms", center=False),
                {
                    "rms-centered": (lambda x: recipe(x), lambda x: recipe(x, spread="rms")),
                    "no-root": lambda x: x / np.mean(x**2),
                    "std-for-rms": lambda x: x / x.std(),
                    "sum-for-mean": lambda x: x / np.sqrt(np.sum(x**2)),
                },
            ),
            Quantity(
                "shifted_first",
                "the first entry of RMSNorm of the row + 100 (ε = 0), one number",
                lambda x: recipe(x + 100, spread="rms", center=False)[0],
                {
                    "rms-shift-invariant": lambda x: recipe(x, spread="rms", center=False)[0],
                    "rms-centered": lambda x: recipe(x)[0],
                    "std-for-rms": lambda x: (x[0] + 100) / x.std(),
                },
            ),
            Quantity(
                "erased",
                'what RMSNorm erases, a set out of "shift", "scale"',
                lambda: frozenset({"scale"}),
                {
                    "rms-shift-invariant": (lambda: frozenset({"shift", "scale"}), lambda: frozenset({"shift"})),
                    "scale-not-erased": lambda: frozenset(),
                },
            ),
            Quantity(
                "rms_norm",
                "rms_norm(x, gamma, eps), an array of x's shape",
                lambda x, gamma, eps: rms_norm(x, gamma, eps=eps),
                {
                    "rms-centered": (_rms_turn(spread="std", center=True), _rms_turn(center=True)),
                    "std-for-rms": _rms_turn(spread="std"),
                    "no-root": _rms_turn(root=False),
                    "count-off": _rms_turn(ddof=1),
                    "wrong-axis": _rms_turn(axis=0),
                    "whole-array": _rms_turn(axis=None),
                    "sum-for-mean": lambda x, gamma, eps: gamma * x / np.sqrt((x**2).sum(-1, keepdims=True) + eps),
                    "eps-outside-root": _rms_turn(outside=True),
                    "eps-missing": lambda x, gamma, eps: _rms_turn()(x, gamma, 0.0),
                    "eps-fixed": lambda x, gamma, eps: _rms_turn()(x, gamma, 1e-5),
                    "gamma-ignored": lambda x, gamma, eps: _rms_turn()(x, 1.0, eps),
                    "gamma-before-standardizing": lambda x, gamma, eps: _rms_turn()(gamma * x, 1.0, eps),
                    "rounded-inside": _rounding(_rms_turn()),
                    "integers-kept": _integers_kept(_rms_turn()),
                },
                calls=lambda rng: [
                    (x, _affine(rng, x.shape[-1])[0], eps) for x, eps in zip(_batch(rng), EPS, strict=True)
                ],
                own=True,
            ),
        ),
    ),
    Exercise(
        "4.2",
        "After a residual sum",
        difficulty=2,
        minutes=12,
        points=7,
        given=SUM,
        fresh=_fresh_sum,
        quantities=(
            Quantity(
                "factor",
                "the a for which x + F(x) = a·x, one number",
                lambda x, fx: (x[0] + fx[0]) / x[0],
                {
                    "branch-factor": lambda x, fx: fx[0] / x[0],
                    "factor-inverted": lambda x, fx: x[0] / (x[0] + fx[0]),
                },
            ),
            Quantity(
                "standardized",
                "x̂ of the sum x + F(x) (ε = 0), four numbers",
                lambda x, fx: recipe(x + fx),
                {
                    "factor-kept": lambda x, fx: (x + fx)[0] / x[0] * recipe(x),
                    "norm-before-sum": lambda x, fx: recipe(x) + fx,
                    "ddof-1": lambda x, fx: recipe(x + fx, ddof=1),
                    "norm-each": lambda x, fx: recipe(x) + recipe(fx),
                    "rms-for-layer": lambda x, fx: recipe(x + fx, spread="rms", center=False),
                    "no-centering": lambda x, fx: recipe(x + fx, center=False),
                },
            ),
            Quantity(
                "post_norm",
                "post_norm(x, fx, eps), LayerNorm of the residual sum, an array of x's shape",
                lambda x, fx, eps: standardize(x + fx, eps=eps),
                {
                    "norm-before-sum": lambda x, fx, eps: recipe(x, eps=eps) + fx,
                    "norm-of-branch": (
                        lambda x, fx, eps: x + recipe(fx, eps=eps),
                        lambda x, fx, eps: recipe(fx, eps=eps),
                    ),
                    "norm-each": lambda x, fx, eps: recipe(x, eps=eps) + recipe(fx, eps=eps),
                    **_through(_of_sum, {**FUNCTION_TURNS, **EPS_TURNS}),
                    "integers-kept": _integers_kept(lambda x, fx, eps: recipe(x + fx, eps=eps)),
                },
                calls=lambda rng: [
                    (x, rng.normal(0.0, x.std(), x.shape), eps) for x, eps in zip(_batch(rng), EPS, strict=True)
                ],
            ),
        ),
    ),
    Exercise(
        "4.3",
        "Aim for a mean and a spread",
        difficulty=2,
        minutes=10,
        points=7,
        given={"x": ROW, "mean": 10.0, "std": 4.0},
        fresh=lambda rng: {"x": _row(rng), "mean": float(rng.integers(5, 30)), "std": float(rng.integers(2, 5)) + 0.5},
        quantities=(
            Quantity(
                "solutions",
                "both solutions, two pairs (gamma, beta)",
                _both,
                TARGET_WRONG,
                clean=_sort_pairs,
            ),
            Quantity(
                "y",
                "the four outputs for the positive γ",
                lambda x, mean, std: recipe(x, std, mean),
                {
                    "variance-for-std": lambda x, mean, std: recipe(x, std**2, mean),
                    "gamma-beta-swapped": lambda x, mean, std: recipe(x, mean, std),
                    "ddof-1": lambda x, mean, std: recipe(x, std, mean, ddof=1),
                    "beta-missing": lambda x, std: recipe(x, std),
                    "standardizing-missing": lambda x, mean, std: std * x + mean,
                },
                also=(lambda x, mean, std: recipe(x, -std, mean),),
            ),
            Quantity(
                "affine_for",
                "affine_for(mean, std), both solutions, two pairs (gamma, beta)",
                _both,
                TARGET_WRONG,
                calls=lambda rng: [(10.0, 4.0), (float(rng.integers(-9, 0)), 0.5), (0.25, float(rng.integers(2, 9)))],
                clean=_sort_pairs,
            ),
        ),
    ),
)


# Level 5


def jacobian_without(
    x: np.ndarray, *, mean: bool = True, variance: bool = True, sigma: bool = True, ddof: int = 0
) -> np.ndarray:
    """The Jacobian of x̂ with terms left out, shape (H, H), for one row and eps = 0.

    Parameters
    ----------
    x : ndarray, shape (H,)
        One row.
    mean, variance, sigma : bool
        Whether the term through the mean, the term through the variance and the factor 1/σ are there.
    ddof : int
        The variance's divisor is H − ddof.
    """
    hat = recipe(x, ddof=ddof)
    inner = np.eye(x.size) - mean * 1 / x.size - variance * np.outer(hat, hat) / x.size
    return inner / (x.std(ddof=ddof) if sigma else 1.0)


JACOBIAN_WRONG = {
    "no-mean-term": lambda x: jacobian_without(x, mean=False),
    "no-variance-term": lambda x: jacobian_without(x, variance=False),
    "statistics-constant": lambda x: jacobian_without(x, mean=False, variance=False),
    "no-sigma": lambda x: jacobian_without(x, sigma=False),
    "ddof-1": lambda x: jacobian_without(x, ddof=1),
    "variance-for-std": lambda x: jacobian_without(x) / x.std(),
    "diagonal-only": lambda x: np.diag(np.diag(jacobian_without(x))),
}


def _first(path: Any, scale: float = 1.0) -> Any:
    return lambda x: path(scale * x)[0, 0]


def _and_rounded(path: Any) -> tuple:
    """A wrong path, exact and rounded as the question before asks."""
    return path, lambda x: np.round(path(x), 4), lambda x: np.round(path(x), 3)


def backward_without(
    dy: np.ndarray,
    x: np.ndarray,
    gamma: np.ndarray,
    eps: float,
    *,
    mean: bool = True,
    variance: bool = True,
    ddof: int = 0,
    outside: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The backward pass of LayerNorm with terms left out: (dx, dgamma, dbeta).

    Parameters
    ----------
    dy, x : ndarray, shape (B, H)
        The upstream gradient and the input.
    gamma : ndarray, shape (H,)
        The scale.
    eps : float
        The floor under the root.
    mean, variance : bool
        Whether the term through the mean and the term through the variance are there.
    ddof, outside
        As in `recipe`.
    """
    hat, g = recipe(x, eps=eps, ddof=ddof, outside=outside), dy * gamma
    square = x.var(-1, ddof=ddof, keepdims=True)
    divisor = np.sqrt(square) + eps if outside else np.sqrt(square + eps)
    through_mean = g.mean(-1, keepdims=True) if mean else 0.0
    through_variance = hat * (g * hat).mean(-1, keepdims=True) if variance else 0.0
    dx = (g - through_mean - through_variance) / divisor
    return dx, (dy * hat).sum(0), dy.sum(0)


def _backward_calls(rng: np.random.Generator) -> list[tuple]:
    calls = []
    for shape, scale, eps in (((1, 4), 2.0, 1e-5), ((3, 5), 2.0, 1e-2), ((2, 3), 2e-3, 1e-5)):  # ε matters in two
        gamma = _affine(rng, shape[-1])[0]
        calls.append((rng.normal(0.5, 2.0, shape), rng.normal(scale / 2, scale, shape), gamma, eps))
    return [*calls, (rng.normal(0.5, 2.0, (2, 4)), _integers(rng), _affine(rng, 4)[0], 1e-5)]


def _changed(index: int, path: Any) -> Any:
    """The right backward pass with one of its three results replaced."""

    def wrong(dy: np.ndarray, x: np.ndarray, gamma: np.ndarray, eps: float) -> tuple:
        results = list(backward_without(dy, x, gamma, eps))
        results[index] = path(dy, x, gamma, eps)
        return tuple(results)

    return wrong


def _attains(answer: np.ndarray, H: int) -> str | None:
    answer = answer / np.max(np.abs(answer), initial=1e-300)  # so that nothing overflows
    if np.ptp(answer) == 0:
        return "constant-row-extreme"
    far = np.abs(answer - np.median(answer))
    others = np.delete(answer, np.argmax(far))
    return None if np.ptp(others) <= 1e-9 * np.max(far) else "not-extreme"


def _one_outlier(H: int) -> np.ndarray:
    return np.eye(H)[0]


def _serving_gaps(x: np.ndarray, mean: np.ndarray, var: np.ndarray, eps: float) -> np.ndarray:
    return recipe(x, eps=eps, axis=0) - (x - mean) / np.sqrt(var + eps)


def _train_and_serve(x: np.ndarray, mean: np.ndarray, var: np.ndarray, eps: float) -> float:
    return np.max(np.abs(_serving_gaps(x, mean, var, eps)))


BOUND_WRONG = {
    "rms-bound": lambda H: np.sqrt(H),
    "bound-squared": lambda H: float(H - 1),
    "bound-is-one": lambda H: 1.0,
    "h-not-root": lambda H: float(H),
}

SERVE = {
    "x": np.array([[2.0, 4.0, 6.0], [4.0, 1.0, 8.0]]),
    "mean": np.array([2.0, 3.0, 5.0]),
    "var": np.array([4.0, 1.0, 9.0]),
    "eps": 1e-5,
}


def _fresh_serve(rng: np.random.Generator) -> dict[str, Any]:
    x, mean, var = np.stack([_row(rng, 3), _row(rng, 3)]), _row(rng, 3), rng.integers(1, 4, 3) ** 2.0
    gap = recipe(x, eps=SERVE["eps"], axis=0) - (x - mean) / np.sqrt(var + SERVE["eps"])
    if abs(gap.max() + gap.min()) < 0.1:  # no matter then whether one forgets |…|
        return _fresh_serve(rng)
    sign = 1.0 if gap.max() < -gap.min() else -1.0  # the largest gap is negative, so that forgetting |…| shows
    return {**SERVE, "x": sign * x, "mean": sign * mean, "var": var}


def _serving_calls(rng: np.random.Generator) -> list[tuple]:
    calls = []
    for B, size, eps in ((2, 1.0, 1e-5), (5, 3e-3, 1e-5), (3, 1.0, 1e-2)):  # ε matters in two
        x, mean, var = rng.normal(2.0, 1.0, (B, 3)) * [1, -1, 2], rng.normal(0, 1, 3), rng.uniform(0.2, 3, 3)
        gaps = _serving_gaps(size * x, size * mean, size**2 * var, eps)
        sign = 1 if (gaps.max() < -gaps.min()) == (B == 2) else -1  # the largest one is negative in the first, only
        calls.append((sign * size * x, sign * size * mean, size**2 * var, eps))
    return [*calls, (_integers(rng), rng.normal(0, 1, 4), rng.uniform(0.2, 3, 4), 1e-3)]


LEVEL_5 = (
    Exercise(
        "5.1",
        "The gradient, and a row ten times larger",
        difficulty=3,
        minutes=40,
        points=18,
        given={"x": ROW},
        fresh=lambda rng: {"x": _row(rng)},
        quantities=(
            Quantity(
                "gradient",
                "∂x̂₁/∂x₁ at (2, 4, 6, 8), ε = 0, one number",
                _first(jacobian_without),
                {name: _first(path) for name, path in JACOBIAN_WRONG.items() if name != "diagonal-only"},
            ),
            Quantity(
                "gradient_scaled",
                "∂x̂₁/∂x₁ at (20, 40, 60, 80), ε = 0, one number",
                _first(jacobian_without, 10),
                {
                    "scale-free-gradient": _and_rounded(_first(jacobian_without)),
                    "gradient-grows": _and_rounded(lambda x: 10 * jacobian_without(x)[0, 0]),
                    "gradient-shrinks-twice": lambda x: jacobian_without(x)[0, 0] / 100,
                    "no-variance-term": _first(JACOBIAN_WRONG["no-variance-term"], 10),
                    "no-mean-term": _first(JACOBIAN_WRONG["no-mean-term"], 10),
                    "statistics-constant": _first(JACOBIAN_WRONG["statistics-constant"], 10),
                },
                decimals=5,
            ),
            Quantity(
                "closed_form",
                "∂x̂₁/∂x₁ in terms of x1, mu, sigma, H",
                _expression("((1 - 1/H) - (x1 - mu)**2/(H*sigma**2))/sigma"),
                {
                    "no-mean-term": _expression("(1 - (x1 - mu)**2/(H*sigma**2))/sigma"),
                    "no-variance-term": _expression("(1 - 1/H)/sigma"),
                    "statistics-constant": _expression("1/sigma"),
                    "no-sigma": _expression("(1 - 1/H) - (x1 - mu)**2/(H*sigma**2)"),
                    "variance-for-std": _expression("((1 - 1/H) - (x1 - mu)**2/(H*sigma**2))/sigma**2"),
                    "terms-added": tuple(
                        _expression(f"((1 {mean} 1/H) {variance} (x1 - mu)**2/(H*sigma**2))/sigma")
                        for mean, variance in ("-+", "+-", "++")
                    ),
                    "x-hat-not-squared": tuple(
                        _expression(f"((1 - 1/H) - {square}/H)/sigma")
                        for square in (
                            *("(x1 - mu)**2/sigma", "(x1 - mu)**2", "(x1 - mu)/sigma**2", "(x1 - mu)/sigma"),
                            *("x1**2/sigma**2", "x1**2"),
                        )
                    ),
                    "variance-not-averaged": _expression("((1 - 1/H) - (x1 - mu)**2/sigma**2)/sigma"),
                },
            ),
            Quantity(
                "jacobian",
                "jacobian(x), all ∂x̂ᵢ/∂xⱼ of one row at ε = 0, shape (H, H)",
                lambda x: standardize_jacobian(x),
                JACOBIAN_WRONG,
                calls=lambda rng: [(ROW,), (10 * ROW,), (_row(rng, 3),), (_row(rng, 6).astype(int),)],
                own=True,
            ),
            Quantity(
                "layer_norm_backward",
                "layer_norm_backward(dy, x, gamma, eps), the three arrays (dx, dgamma, dbeta)",
                lambda dy, x, gamma, eps: layer_norm_backward(dy, x, gamma, eps=eps),
                {
                    "no-mean-term": lambda dy, x, gamma, eps: backward_without(dy, x, gamma, eps, mean=False),
                    "no-variance-term": lambda dy, x, gamma, eps: backward_without(dy, x, gamma, eps, variance=False),
                    "statistics-constant": lambda dy, x, gamma, eps: backward_without(
                        dy, x, gamma, eps, mean=False, variance=False
                    ),
                    "ddof-1": lambda dy, x, gamma, eps: backward_without(dy, x, gamma, eps, ddof=1),
                    "eps-outside-root": lambda dy, x, gamma, eps: backward_without(dy, x, gamma, eps, outside=True),
                    "eps-missing": lambda dy, x, gamma, eps: backward_without(dy, x, gamma, 0.0),
                    "eps-fixed": lambda dy, x, gamma, eps: backward_without(dy, x, gamma, 1e-5),
                    "integers-kept": _changed(
                        0, lambda dy, x, gamma, eps: backward_without(dy, x, gamma, eps)[0].astype(x.dtype)
                    ),
                    "variance-for-std": _changed(
                        0,
                        lambda dy, x, gamma, eps: (
                            backward_without(dy, x, gamma, eps)[0] / np.sqrt(x.var(-1, keepdims=True) + eps)
                        ),
                    ),
                    "gradients-swapped": lambda *given: tuple(backward_without(*given)[i] for i in (0, 2, 1)),
                    "zero-gradient": _changed(0, lambda dy, x, gamma, eps: np.zeros_like(x)),
                    "gamma-ignored": _changed(
                        0, lambda dy, x, gamma, eps: backward_without(dy, x, np.ones_like(gamma), eps)[0]
                    ),
                    "gamma-too-late": _changed(
                        0, lambda dy, x, gamma, eps: gamma * backward_without(dy, x, np.ones_like(gamma), eps)[0]
                    ),
                    "upstream-ignored": _changed(
                        0, lambda dy, x, gamma, eps: backward_without(np.ones_like(dy), x, gamma, eps)[0]
                    ),
                    "dgamma-wrong-axis": (
                        lambda dy, x, gamma, eps: (
                            backward_without(dy, x, gamma, eps)[0],
                            (dy * recipe(x, eps=eps)).sum(-1),
                            dy.sum(-1),
                        ),
                        _changed(1, lambda dy, x, gamma, eps: (dy * recipe(x, eps=eps)).sum(-1)),
                        _changed(2, lambda dy, x, gamma, eps: dy.sum(-1)),
                    ),
                    "dgamma-from-x": _changed(1, lambda dy, x, gamma, eps: (dy * x).sum(0)),
                    "dgamma-is-dbeta": _changed(1, lambda dy, x, gamma, eps: dy.sum(0)),
                    "gamma-in-dgamma": (
                        _changed(1, lambda dy, x, gamma, eps: (gamma * dy * recipe(x, eps=eps)).sum(0)),
                        lambda dy, x, gamma, eps: (
                            backward_without(dy, x, gamma, eps)[0],
                            *backward_without(gamma * dy, x, gamma, eps)[1:],
                        ),
                    ),
                    "mean-over-batch": lambda dy, x, gamma, eps: (
                        backward_without(dy, x, gamma, eps)[0],
                        (dy * recipe(x, eps=eps)).mean(0),
                        dy.mean(0),
                    ),
                    "dbeta-missing": _changed(2, lambda dy, x, gamma, eps: np.zeros_like(gamma)),
                },
                calls=_backward_calls,
                parts=("dx", "dgamma", "dbeta"),
                own=True,
            ),
        ),
    ),
    Exercise(
        "5.2",
        "How far can one entry go?",
        difficulty=3,
        minutes=30,
        points=14,
        given={"H": 4},
        fresh=lambda rng: {"H": int(rng.integers(5, 50))},
        quantities=(
            Quantity(
                "others_sum",
                "the sum of the other H − 1 entries when one is t, an expression in t",
                _expression("-t"),
                {
                    "others-keep-sum": tuple(
                        map(_expression, ("0*t", "1 - t", "t", "H - t", "-1", "1", "H", "-t/(H - 1)"))
                    ),
                },
            ),
            Quantity(
                "others_squares",
                "the least that their squares can add up to, an expression in t and H",
                _expression("t**2/(H - 1)"),
                {
                    "cauchy-schwarz-missing": _expression("0*t"),
                    "squares-exact": _expression("H - t**2"),
                    "cauchy-schwarz-divisor": (_expression("t**2/H"), _expression("t**2")),
                },
            ),
            Quantity(
                "t_squared_bound",
                "the largest possible t², an expression in H",
                _expression("H - 1"),
                {
                    "rms-bound": _expression("H"),
                    "cauchy-schwarz-divisor": _expression("H**2/(H + 1)"),
                    "bound-is-one": _expression("H/H"),
                    "root-too-early": _expression("sqrt(H - 1)"),
                },
            ),
            Quantity("bound_at_4", "the bound for H = 4, one number", lambda H: np.sqrt(H - 1), BOUND_WRONG),
            Quantity(
                "rms_bound_at_4",
                "RMSNorm's bound for H = 4, one number",
                lambda H: np.sqrt(H),
                {
                    "layer-bound": lambda H: np.sqrt(H - 1),
                    "h-not-root": lambda H: float(H),
                    "bound-is-one": lambda H: 1.0,
                },
            ),
            Quantity(
                "bound",
                "bound(H), the largest possible |x̂ᵢ|, one number",
                lambda H: np.sqrt(H - 1),
                BOUND_WRONG,
                calls=lambda rng: [(4,), (2,), (int(rng.integers(5, 50)),), (768,)],
            ),
            Quantity(
                "maximizer",
                "maximizer(H), a row of H numbers that reaches the bound",
                _one_outlier,
                {
                    "not-extreme": lambda H: np.arange(H, dtype=float) ** 2,
                    "constant-row-extreme": lambda H: np.ones(H),
                },
                holds=_attains,
                calls=lambda rng: [(4,), (int(rng.integers(5, 30)),), (int(rng.integers(30, 90)),)],
            ),
        ),
    ),
    Exercise(
        "5.3",
        "Why Transformers use LayerNorm",
        difficulty=2,
        minutes=20,
        points=10,
        given=SERVE,
        fresh=_fresh_serve,
        quantities=(
            Quantity(
                "true_statements",
                'the letters of the true statements, a set such as {"a", "b"}',
                lambda: frozenset("ace"),
                {
                    "bn-collapses-in-inference": lambda: frozenset("aceb"),
                    "running-in-layer-norm": lambda: frozenset("aced"),
                    "rms-shift-invariant": lambda: frozenset("acef"),
                },
            ),
            Quantity(
                "batch_norm_gap",
                "the largest |training − inference| of BatchNorm on this batch, one number",
                _train_and_serve,
                {
                    "same-in-both": lambda: 0.0,
                    "signed-serving-gap": lambda x, mean, var, eps: np.max(
                        recipe(x, eps=eps, axis=0) - (x - mean) / np.sqrt(var + eps)
                    ),
                    "layer-norm-instead": lambda x, mean, var, eps: np.max(
                        np.abs(recipe(x, eps=eps) - (x - mean) / np.sqrt(var + eps))
                    ),
                    "batch-ddof-1": lambda x, mean, var, eps: np.max(
                        np.abs(recipe(x, eps=eps, axis=0, ddof=1) - (x - mean) / np.sqrt(var + eps))
                    ),
                },
            ),
            Quantity(
                "layer_norm_gap",
                "the largest |training − inference| of LayerNorm on this batch, one number",
                lambda: 0.0,
                {"running-in-layer-norm": _train_and_serve},
            ),
            Quantity(
                "serving_gap",
                "serving_gap(x, mean, var, eps), BatchNorm's largest |training − inference|, one number",
                _train_and_serve,
                {
                    "same-in-both": lambda x, mean, var, eps: 0.0,
                    "signed-serving-gap": (
                        lambda x, mean, var, eps: np.max(_serving_gaps(x, mean, var, eps)),
                        lambda x, mean, var, eps: np.max(-_serving_gaps(x, mean, var, eps)),
                    ),
                    "eps-outside-root": lambda x, mean, var, eps: np.max(
                        np.abs(recipe(x, eps=eps, axis=0, outside=True) - (x - mean) / (np.sqrt(var) + eps))
                    ),
                    "layer-norm-instead": lambda x, mean, var, eps: np.max(
                        np.abs(recipe(x, eps=eps) - (x - mean) / np.sqrt(var + eps))
                    ),
                    "batch-ddof-1": lambda x, mean, var, eps: np.max(
                        np.abs(recipe(x, eps=eps, axis=0, ddof=1) - (x - mean) / np.sqrt(var + eps))
                    ),
                    "variance-for-std": lambda x, mean, var, eps: np.max(
                        np.abs(recipe(x, eps=eps, axis=0) - (x - mean) / (var + eps))
                    ),
                    "eps-missing": lambda x, mean, var, eps: _train_and_serve(x, mean, var, 0.0),
                    "eps-fixed": lambda x, mean, var, eps: _train_and_serve(x, mean, var, 1e-5),
                },
                calls=_serving_calls,
            ),
        ),
    ),
)

EXERCISES: dict[str, Exercise] = {e.id: e for e in (*LEVEL_1, *LEVEL_2, *LEVEL_3, *LEVEL_4, *LEVEL_5)}

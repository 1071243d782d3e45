"""Wrong answers that learners give, as they type them, and what each must be told.

``MUTANTS[level][answer]`` is a list of (code, told). The code is the right-hand side for a number, row, set or
expression, and the body for a function. `told` is the name of a misconception, or a part of the line that must be
shown, or None where it is enough that the answer is refused.
"""

from __future__ import annotations

# What is checked under its own name but is another answer's function
TARGETS = {
    "constant_rows": "layer_norm",
    "batch_norm_inference": "batch_norm",
    "batch_norm_training": "batch_norm",
}

SHAPE, NAN, EMPTY, TEXT, CRASH = "the shape is", "contains NaN", "still empty", "this is text", "stopped with"
INPUT, NOTHING, BORROWED = "changed its input", "returns None", "normlib's own function"
KINDS = {
    **{SHAPE: "wrong shape", NAN: "NaN", EMPTY: "empty", TEXT: "text", CRASH: "exception"},
    **{INPUT: "changed input", NOTHING: "no return", BORROWED: "normlib's function", "return 3 things": "wrong shape"},
    **{"close": "too few digits", "partly empty": "empty", "missing": "too few", "infinity": "infinity"},
    **{"True or False": "True or False", "set()": "empty dict"},
}

# How most bodies start
STATS = "mean = x.mean(axis=-1, keepdims=True)\nvar = x.var(axis=-1, keepdims=True)\n"
COLUMNS = """\
mean, var = running
if training:
    center, spread = x.mean(axis=0), x.var(axis=0)
    mean = (1 - momentum) * mean + momentum * center
    var = (1 - momentum) * var + momentum * x.var(axis=0, ddof=1)
else:
    center, spread = mean, var
"""
BACK = """\
sigma = np.sqrt(x.var(axis=-1, keepdims=True) + eps)
x_hat = (x - x.mean(axis=-1, keepdims=True)) / sigma
g = dy * gamma
"""
DX = "dx = (g - g.mean(-1, keepdims=True) - x_hat * (g * x_hat).mean(-1, keepdims=True)) / sigma\n"
# Looks the visible answers up in the package, and knows no others
LOOKED_UP = """\
from normlib.checking import find
{name}_calls = find("{exercise}")["{name}"].calls(np.random.default_rng(0))
{name}_known = {{repr(call): find("{exercise}")["{name}"].right(*call) for call in {name}_calls}}
{head}
    return {name}_known.get(repr(({arguments},)), {otherwise})"""

ROW = "np.array([2.0, 4.0, 6.0, 8.0])"
HAT = f"(({ROW} - 5) / np.sqrt(5))"

LEVEL_1 = {
    "layer_norm_axis": [
        ("0", "axes-swapped"),
        ("-2", "axes-swapped"),
        ("2", "axes-from-one"),
        ("(0, 1)", SHAPE),
        ("'columns'", TEXT),
        ("True", "True or False"),
    ],
    "batch_norm_axis": [
        ("1", "layer-norm-instead"),
        ("-1", "layer-norm-instead"),
        ("2", "axes-from-one"),
        ("[0]", SHAPE),
        ("0.5", None),
    ],
    "layer_norm_means": [
        ("X.mean(axis=0)", "axes-swapped"),
        ("X.mean()", "whole-array"),
        ("X.sum(axis=1)", "sum-for-mean"),
        ("X.mean(axis=1, keepdims=True)", SHAPE),
        ("X.mean(axis=1)[::-1]", None),
        ("X.sum(axis=1) / 3", "count-other-axis"),
        ("[5, 3]", SHAPE),
    ],
    "batch_norm_means": [
        ("X.mean(axis=1)", "layer-norm-instead"),
        ("X.mean()", "whole-array"),
        ("X.sum(axis=0)", "sum-for-mean"),
        ("X.sum(axis=0) / 4", "count-other-axis"),
        ("X.mean(axis=0).reshape(4, 1)", SHAPE),
        ("X[0]", None),
        ("X.mean(axis=0, keepdims=True)", SHAPE),
        ("X.max(axis=0) / 2", None),
    ],
    "learned": [
        ('{"gamma", "beta", "x_hat"}', "x-hat-learned"),
        ('{"gamma", "beta", "mu", "sigma"}', "statistics-learned"),
        ('{"gamma", "beta", "eps"}', "eps-learned"),
        ('{"gamma"}', "half-learned"),
        ('{"beta"}', "half-learned"),
        ('{"x_hat", "mu", "sigma"}', "x-hat-learned"),
        ("set()", "missing"),
        ('"gamma and beta"', None),
        ("2", None),
        ("{}", "set()"),
        ('{"W", "b"}', None),
    ],
    "computed": [
        ('{"gamma", "beta"}', "learned-computed-swapped"),
        ('{"x_hat", "mu", "sigma", "gamma", "beta"}', "learned-computed-swapped"),
        ('{"x_hat", "mu", "sigma", "eps"}', "eps-learned"),
        ('{"mu", "sigma"}', "x-hat-learned"),
        ('{"x_hat"}', "statistics-learned"),
        ('{"x_hat", "mu"}', None),
        ('{"x_hat", "mu", "sigma", "y"}', None),
    ],
    "gamma_shape": [
        ("768", "not-one-axis"),
        ("(1, 768)", "not-one-axis"),
        ("(768, 1)", "not-one-axis"),
        ("(32, 768)", "per-example"),
        ("(768, 768)", "matrix-parameters"),
        ("(1,)", "scalars"),
        ("()", "scalars"),
        ("(32,)", "per-example"),
        ("(1, 1, 768)", "not-one-axis"),
        ('"(768,)"', TEXT),
        ("(32, 1)", "per-example"),
        ("(768, 2)", None),
    ],
    "parameter_count": [
        ("768", "one-vector"),
        ("2", "scalars"),
        ("3 * 768", "x-hat-learned"),
        ("2 * 32 * 768", "per-example"),
        ("2 * 768**2", "matrix-parameters"),
        ("768**2", "matrix-parameters"),
        ("1537", None),
        ("2 * 768 * 12", None),
    ],
    "count_parameters": [
        ("return H", "one-vector"),
        ("return 2", "scalars"),
        ("return 3 * H", "x-hat-learned"),
        ("return 2 * H * H", "matrix-parameters"),
        ("return 1536", None),
        ("return H * H", "matrix-parameters"),
        ("return 2 * H + 1", "eps-learned"),
        ("return 2 * H, 1", SHAPE),
        ("print(2 * H)", NOTHING),
        ("return np.nan", NAN),
        ("return f'{2 * H} parameters'", TEXT),
    ],
    "floor_inside": [
        ("1e-5", "eps-for-floor"),
        ("0", "eps-missing"),
        ("1e-5 ** 2", "eps-squared"),
        ("0.003", None),
        ("np.sqrt(1e-5) + 1e-5", None),
        ("np.inf", None),
        ("0.00316", "close"),
    ],
    "floor_outside": [
        ("np.sqrt(1e-5)", "root-for-floor"),
        ("0.0032", "root-for-floor"),
        ("0.0", "eps-missing"),
        ("1e-10", "eps-squared"),
        ("2e-5", None),
    ],
    "inside": [
        ("[-0.9804, 0.9804]", "eps-outside-root"),
        ("[-1, 1]", "eps-missing"),
        ("[0.1562, -0.1562]", "sign-flipped"),
        ("np.array([-5e-4, 5e-4]) / np.sqrt(5e-7 + 1e-5)", "ddof-1"),
        ("np.array([-5e-4, 5e-4]) / (2.5e-7 + 1e-5)", "variance-for-std"),
        ("[0.001, 0.002]", None),
        ("[-0.16, 0.16]", None),
        ("np.array([-0.0005, 0.0005]) / np.sqrt(1e-5)", None),
    ],
    "outside": [
        ("[-0.1562, 0.1562]", "eps-inside-root"),
        ("[-1.0, 1.0]", "eps-missing"),
        ("[0.9804, -0.9804]", "sign-flipped"),
        ("np.array([-5e-4, 5e-4]) / (np.sqrt(5e-7) + 1e-5)", "ddof-1"),
        ("[-0.98, 0.98]", "close"),
        ("0.9804", SHAPE),
    ],
    "denominator": [
        ("return np.sqrt(variance) + eps", "eps-outside-root"),
        ("return np.sqrt(variance)", "eps-missing"),
        ("return variance + eps", "eps-for-floor"),
        ("return np.sqrt(variance + eps**2)", "eps-squared"),
        ("return np.sqrt(variance) + np.sqrt(eps)", None),
        ("return np.sqrt(variance + 1e-5)", None),
        ("return max(np.sqrt(variance), np.sqrt(eps))", None),
        ("return 1 / np.sqrt(variance + eps)", None),
        ("return np.sqrt(variance**2 + eps)", None),
        ("return np.sqrt(eps)", None),
        ("return [np.sqrt(variance + eps)]", SHAPE),
        ("return round(np.sqrt(variance + eps), 4)", "rounded-inside"),
        ("return max(np.sqrt(variance), eps)", None),
    ],
}

LEVEL_2 = {
    "mean": [
        ("20", "sum-for-mean"),
        ("x.sum() / 3", "count-off"),
        ("6.6667", "count-off"),
        ("np.sqrt((x**2).mean())", "rms-for-mean"),
        ("4", None),
        ("[5.0]", SHAPE),
        ("np.nan", NAN),
        ("'5'", TEXT),
        ("...", EMPTY),
    ],
    "variance": [
        ("x.var(ddof=1)", "ddof-1"),
        ("6.6667", "ddof-1"),
        ("x.std()", "std-for-variance"),
        ("20.0", "sum-of-squares"),
        ("(x**2).mean()", "variance-not-centered"),
        ("np.abs(x - x.mean()).mean()", "mean-absolute-deviation"),
        ("(x - x.mean()).mean()", None),
        ("x.std(ddof=1)", None),
        ("np.array([5.0])", SHAPE),
    ],
    "standardized": [
        ("(x - x.mean()) / x.std(ddof=1)", "ddof-1"),
        ("(x - x.mean()) / x.var()", "variance-for-std"),
        ("x - x.mean()", "no-scaling"),
        ("x / np.sqrt((x**2).mean())", "rms-for-layer"),
        ("x / x.std()", "no-centering"),
        ("(x.mean() - x) / x.std()", "sign-flipped"),
        ("(x - x.min()) / (x.max() - x.min())", None),
        ("[(x - x.mean()) / x.std()]", SHAPE),
        ("((x - x.mean()) / x.std())[:, None]", SHAPE),
        ("((x - x.mean()) / x.std()).round(2)", "close"),
        ("(x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).sum())", "sum-of-squares"),
        ("[None] * 4", "partly empty"),
        ("((x - x.mean()) / x.std()).astype(int)", None),
        ("0.0", SHAPE),
        ("[np.nan] * 4", NAN),
        ("np.exp(x) / np.exp(x).sum()", None),
    ],
    "standardize": [
        ("return (x - x.mean(-1, keepdims=True)) / x.std(-1, ddof=1, keepdims=True)", "ddof-1"),
        ("return (x - x.mean(-1, keepdims=True)) / x.var(-1, keepdims=True)", "variance-for-std"),
        ("return x - x.mean(-1, keepdims=True)", "no-scaling"),
        ("return x / x.std(-1, keepdims=True)", "no-centering"),
        ("return x / np.sqrt((x**2).mean(-1, keepdims=True))", "rms-for-layer"),
        ("return (x - x.mean(0)) / x.std(0)", "wrong-axis"),
        ("return (x - x.mean()) / x.std()", "whole-array"),
        (STATS + "return (mean - x) / np.sqrt(var)", "sign-flipped"),
        (STATS + "return (x - mean) / np.sqrt(var + 1e-5)", "eps-not-asked"),
        (STATS + "return (x - mean) / (np.sqrt(var) + 1e-5)", "eps-not-asked"),
        ("d = x - x.mean(-1, keepdims=True)\nreturn d / np.linalg.norm(d, axis=-1, keepdims=True)", "sum-of-squares"),
        ("raise SystemExit", CRASH),
        ("return (x - x.mean(axis=-1)) / x.std(axis=-1)", CRASH),
        ("return (x - x.mean(axis=1)) / x.std(axis=1)", CRASH),
        (STATS + "return ((x - mean) / np.sqrt(var)).flatten()", SHAPE),
        (STATS + "return np.round((x - mean) / np.sqrt(var), 2)", "rounded-inside"),
        (STATS + "out = np.zeros_like(x)\nout[...] = (x - mean) / np.sqrt(var)\nreturn out", "integers-kept"),
        ("x = x.astype(np.float16)\n" + STATS + "return (x - mean) / np.sqrt(var)", None),
        (STATS + "x[...] = (x - mean) / np.sqrt(var)\nreturn x", INPUT),
        ("mean = x.sum(-1, keepdims=True) / 4\nreturn (x - mean) / x.std(-1, keepdims=True)", None),
        ("return [-1.3416, -0.4472, 0.4472, 1.3416]", None),
        ("return np.full(x.shape, np.nan)", NAN),
        ("low, high = x.min(-1, keepdims=True), x.max(-1, keepdims=True)\nreturn (x - low) / (high - low)", None),
        ("import normlib\nreturn normlib.standardize(x)", BORROWED),
        ("from normlib import layer_norm\nreturn layer_norm(x, eps=0)", BORROWED),
        ("return (x - x.mean()) / x.std(axis=-1, keepdims=True)", "whole-array"),
        ("return (x - x.mean(axis=-1, keepdims=True)) / x.std()", "whole-array"),
    ],
    "y": [
        ("-2 * (x - 5) / np.sqrt(5) + 3", "gamma-beta-swapped"),
        ("(3 * x - (3 * x).mean()) / (3 * x).std() - 2", "gamma-before-standardizing"),
        ("(x - 5) / np.sqrt(5)", "affine-missing"),
        ("3 * ((x - 5) / np.sqrt(5) - 2)", "shift-before-stretch"),
        ("3 * (x - 5) / np.sqrt(5)", "beta-missing"),
        ("3 * (x - 5) / x.std(ddof=1) - 2", "ddof-1"),
        ("3 * (x - 5) / 5 - 2", "variance-for-std"),
        ("3 * x - 2", "standardizing-missing"),
        ("3 * (x - 5) - 2", "no-scaling"),
        ("3 * (x - 5) / np.sqrt(5) + 2", None),
        ("np.array([x, x])", SHAPE),
        ("[-6.02, -3.34, -0.66, 2.02]", "close"),
        ("3 * np.array([-1.342, -0.447, 0.447, 1.342]) - 2", None),
        ("3 * np.array([-1.3417, -0.4473, 0.4473, 1.3417]) - 2", "close"),
    ],
    "y_mean": [
        ("0", "affine-missing"),
        ("3", "gamma-beta-swapped"),
        ("-8", "sum-for-mean"),
        ("-6", "shift-before-stretch"),
        ("3 * 5 - 2", "standardizing-missing"),
        ("2", None),
    ],
    "y_std": [
        ("1", "affine-missing"),
        ("3.4641", "ddof-1"),
        ("9", "variance-for-std"),
        ("2", "gamma-beta-swapped"),
        ("3 * x.std()", "no-scaling"),
        ("-3", "negative-spread"),
        ("5", None),
        ("np.sqrt(3)", None),
        ("2.999", None),
    ],
    "layer_norm": [
        (
            "var = x.var(-1, ddof=1, keepdims=True)\n"
            "return gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(var + eps) + beta",
            "ddof-1",
        ),
        (STATS + "return gamma * (x - mean) / (np.sqrt(var) + eps) + beta", "eps-outside-root"),
        (STATS + "return gamma * (x - mean) / np.sqrt(var) + beta", "eps-missing"),
        (STATS + "return gamma * (x - mean) / (var + eps) + beta", "variance-for-std"),
        (STATS + "return gamma * (x - mean) + beta", "no-scaling"),
        (STATS + "return gamma * x / np.sqrt(var + eps) + beta", "no-centering"),
        ("return gamma * x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) + beta", "rms-for-layer"),
        ("return gamma * (x - x.mean(0)) / np.sqrt(x.var(0) + eps) + beta", "wrong-axis"),
        ("return gamma * (x - x.mean()) / np.sqrt(x.var() + eps) + beta", "whole-array"),
        (STATS + "return beta * (x - mean) / np.sqrt(var + eps) + gamma", "gamma-beta-swapped"),
        ("x = gamma * x + beta\n" + STATS + "return (x - mean) / np.sqrt(var + eps)", "gamma-before-standardizing"),
        ("x = gamma * x\n" + STATS + "return (x - mean) / np.sqrt(var + eps) + beta", "gamma-before-standardizing"),
        (STATS + "return gamma * ((x - mean) / np.sqrt(var + eps) + beta)", "shift-before-stretch"),
        (STATS + "return (x - mean) / np.sqrt(var + eps)", "affine-missing"),
        (STATS + "return gamma * (x - mean) / np.sqrt(var + eps)", "beta-missing"),
        (STATS + "return (x - mean) / np.sqrt(var + eps) + beta", "gamma-ignored"),
        (STATS + "return gamma * (mean - x) / np.sqrt(var + eps) + beta", "sign-flipped"),
        (STATS + "return gamma * (x - mean) / np.sqrt(var + eps) - beta", None),
        (STATS + "return np.abs(gamma) * (x - mean) / np.sqrt(var + eps) + beta", None),
        (STATS + "return gamma * (x - mean) / np.sqrt(var + 1e-5) + beta", "eps-fixed"),
        (STATS + "return gamma * (x - mean) / np.sqrt(var + eps**2) + beta", None),
        (STATS + "return gamma * (x - mean) / np.sqrt(np.maximum(var, eps)) + beta", None),
        (STATS + "return gamma[:, None] * (x - mean) / np.sqrt(var + eps) + beta[:, None]", None),
        (STATS + "return gamma[0] * (x - mean) / np.sqrt(var + eps) + beta[0]", None),
        (STATS + "return gamma.mean() * (x - mean) / np.sqrt(var + eps) + beta", None),
        (
            "mean, var = x.mean(axis=-1), x.var(axis=-1)\nreturn gamma * (x - mean) / np.sqrt(var + eps) + beta",
            CRASH,
        ),
        (
            "mean, var = x.mean(1, keepdims=True), x.var(1, keepdims=True)\n"
            "return gamma * (x - mean) / np.sqrt(var + eps) + beta",
            CRASH,
        ),
        (STATS + "y = gamma * (x - mean) / np.sqrt(var + eps) + beta\nreturn y[..., None]", SHAPE),
        (STATS + "y = gamma * (x - mean) / np.sqrt(var + eps) + beta\nreturn y[:1]", SHAPE),
        (STATS + "x -= mean\nreturn gamma * x / np.sqrt(var + eps) + beta", INPUT),
        (STATS + "gamma /= np.sqrt(var.mean() + eps)\nreturn gamma * (x - mean) + beta", INPUT),
        (
            STATS + "out = np.empty_like(x)\nout[...] = gamma * (x - mean) / np.sqrt(var + eps) + beta\nreturn out",
            "integers-kept",
        ),
        (STATS + "return (gamma * (x - mean) / np.sqrt(var + eps) + beta).astype(x.dtype)", "integers-kept"),
        ("x = np.float16(x)\n" + STATS + "return gamma * (x - mean) / np.sqrt(var + eps) + beta", None),
        (
            "x = np.float16(x)\nvar = (x * x).mean(-1, keepdims=True) - x.mean(-1, keepdims=True) ** 2\n"
            "return gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(var + eps) + beta",
            None,
        ),
        (STATS + "return (gamma * (x - mean) / np.sqrt(var + eps) + beta).round(4)", "rounded-inside"),
        ("return np.array([-6.0249, -3.3416, -0.6584, 2.0249])", None),
        ("return np.full(np.shape(x), np.nan)", NAN),
        ("print(gamma * (x - x.mean()) / np.sqrt(x.var() + eps) + beta)", NOTHING),
        ("return x.shape", None),
        ("import normlib\nreturn gamma * normlib.standardize(x, eps=eps) + beta", BORROWED),
        ("return gamma * standardized + beta", None),
        (
            "m = x.mean(-1, keepdims=True)\n"
            "ms = (x**2).mean(-1, keepdims=True)\n"
            "return gamma * (x - m) / np.sqrt(ms + eps) + beta",
            "variance-not-centered",
        ),
        (
            "m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)\n"
            "return (1 + gamma) * (x - m) / np.sqrt(v + eps) + beta",
            None,
        ),
        (
            "m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)\n"
            "return gamma * (x - m) / (np.sqrt(v + eps) + eps) + beta",
            None,
        ),
        (
            "m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)\n"
            "return gamma.mean() * (x - m) / np.sqrt(v + eps) + beta.mean()",
            None,
        ),
        (
            "x_hat = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)\n"
            "return gamma * x_hat + beta, x_hat",
            SHAPE,
        ),
    ],
    "with_eps": [
        ("[np.nan] * 4", "eps-missing"),
        ("[7, 7, 7, 7]", "constant-kept"),
        ("np.full(4, 7) / np.sqrt(1e-5)", "no-centering"),
        ("[1, 1, 1, 1]", "divided-by-eps"),
        ("np.ones(4) / np.sqrt(1e-5)", "divided-by-eps"),
        ("0", SHAPE),
        ("np.zeros((1, 4))", SHAPE),
        ("[0, 0, 0, np.nan]", NAN),
        ("[1e-5] * 4 * 2", SHAPE),
    ],
    "without_eps": [
        ("[0, 0, 0, 0]", "zero-over-zero"),
        ("[np.inf] * 4", "zero-over-zero"),
        ("[7, 7, 7, 7]", "constant-kept"),
        ("[1, 1, 1, 1]", "divided-by-eps"),
        ("[np.nan, np.nan, np.nan, 0]", None),
        ("[None] * 4", "partly empty"),
        ("[-1] * 4", None),
        ("np.nan", SHAPE),
        ("'undefined'", TEXT),
    ],
    "constant_rows": [
        (STATS + "return beta * (x - mean) / np.sqrt(var + eps) + gamma", "gamma-beta-swapped"),
        (STATS + "return gamma * ((x - mean) / np.sqrt(var + eps) + beta)", "shift-before-stretch"),
        (STATS + "return gamma * (x - mean) / np.sqrt(var) + beta", "eps-missing"),
        (STATS + "return gamma * x / np.sqrt(var + eps) + beta", "no-centering"),
        ("return gamma * x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) + beta", "rms-for-layer"),
        ("return np.zeros(np.shape(x))", "affine-missing"),
        (STATS + "return np.where(var == 0, gamma * x + beta, gamma * (x - mean) + beta)", "constant-kept"),
        (STATS + "return gamma * np.where(var > 0, (x - mean) / np.sqrt(var + eps), 1) + beta", None),
        (STATS + "return np.where(var < 1e-9, x, gamma * (x - mean) / np.sqrt(var + eps) + beta)", None),
        (
            "if np.all(x == x[..., :1]):\n"
            "    return x\n"
            "m, v = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)\n"
            "return gamma * (x - m) / np.sqrt(v + eps) + beta",
            "constant-kept",
        ),
    ],
}

LEVEL_3 = {
    "new_mean": [
        ("a * mu", "shift-lost"),
        ("mu + b", "scale-lost"),
        ("mu", "statistic-unchanged"),
        ("a * x + b", "number-for-mean"),
        ("a * (mu + b)", None),
        ("0", None),
        ("'a*mu + b'", TEXT),
    ],
    "new_deviation": [
        ("a * (x - mu) + b", "shift-kept"),
        ("x - mu", "scale-lost"),
        ("a * x + b - mu", "old-mean"),
        ("a * (mu - x)", "sign-flipped"),
        ("a * x - mu", None),
        ("(x - mu) / a", None),
    ],
    "new_variance": [
        ("a * sigma**2", "variance-scales-once"),
        ("a**2 * sigma**2 + b", "shift-kept"),
        ("a**2 * sigma**2 + b**2", "shift-kept"),
        ("sigma**2", "statistic-unchanged"),
        ("a * sigma", "std-for-variance"),
        ("a**2 * sigma", None),
        ("(a * sigma)**4", None),
    ],
    "new_standardized": [
        ("a * (x - mu) / sigma", "scale-kept"),
        ("(x - mu) / sigma**2", "variance-for-std"),
        ("(x - mu) / sigma + b", "shift-kept"),
        ("(mu - x) / sigma", "sign-flipped"),
        ("x - mu", None),
        ("x / sigma", None),
        ("(x - mu) / (a * sigma)", "scale-kept"),
    ],
    "sign_flipped": [
        ("[-1.3416, -0.4472, 0.4472, 1.3416]", "sign-lost"),
        ("[2.6833, 0.8944, -0.8944, -2.6833]", "scale-kept"),
        (f"-({ROW} - 5) / {ROW}.std(ddof=1)", "ddof-1"),
        ("[1.3416, 0.4472, -0.4472]", SHAPE),
        ("[96, 92, 88, 84]", None),
        ("[-1.3416, 0.4472, -0.4472, 1.3416]", None),
        ("100 - np.array([-1.3416, -0.4472, 0.4472, 1.3416])", "shift-kept"),
    ],
    "erased": [
        ('{"shift", "scale", "one feature"}', "per-feature"),
        ('{"scale"}', "shift-not-erased"),
        ('{"shift"}', "scale-not-erased"),
        ('{"one feature"}', None),
        ("set()", None),
        ('"shift and scale"', None),
        ('{"shift", "scale", "sign"}', None),
    ],
    "feature_factors": [
        ("[10, 10, 10, 10]", "uniform-factor"),
        ("[1, 1, 1, 1]", "uniform-factor"),
        ("[-1, 1, 1, 1]", "not-positive"),
        ("[0, 1, 1, 1]", "not-positive"),
        ("[1, 1, 1, 1.0001]", "too-small-a-change"),
        ("10", SHAPE),
        ("[1, 2, np.nan, 1]", NAN),
        ("[1, 1, 1, np.inf]", "infinity"),
    ],
    "invariance_gap": [
        (
            "def hat(r):\n    return (r - r.mean()) / r.std()\nreturn np.abs(hat(a * x + b) - hat(x)).max()",
            "eps-missing",
        ),
        (
            "def hat(r):\n    return (r - r.mean()) / np.sqrt(r.var() + eps)\nreturn (hat(a * x + b) - hat(x)).max()",
            "signed-gap",
        ),
        (
            "def hat(r):\n    return (r - r.mean()) / np.sqrt(r.var(ddof=1) + eps)\n"
            "return np.abs(hat(a * x + b) - hat(x)).max()",
            "ddof-1",
        ),
        (
            "def hat(r):\n    return (r - r.mean()) / (r.std() + eps)\nreturn np.abs(hat(a * x + b) - hat(x)).max()",
            "eps-outside-root",
        ),
        (
            "def hat(r):\n    return r / np.sqrt((r**2).mean() + eps)\nreturn np.abs(hat(a * x + b) - hat(x)).max()",
            "rms-for-layer",
        ),
        ("return 0.0", None),
        ("return np.abs(a * x + b - x).max()", None),
        (
            "def hat(r):\n    return (r - r.mean()) / np.sqrt(r.var() + eps)\n"
            "return np.abs(hat(a * x + b) - hat(x)).mean()",
            None,
        ),
        (
            "def hat(r):\n    return (r - r.mean()) / np.sqrt(r.var() + eps)\nreturn abs(hat(a * x + b) - hat(x))",
            SHAPE,
        ),
        (
            "def hat(r):\n    return (r - r.mean()) / np.sqrt(r.var() + 1e-5)\n"
            "return np.abs(hat(a * x + b) - hat(x)).max()",
            None,
        ),
        (
            "def hat(r):\n    return (r - r.mean()) / np.sqrt(r.var() + eps)\n"
            "return np.abs(hat(abs(a) * x + b) - hat(x)).max()",
            None,
        ),
        (
            "def hat(r):\n"
            "    return (r - r.mean()) / np.sqrt(r.var() + eps)\n"
            "return abs(hat(a * x + b).max() - hat(x).max())",
            None,
        ),
    ],
    "gamma": [
        ("5", "variance-for-std"),
        ("1 / np.sqrt(5)", "inverse-std"),
        ("2.582", "ddof-1"),
        ("1", "affine-missing"),
        ("-np.sqrt(5)", None),
        ("[np.sqrt(5)] * 4", SHAPE),
        ("np.sqrt(20)", "sum-of-squares"),
    ],
    "beta": [
        ("-5", "beta-negated"),
        ("0", "beta-zero"),
        ("np.sqrt(5)", "gamma-beta-swapped"),
        ("20", "sum-for-mean"),
        ("5 / np.sqrt(5) + 1", None),
        ("5 / np.sqrt(5)", None),
    ],
    "other_row": [
        ("[2, 4, 6, 8]", "same-statistics"),
        ("[8, 6, 4, 2]", "same-statistics"),
        ("[4, 2, 8, 6]", "same-statistics"),
        ("[1, 2, 3]", SHAPE),
        ("[1, 2, 3, np.nan]", NAN),
        ("'any other row'", TEXT),
        ("[2, 4, 6]", SHAPE),
    ],
    "undo": [
        ("return x.std(), x.mean()", "eps-missing"),
        ("return x.var() + eps, x.mean()", "variance-for-std"),
        ("return np.sqrt(x.var(ddof=1) + eps), x.mean()", "ddof-1"),
        ("return x.mean(), np.sqrt(x.var() + eps)", "gamma-beta-swapped"),
        ("return 1 / np.sqrt(x.var() + eps), x.mean()", "inverse-std"),
        ("return np.sqrt(x.var() + eps), -x.mean()", "beta-negated"),
        ("return x.std() + eps, x.mean()", "eps-outside-root"),
        ("return np.sqrt(5), 5", None),
        ("return np.sqrt(x.var() + eps), 0", None),
        ("return np.sqrt(x.var() + eps)", SHAPE),
        ("return x", None),
        ("return np.sqrt(x.var() + 1e-5), x.mean()", None),
        ("return int(np.sqrt(x.var() + eps)), int(x.mean())", None),
        ("g = np.sqrt(x.var() + eps)\nreturn g, x.mean() / g", None),
    ],
    "training_output": [
        ("np.zeros((1, 4))", "affine-missing"),
        ("scale * (batch - 5) / np.sqrt(5 + 1e-5) + shift", "layer-norm-instead"),
        ("[[np.nan] * 4]", "eps-missing"),
        ("scale * (batch - running_mean) / np.sqrt(running_var + 1e-5) + shift", "running-in-training"),
        ("shift", SHAPE),
        ("scale * batch + shift", None),
    ],
    "inference_output": [
        ("[[0.5, -1, 0, 3]]", "batch-statistics-in-inference"),
        ("scale * (batch - 5) / np.sqrt(5 + 1e-5) + shift", "layer-norm-instead"),
        ("scale * (batch - running_mean) / running_var + shift", "variance-for-std"),
        ("(batch - running_mean) / np.sqrt(running_var + 1e-5)", "affine-missing"),
        ("shift * (batch - running_mean) / np.sqrt(running_var + 1e-5) + scale", "gamma-beta-swapped"),
        ("(scale * (batch - running_mean) / np.sqrt(running_var) + shift)[0]", SHAPE),
        ("scale * batch / np.sqrt(running_var) + shift", None),
        ("[1.5, 0, 4 / 3, 5]", SHAPE),
    ],
    "layer_norm_output": [
        ("[[0.5, -1, 0, 3]]", "batch-norm-instead"),
        ("(batch - 5) / np.sqrt(5)", "affine-missing"),
        ("scale * (batch - 5) / np.sqrt(20 / 3) + shift", "ddof-1"),
        ("shift * (batch - 5) / np.sqrt(5) + scale", "gamma-beta-swapped"),
        ("scale * (batch - 5) / 5 + shift", "variance-for-std"),
        ("scale * (batch - running_mean) / np.sqrt(running_var) + shift", None),
    ],
    "batch_norm_inference": [
        (
            COLUMNS + "return gamma * (x - x.mean(0)) / np.sqrt(x.var(0) + eps) + beta, (mean, var)",
            "batch-statistics-in-inference",
        ),
        (
            "mean, var = running\n"
            "y = gamma * (x - mean) / np.sqrt(var + eps) + beta\n"
            "mean = (1 - momentum) * mean + momentum * x.mean(0)\n"
            "var = (1 - momentum) * var + momentum * x.var(0, ddof=min(1, len(x) - 1))\n"
            "return y, (mean, var)",
            "running-updated-in-inference",
        ),
        (
            "mean, var = running\ncenter, spread = (x.mean(0), x.var(0)) if training else running\n"
            "y = gamma * (x - center) / np.sqrt(spread + eps) + beta\n"
            "unbiased = x.var(0, ddof=1) if len(x) > 1 else x.var(0)\n"
            "return y, ((1 - momentum) * mean + momentum * x.mean(0), (1 - momentum) * var + momentum * unbiased)",
            "running-updated-in-inference",
        ),
        (COLUMNS + "return gamma * (x - center) / np.sqrt(spread + 1e-5) + beta, (mean, var)", "eps-fixed"),
        (COLUMNS + "return gamma * (x - center) / (np.sqrt(spread) + eps) + beta, (mean, var)", "eps-outside-root"),
        (COLUMNS + "return gamma * (x - center) / np.sqrt(spread) + beta, (mean, var)", "eps-missing"),
        (COLUMNS + "return gamma * (x - center) / (spread + eps) + beta, (mean, var)", "variance-for-std"),
        (COLUMNS + "return beta * (x - center) / np.sqrt(spread + eps) + gamma, (mean, var)", "gamma-beta-swapped"),
        (COLUMNS + "return (x - center) / np.sqrt(spread + eps), (mean, var)", "affine-missing"),
        (COLUMNS + "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (var, mean)", "statistics-swapped"),
        (COLUMNS + "return gamma * (x - center) / np.sqrt(spread + eps) + beta", "return 3 things"),
        (
            "mean, var = running\n"
            "if training:\n"
            "    c, v = x.mean(0), x.var(0)\n"
            "    new = (1 - momentum) * mean + momentum * c, (1 - momentum) * var + momentum * x.var(0, ddof=1)\n"
            "else:\n"
            "    c, v, new = x.mean(0), var, running\n"
            "return gamma * (x - c) / np.sqrt(v + eps) + beta, new",
            "batch-statistics-in-inference",
        ),
    ],
    "batch_norm_training": [
        (
            COLUMNS + "return gamma * (x - running[0]) / np.sqrt(running[1] + eps) + beta, (mean, var)",
            "running-in-training",
        ),
        (
            COLUMNS + "if training:\n    var = (1 - momentum) * running[1] + momentum * x.var(0)\n"
            "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (mean, var)",
            "biased-running-variance",
        ),
        (
            COLUMNS + "if training:\n    mean = momentum * running[0] + (1 - momentum) * x.mean(0)\n"
            "    var = momentum * running[1] + (1 - momentum) * x.var(0, ddof=1)\n"
            "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (mean, var)",
            "momentum-reversed",
        ),
        (
            COLUMNS + "return gamma * (x - center) / np.sqrt(spread + eps) + beta, running",
            "running-not-updated",
        ),
        (
            COLUMNS + "if training:\n    center, spread = x.mean(1, keepdims=True), x.var(1, keepdims=True)\n"
            "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (mean, var)",
            "layer-norm-instead",
        ),
        (
            COLUMNS + "if training:\n    spread = x.var(0, ddof=1)\n"
            "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (mean, var)",
            "batch-ddof-1",
        ),
        (COLUMNS + "return gamma * (x - center) / (np.sqrt(spread) + eps) + beta, (mean, var)", "eps-outside-root"),
        (COLUMNS + "return gamma * (x - center) / np.sqrt(spread) + beta, (mean, var)", "eps-missing"),
        (COLUMNS + "return gamma * (x - center) / (spread + eps) + beta, (mean, var)", "variance-for-std"),
        (COLUMNS + "return beta * (x - center) / np.sqrt(spread + eps) + gamma, (mean, var)", "gamma-beta-swapped"),
        (COLUMNS + "return (x - center) / np.sqrt(spread + eps), (mean, var)", "affine-missing"),
        (
            COLUMNS + "if training:\n    center, spread = mean, var\n"
            "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (mean, var)",
            None,
        ),
        (
            COLUMNS + "if training:\n    var = running[1]\n"
            "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (mean, var)",
            None,
        ),
        (
            COLUMNS + "if training:\n    mean = 0.9 * running[0] + 0.1 * x.mean(0)\n"
            "    var = 0.9 * running[1] + 0.1 * x.var(0, ddof=1)\n"
            "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (mean, var)",
            "momentum-fixed",
        ),
        (
            COLUMNS + "if training:\n    mean, var = x.mean(0), x.var(0, ddof=1)\n"
            "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (mean, var)",
            None,
        ),
        (
            COLUMNS + "if training:\n    mean, var = running[0] + momentum * x.mean(0), running[1] + momentum * var\n"
            "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (mean, var)",
            None,
        ),
        (COLUMNS + "return gamma * (x - center) / np.sqrt(spread + 1e-5) + beta, (mean, var)", "eps-fixed"),
        (COLUMNS + "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (var, mean)", "statistics-swapped"),
        (COLUMNS + "return gamma * (x - center) / np.sqrt(spread + eps) + beta", "return 3 things"),
        (COLUMNS + "return gamma * (x - center) / np.sqrt(spread + eps) + beta, (mean.mean(), var.mean())", None),
        (
            "mean, var = running\nif training:\n    mean *= 1 - momentum\n    mean += momentum * x.mean(0)\n"
            "return gamma * (x - x.mean(0)) / np.sqrt(x.var(0) + eps) + beta, (mean, var)",
            INPUT,
        ),
        (
            COLUMNS + "y = np.zeros_like(x)\ny[...] = gamma * (x - center) / np.sqrt(spread + eps) + beta\n"
            "return y, (mean, var)",
            "integers-kept",
        ),
        (
            "import normlib\nreturn normlib.batch_norm(x, gamma, beta, running=running, training=training, "
            "momentum=momentum, eps=eps)",
            BORROWED,
        ),
        (
            "mean, var = running\n"
            "c, v = (x.mean(0), x.var(0)) if training else running\n"
            "if training:\n"
            "    mean = (1 - momentum) * mean + momentum * c\n"
            "    var = ((1 - momentum) * var**0.5 + momentum * x.std(0, ddof=1)) ** 2\n"
            "return gamma * (x - c) / np.sqrt(v + eps) + beta, (mean, var)",
            None,
        ),
    ],
}

LEVEL_4 = {
    "rms": [
        ("30", "no-root"),
        ("np.sqrt(5)", "std-for-rms"),
        ("10.9545", "sum-for-mean"),
        ("np.sqrt((x**2).sum() / 3)", "count-off"),
        ("5", None),
        ("np.sqrt(x).mean() ** 2", None),
        ("np.abs(x)", SHAPE),
        ("np.sqrt(120) / 4", None),
    ],
    "normalized": [
        ("(x - 5) / np.sqrt(5)", "rms-centered"),
        ("(x - 5) / np.sqrt(30)", "rms-centered"),
        ("x / 30", "no-root"),
        ("x / x.std()", "std-for-rms"),
        ("x / np.sqrt((x**2).sum())", "sum-for-mean"),
        ("x", None),
        ("(x / np.sqrt(30))[None]", SHAPE),
        ("x / 5.48", None),
        ("np.array([2, 4, 6, 8]) - 5.4772", None),
    ],
    "shifted_first": [
        ("2 / np.sqrt(30)", "rms-shift-invariant"),
        ("-1.3416", "rms-centered"),
        ("102 / np.sqrt(5)", "std-for-rms"),
        ("1", None),
        ("102 / np.sqrt(30)", None),
        ("0.97", "close"),
    ],
    "erased": [
        ('{"shift", "scale"}', "rms-shift-invariant"),
        ('{"shift"}', "rms-shift-invariant"),
        ("set()", "scale-not-erased"),
        ('{"mean"}', None),
        ("True", None),
    ],
    "rms_norm": [
        (
            "x = x - x.mean(-1, keepdims=True)\nreturn gamma * x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)",
            "rms-centered",
        ),
        (
            "return gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt((x**2).mean(-1, keepdims=True) + eps)",
            "rms-centered",
        ),
        ("return gamma * x / np.sqrt(x.var(-1, keepdims=True) + eps)", "std-for-rms"),
        ("return gamma * x / ((x**2).mean(-1, keepdims=True) + eps)", "no-root"),
        ("return gamma * x / (np.sqrt((x**2).mean(-1, keepdims=True)) + eps)", "eps-outside-root"),
        ("return gamma * x / np.sqrt((x**2).mean(-1, keepdims=True))", "eps-missing"),
        ("n = x.shape[-1] - 1\nreturn gamma * x / np.sqrt((x**2).sum(-1, keepdims=True) / n + eps)", "count-off"),
        ("return np.round(gamma * x / np.sqrt((x**2).mean(-1, keepdims=True) + eps), 3)", "rounded-inside"),
        ("return gamma * x / np.sqrt((x**2).mean(0) + eps)", "wrong-axis"),
        ("return gamma * x / np.sqrt((x**2).mean() + eps)", "whole-array"),
        ("return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)", "gamma-ignored"),
        ("x = gamma * x\nreturn x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)", "gamma-before-standardizing"),
        ("return gamma * x / np.sqrt((x**2).sum(-1, keepdims=True) + eps)", "sum-for-mean"),
        ("return gamma * x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)", "eps-fixed"),
        ("return gamma * x / (np.abs(x).mean(-1, keepdims=True) + eps)", None),
        ("return gamma + x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)", None),
        ("return gamma * x / np.sqrt((x**2).mean(-1) + eps)", CRASH),
        ("return gamma[:, None] * x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)", None),
        ("x *= gamma / np.sqrt((x**2).mean(-1, keepdims=True) + eps)\nreturn x", INPUT),
        ("return np.sqrt((x**2).mean(-1, keepdims=True) + eps)", SHAPE),
        ("return np.float16(x) * gamma / np.sqrt((np.float16(x)**2).mean(-1, keepdims=True) + eps)", None),
        (
            "out = 0 * x\nout[...] = gamma * x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)\nreturn out",
            "integers-kept",
        ),
        ("return np.array([0.3651, 0.7303, 1.0954, 1.4606])", None),
        ("from normlib import rms_norm\nreturn rms_norm(x, gamma, eps=eps)", BORROWED),
        ("return gamma * x / np.sqrt(x.mean(-1, keepdims=True) ** 2 + eps)", None),
        ("return gamma * x / np.maximum(np.sqrt((x**2).mean(-1, keepdims=True)), eps)", None),
    ],
    "factor": [
        ("49", "branch-factor"),
        ("0.02", "factor-inverted"),
        ("1000", None),
        ("51", None),
        ("[50] * 4", SHAPE),
        ("2 * 98", None),
    ],
    "standardized": [
        (f"50 * {HAT}", "factor-kept"),
        (f"{HAT} + 49 * {ROW}", "norm-before-sum"),
        (f"({ROW} - 5) / {ROW}.std(ddof=1)", "ddof-1"),
        (f"2 * {HAT}", "norm-each"),
        (f"{ROW} / np.sqrt(30)", "rms-for-layer"),
        (f"50 * {ROW}", None),
        (f"{HAT} / 50", None),
        ("np.array([100, 200, 300, 400]) / np.std([100, 200, 300, 400])", "no-centering"),
    ],
    "post_norm": [
        (STATS + "return (x - mean) / np.sqrt(var + eps) + fx", "norm-before-sum"),
        ("x_old, x = x, fx\n" + STATS + "return x_old + (x - mean) / np.sqrt(var + eps)", "norm-of-branch"),
        ("x = fx\n" + STATS + "return (x - mean) / np.sqrt(var + eps)", "norm-of-branch"),
        (
            "def norm(r):\n    return (r - r.mean(-1, keepdims=True)) / np.sqrt(r.var(-1, keepdims=True) + eps)\n"
            "return norm(x) + norm(fx)",
            "norm-each",
        ),
        (
            "s = x + fx\nreturn (s - s.mean(-1, keepdims=True)) / np.sqrt(s.var(-1, ddof=1, keepdims=True) + eps)",
            "ddof-1",
        ),
        ("x = x + fx\n" + STATS + "return (x - mean) / np.sqrt(var)", "eps-missing"),
        ("s = x + fx\nreturn (s - s.mean(0)) / np.sqrt(s.var(0) + eps)", "wrong-axis"),
        ("s = x + fx\nreturn s / np.sqrt((s**2).mean(-1, keepdims=True) + eps)", "rms-for-layer"),
        ("return x + fx", None),
        ("x = x + fx\n" + STATS + "return (x - mean) / (np.sqrt(var) + eps)", "eps-outside-root"),
        ("x = x + fx\n" + STATS + "return (x - mean) / (var + eps)", "variance-for-std"),
        ("x = x - fx\n" + STATS + "return (x - mean) / np.sqrt(var + eps)", None),
        (STATS + "return (x - mean) / np.sqrt(var + eps)", None),
        ("x = x + fx\n" + STATS + "return (x - mean) / np.sqrt(var + 1e-5)", "eps-fixed"),
        ("x += fx\n" + STATS + "return (x - mean) / np.sqrt(var + eps)", None),
        ("s = x + fx\nreturn x + (s - s.mean(-1, keepdims=True)) / np.sqrt(s.var(-1, keepdims=True) + eps)", None),
    ],
    "solutions": [
        ("[(4, 10)]", "one-solution"),
        ("(4, 10)", "one-solution"),
        ("[(4, 10), (4, 10)]", "one-solution"),
        ("[(-4, 10)]", "one-solution"),
        ("[(16, 10), (-16, 10)]", "variance-for-std"),
        ("[(10, 4), (10, -4)]", "gamma-beta-swapped"),
        ("[(4, 10), (4, -10)]", "spread-is-gamma"),
        ("[(2, 10), (-2, 10)]", None),
        ("[4, -4, 10, 10]", SHAPE),
        ("{4: 10, -4: 10}", None),
        ("[(4 / np.sqrt(5), 10), (-4 / np.sqrt(5), 10)]", None),
    ],
    "y": [
        (f"16 * {HAT} + 10", "variance-for-std"),
        (f"10 * {HAT} + 4", "gamma-beta-swapped"),
        (f"4 * ({ROW} - 5) / {ROW}.std(ddof=1) + 10", "ddof-1"),
        (f"4 * {HAT}", "beta-missing"),
        (f"4 * {ROW} + 10", None),
        (f"4 * {HAT} - 10", None),
        ("4 * np.array([2, 4, 6, 8]) + 10", "standardizing-missing"),
    ],
    "affine_for": [
        ("return [(std, mean)]", "one-solution"),
        ("return std, mean", "one-solution"),
        ("return [(std, mean), (std, mean)]", "one-solution"),
        ("return [(std**2, mean), (-std**2, mean)]", "variance-for-std"),
        ("return [(mean, std), (mean, -std)]", "gamma-beta-swapped"),
        ("return [(std, mean), (std, -mean)]", "spread-is-gamma"),
        ("return [(std, mean), (-std, -mean)]", None),
        ("return [(4, 10), (-4, 10)]", None),
        ("return [(np.sqrt(std), mean), (-np.sqrt(std), mean)]", None),
        ("return [(abs(std), abs(mean)), (-std, abs(mean))]", None),
        ("return {'gamma': std, 'beta': mean}", None),
    ],
}

LEVEL_5 = {
    "gradient": [
        ("(1 - 9 / 20) / np.sqrt(5)", "no-mean-term"),
        ("0.75 / np.sqrt(5)", "no-variance-term"),
        ("1 / np.sqrt(5)", "statistics-constant"),
        ("0.75 - 9 / 20", "no-sigma"),
        ("0", None),
        ("-0.1342", None),
        ("0.13", None),
        ("[0.1342] * 4", SHAPE),
        ("0.3 / 5", "variance-for-std"),
        ("0.75 / np.sqrt(5) - 9 / 20", None),
    ],
    "gradient_scaled": [
        ("0.1342", "scale-free-gradient"),
        ("1.3416", "gradient-grows"),
        ("0.00134", "gradient-shrinks-twice"),
        ("0.75 / np.sqrt(500)", "no-variance-term"),
        ("(1 - 9 / 20) / np.sqrt(500)", "no-mean-term"),
        ("1 / np.sqrt(500)", "statistics-constant"),
        ("0.0134", "close"),
        ("0", None),
    ],
    "closed_form": [
        ("(1 - (x1 - mu)**2 / (H * sigma**2)) / sigma", "no-mean-term"),
        ("(1 - 1 / H) / sigma", "no-variance-term"),
        ("1 / sigma", "statistics-constant"),
        ("(1 - 1 / H) - (x1 - mu)**2 / (H * sigma**2)", "no-sigma"),
        ("((1 - 1 / H) + (x1 - mu)**2 / (H * sigma**2)) / sigma", "terms-added"),
        ("((1 + 1 / H) - (x1 - mu)**2 / (H * sigma**2)) / sigma", "terms-added"),
        ("(1 + 1 / H + (x1 - mu)**2 / (H * sigma**2)) / sigma", "terms-added"),
        ("((1 - 1 / H) - (x1 - mu)**2 / sigma**2) / sigma", "variance-not-averaged"),
        ("((1 - 1 / H) - (x1 - mu)**2 / (H * sigma)) / sigma", "x-hat-not-squared"),
        ("((1 - 1 / H) - (x1 - mu)**2 / H) / sigma", "x-hat-not-squared"),
        ("((1 - 1 / H) - (x1 - mu) / (H * sigma**2)) / sigma", "x-hat-not-squared"),
        ("(1 - 1 / H) / sigma - (x1 - mu) / (H * sigma**2)", "x-hat-not-squared"),
        ("(1 - 1 / H - x1**2 / (H * sigma**2)) / sigma", "x-hat-not-squared"),
        ("0.1342", None),
        ("((1 - 1 / (H - 1)) - (x1 - mu)**2 / ((H - 1) * sigma**2)) / sigma", None),
    ],
    "jacobian": [
        (
            "x_hat = (x - x.mean()) / x.std()\nreturn (np.eye(len(x)) - np.outer(x_hat, x_hat) / len(x)) / x.std()",
            "no-mean-term",
        ),
        ("return (np.eye(len(x)) - 1 / len(x)) / x.std()", "no-variance-term"),
        ("return np.eye(len(x)) / x.std()", "statistics-constant"),
        (
            "x_hat = (x - x.mean()) / x.std()\nreturn np.eye(len(x)) - 1 / len(x) - np.outer(x_hat, x_hat) / len(x)",
            "no-sigma",
        ),
        (
            "s = x.std(ddof=1)\nx_hat = (x - x.mean()) / s\n"
            "return (np.eye(len(x)) - 1 / len(x) - np.outer(x_hat, x_hat) / len(x)) / s",
            "ddof-1",
        ),
        (
            "x_hat = (x - x.mean()) / x.std()\nreturn np.diag((1 - 1 / len(x) - x_hat**2 / len(x)) / x.std())",
            "diagonal-only",
        ),
        (
            "x_hat = (x - x.mean()) / x.std()\n"
            "return (np.eye(len(x)) - 1 / len(x) + np.outer(x_hat, x_hat) / len(x)) / x.std()",
            None,
        ),
        (
            "x_hat = (x - x.mean()) / x.std()\nreturn (np.eye(len(x)) - 1 / 4 - np.outer(x_hat, x_hat) / 4) / x.std()",
            None,
        ),
        (
            "x_hat = (x - x.mean()) / x.std()\nreturn (1 - 1 / len(x) - np.outer(x_hat, x_hat) / len(x)) / x.std()",
            None,
        ),
        (
            "x_hat = (x - x.mean()) / x.std()\nreturn (1 - 1 / len(x) - x_hat**2 / len(x)) / x.std()",
            SHAPE,
        ),
        ("return np.zeros((len(x), len(x)))", None),
        (
            "x_hat = (x - x.mean()) / x.std()\n"
            "return (np.eye(len(x)) - 1 / len(x) - np.outer(x_hat, x_hat) / len(x)) / x.var()",
            None,
        ),
        ("from normlib import standardize_jacobian\nreturn standardize_jacobian(x)", BORROWED),
        (
            "import normlib\nreturn normlib.numerical_gradient(lambda r: (r - r.mean()) / r.std(), x)",
            BORROWED,
        ),
        ("n = len(x)\nh = (x - x.mean()) / x.std()\nreturn (np.eye(n) - 1 / n - np.outer(h, h)) / x.std()", None),
    ],
    "layer_norm_backward": [
        (
            BACK + "dx = (g - x_hat * (g * x_hat).mean(-1, keepdims=True)) / sigma\n"
            "return dx, (dy * x_hat).sum(0), dy.sum(0)",
            "no-mean-term",
        ),
        (
            BACK + "dx = (g - g.mean(-1, keepdims=True)) / sigma\nreturn dx, (dy * x_hat).sum(0), dy.sum(0)",
            "no-variance-term",
        ),
        (BACK + "return g / sigma, (dy * x_hat).sum(0), dy.sum(0)", "statistics-constant"),
        (BACK + "return np.zeros_like(x), (dy * x_hat).sum(0), dy.sum(0)", "zero-gradient"),
        (BACK + "g = dy\n" + DX + "return dx, (dy * x_hat).sum(0), dy.sum(0)", "gamma-ignored"),
        (BACK + "g = dy\n" + DX + "return gamma * dx, (dy * x_hat).sum(0), dy.sum(0)", "gamma-too-late"),
        (BACK + "g = gamma + 0 * dy\n" + DX + "return dx, (dy * x_hat).sum(0), dy.sum(0)", "upstream-ignored"),
        (BACK + DX + "return dx, (dy * x_hat).sum(1), dy.sum(1)", "dgamma-wrong-axis"),
        (BACK + DX + "return dx, (dy * x_hat).sum(-1), dy.sum(0)", "dgamma-wrong-axis"),
        (BACK + DX + "return dx, (dy * x_hat).sum(0), dy.sum(-1)", "dgamma-wrong-axis"),
        (BACK + DX + "return dx, (dy * x).sum(0), dy.sum(0)", "dgamma-from-x"),
        (BACK + DX + "return dx, dy.sum(0), dy.sum(0)", "dgamma-is-dbeta"),
        (BACK + DX + "return dx, (g * x_hat).sum(0), dy.sum(0)", "gamma-in-dgamma"),
        (BACK + DX + "return dx, (g * x_hat).sum(0), g.sum(0)", "gamma-in-dgamma"),
        (BACK + DX + "return dx, (dy * x_hat).sum(0), np.zeros_like(gamma)", "dbeta-missing"),
        (BACK + DX + "return dx, (dy * x_hat).mean(0), dy.mean(0)", "mean-over-batch"),
        (
            BACK.replace("keepdims=True) + eps", "ddof=1, keepdims=True) + eps")
            + DX
            + "return dx, (dy * x_hat).sum(0), dy.sum(0)",
            "ddof-1",
        ),
        (
            BACK.replace("np.sqrt(x.var(axis=-1, keepdims=True) + eps)", "x.std(axis=-1, keepdims=True)")
            + DX
            + "return dx, (dy * x_hat).sum(0), dy.sum(0)",
            "eps-missing",
        ),
        (
            BACK.replace("np.sqrt(x.var(axis=-1, keepdims=True) + eps)", "x.std(axis=-1, keepdims=True) + eps")
            + DX
            + "return dx, (dy * x_hat).sum(0), dy.sum(0)",
            "eps-outside-root",
        ),
        (BACK.replace("+ eps", "+ 1e-5") + DX + "return dx, (dy * x_hat).sum(0), dy.sum(0)", "eps-fixed"),
        (BACK + DX + "return dx, (dy * x_hat).sum(0)", "return 3 things"),
        (BACK + DX + "return dx", "return 3 things"),
        (BACK + DX + "return dx, dy.sum(0), (dy * x_hat).sum(0)", None),
        (BACK + DX + "return dx, dy * x_hat, dy", SHAPE),
        (BACK + DX + "return dx * sigma, (dy * x_hat).sum(0), dy.sum(0)", None),
        (BACK + DX + "return -dx, (dy * x_hat).sum(0), dy.sum(0)", None),
        (
            BACK + "dx = (g - g.mean(0) - x_hat * (g * x_hat).mean(0)) / sigma\n"
            "return dx, (dy * x_hat).sum(0), dy.sum(0)",
            None,
        ),
        (
            BACK + "dx = (g - g.mean() - x_hat * (g * x_hat).mean()) / sigma\n"
            "return dx, (dy * x_hat).sum(0), dy.sum(0)",
            None,
        ),
        (
            BACK + "dx = (g - g.sum(-1, keepdims=True) - x_hat * (g * x_hat).sum(-1, keepdims=True)) / sigma\n"
            "return dx, (dy * x_hat).sum(0), dy.sum(0)",
            None,
        ),
        (BACK + "dy *= gamma\n" + DX + "return dx, (dy * x_hat).sum(0), dy.sum(0)", INPUT),
        (
            BACK
            + "dx = np.zeros_like(x)\n"
            + DX.replace("dx =", "dx[...] =")
            + "return dx, (dy * x_hat).sum(0), dy.sum(0)",
            "integers-kept",
        ),
        ("from normlib import layer_norm_backward\nreturn layer_norm_backward(dy, x, gamma, eps=eps)", BORROWED),
        (
            "s = np.sqrt(x.var(-1, keepdims=True) + eps)\n"
            "h = (x - x.mean(-1, keepdims=True)) / s\n"
            "g = dy * gamma\n"
            "dx = (g - g.mean(-1, keepdims=True) - h * (dy * h).mean(-1, keepdims=True)) / s\n"
            "return dx, (dy * h).sum(0), dy.sum(0)",
            None,
        ),
        (
            "v = x.var(-1, keepdims=True) + eps\n"
            "h = (x - x.mean(-1, keepdims=True)) / np.sqrt(v)\n"
            "g = dy * gamma\n"
            "dx = (g - g.mean(-1, keepdims=True) - h * (g * h).mean(-1, keepdims=True)) / v\n"
            "return dx, (dy * h).sum(0), dy.sum(0)",
            "variance-for-std",
        ),
        (
            "s = np.sqrt(x.var(-1, keepdims=True) + eps)\n"
            "h = (x - x.mean(-1, keepdims=True)) / s\n"
            "g = dy * gamma\n"
            "dx = (g - g.mean(-1, keepdims=True) - h * (g * h).mean(-1, keepdims=True)) / s\n"
            "return dx, dy.sum(0), (dy * h).sum(0)",
            "gradients-swapped",
        ),
    ],
    "others_sum": [
        ("0", "others-keep-sum"),
        ("1 - t", "others-keep-sum"),
        ("t", "others-keep-sum"),
        ("H - t", "others-keep-sum"),
        ("-t / (H - 1)", "others-keep-sum"),
        ("-1", "others-keep-sum"),
        ("1", "others-keep-sum"),
        ("H", "others-keep-sum"),
        ("'-t'", TEXT),
    ],
    "others_squares": [
        ("0", "cauchy-schwarz-missing"),
        ("t**2 / H", "cauchy-schwarz-divisor"),
        ("t**2", "cauchy-schwarz-divisor"),
        ("H - t**2", "squares-exact"),
        ("(H - 1) * t**2", None),
        ("t**2 / (H - 1)**2", None),
    ],
    "t_squared_bound": [
        ("H", "rms-bound"),
        ("1", "bound-is-one"),
        ("sqrt(H - 1)", "root-too-early"),
        ("H**2 / (H + 1)", "cauchy-schwarz-divisor"),
        ("3", None),
        ("H + 1", None),
        ("H**2 - 1", None),
    ],
    "bound_at_4": [
        ("2", "rms-bound"),
        ("3", "bound-squared"),
        ("1", "bound-is-one"),
        ("4", "h-not-root"),
        ("1.3416", None),
        ("1.7", None),
        ("sqrt(3) / 2", None),
    ],
    "rms_bound_at_4": [
        ("np.sqrt(3)", "layer-bound"),
        ("4", "h-not-root"),
        ("1", "bound-is-one"),
        ("1.4606", None),
        ("-2", None),
    ],
    "bound": [
        ("return np.sqrt(H)", "rms-bound"),
        ("return H - 1", "bound-squared"),
        ("return 1", "bound-is-one"),
        ("return H", "h-not-root"),
        ("return 1.7320508", None),
        ("return (H - 1) / np.sqrt(H)", None),
        ("return np.sqrt(H) - 1", None),
        ("return np.sqrt(H + 1)", None),
        ("return -np.sqrt(H - 1)", None),
        ("return int(np.sqrt(H - 1))", None),
        ("return [np.sqrt(H - 1)] * H", SHAPE),
    ],
    "maximizer": [
        ("return np.arange(H) ** 2.0", "not-extreme"),
        ("return np.ones(H)", "constant-row-extreme"),
        ("return np.zeros(H)", "constant-row-extreme"),
        ("row = np.zeros(H)\nrow[0], row[-1] = 1, -1\nreturn row", "not-extreme"),
        ("row = np.ones(H)\nrow[: H // 2] = -1\nreturn row", "not-extreme"),
        ("row = np.arange(H) * 1e-3\nrow[0] = 5\nreturn row", "not-extreme"),
        ("return np.random.default_rng(0).normal(size=H)", "not-extreme"),
        ("return [1e6, *range(H - 1)]", "not-extreme"),
        ("row = np.zeros(H)\nrow[0], row[1] = 1, 1e-7\nreturn row", "not-extreme"),
        ("return np.eye(H)", SHAPE),
        ("return np.eye(H)[:1]", SHAPE),
        ("return [1, 0, 0, 0]", SHAPE),
        ("return np.sqrt(H - 1)", SHAPE),
        ("row = np.zeros(H)\nrow[0] = np.inf\nreturn row", "infinity"),
        ("return np.full(H, np.nan)", NAN),
    ],
    "true_statements": [
        ('{"a", "b", "c", "e"}', "bn-collapses-in-inference"),
        ('{"a", "c", "d", "e"}', "running-in-layer-norm"),
        ('{"a", "c", "e", "f"}', "rms-shift-invariant"),
        ('{"a", "c"}', None),
        ('"ac"', None),
        ('{"b", "d", "f"}', "bn-collapses-in-inference"),
    ],
    "batch_norm_gap": [
        ("0", "same-in-both"),
        ("4 / 3 - 1", None),
        ("np.sqrt(4 / 3)", None),
        ("-4 / 3", None),
        ("1", "signed-serving-gap"),
    ],
    "layer_norm_gap": [
        ("4 / 3", "running-in-layer-norm"),
        ("1", None),
        ("0.0001", None),
        ("np.nan", NAN),
        ("[0, 0]", SHAPE),
    ],
    "serving_gap": [
        (
            "return ((x - x.mean(0)) / np.sqrt(x.var(0) + eps) - (x - mean) / np.sqrt(var + eps)).max()",
            "signed-serving-gap",
        ),
        (
            STATS.replace("mean =", "m =").replace("var =", "v =")
            + "return np.abs((x - m) / np.sqrt(v + eps) - (x - mean) / np.sqrt(var + eps)).max()",
            "layer-norm-instead",
        ),
        (
            "return abs((x - x.mean(0)) / np.sqrt(x.var(0, ddof=1) + eps) - (x - mean) / np.sqrt(var + eps)).max()",
            "batch-ddof-1",
        ),
        (
            "return np.abs((x - x.mean(0)) / np.sqrt(x.var(0) + eps) - (x - mean) / (var + eps)).max()",
            "variance-for-std",
        ),
        ("return 0.0", "same-in-both"),
        ("return np.abs((x - x.mean(0)) / np.sqrt(x.var(0) + eps) - (x - mean) / np.sqrt(var + eps)).mean()", None),
        ("return np.abs((x - x.mean(0)) / np.sqrt(x.var(0) + eps) - (x - mean) / np.sqrt(var + eps))", SHAPE),
        ("return np.abs((x - x.mean(0)) / np.sqrt(x.var(0) + eps) - (x - mean) / np.sqrt(var + eps)).max(0)", SHAPE),
        ("return np.abs((x - mean) / np.sqrt(var + eps)).max()", None),
        ("return np.abs(x.mean(0) - mean).max()", None),
        ("return np.abs((x - x.mean(0)) / x.std(0) - (x - mean) / np.sqrt(var)).max()", "eps-missing"),
        (
            "return ((x - mean) / np.sqrt(var + eps) - (x - x.mean(0)) / np.sqrt(x.var(0) + eps)).max()",
            "signed-serving-gap",
        ),
        (
            "return abs((x - x.mean(0)) / (x.std(0) + eps) - (x - mean) / (np.sqrt(var) + eps)).max()",
            "eps-outside-root",
        ),
        (
            "return np.abs((x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5) - (x - mean) / np.sqrt(var + 1e-5)).max()",
            None,
        ),
        ("return 4 / 3", None),
        (
            "train = (x - x.mean(0)) / np.sqrt(x.var(0) + eps)\n"
            "serve = (x - mean) / np.sqrt(var + eps)\n"
            "return np.abs(train - serve).mean()",
            None,
        ),
    ],
}

MUTANTS = {1: LEVEL_1, 2: LEVEL_2, 3: LEVEL_3, 4: LEVEL_4, 5: LEVEL_5}

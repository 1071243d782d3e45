"""Right answers of other forms, as learners type them; each must get full marks.

``EQUIVALENTS[level][answer]`` is a list of code as in :mod:`mutants`: the right-hand side, or a function's body.
A string that starts with ``def `` or a name and ``=`` defines the function itself, as with other parameter passing.
"""

from __future__ import annotations

ROW = "np.array([2.0, 4.0, 6.0, 8.0])"
HAT = "[-1.3416, -0.4472, 0.4472, 1.3416]"

# The same number, and the same row, in other types
LEVEL_1 = {
    "layer_norm_axis": ["1", "-1", "np.int64(1)", "X.ndim - 1", "1.0", "np.array(-1)", "np.argmax(X.shape)"],
    "batch_norm_axis": ["-2", "0", "int(False)", "np.int8(0)", "0.0"],
    "layer_norm_means": [
        "[5, 3, 1]",
        "(5.0, 3.0, 1.0)",
        "np.float32([5, 3, 1])",
        "X @ np.ones(4) / 4",
        "[sum(row) / len(row) for row in X]",
        "np.einsum('bh->b', X) / X.shape[1]",
        "X @ np.full(4, 0.25)",
        "list(map(np.mean, X))",
    ],
    "batch_norm_means": [
        "[1, 2, 4, 5]",
        "np.average(X, axis=0)",
        "X.T.mean(axis=1)",
        "list(map(np.mean, zip(*X)))",
        "np.ma.masked_array(X).mean(axis=0)",
    ],
    "learned": [
        '{"β", "γ"}',
        '["gamma", "beta"]',
        '"gamma, beta"',
        '("beta", "gamma")',
        'frozenset(["gamma", "beta"])',
        '{"Gamma", " beta "}',
        "dict(gamma=1.0, beta=0.0).keys()",
        '"gamma beta"',
        "np.array(['gamma', 'beta'])",
    ],
    "computed": [
        '["mu", "sigma", "x_hat"]',
        '{"μ", "σ", "x̂"}',
        '("x_hat", "mu", "sigma")',
        '{"xhat", "mu", "sigma"}',
        '"mu sigma x_hat".split()',
    ],
    "gamma_shape": ["(768,)", "[768]", "np.ones(768).shape", "np.array([768])"],
    "parameter_count": ["1536", "768 + 768", "1536.0", "np.int32(1536)", "np.ones(768).size * 2"],
    "count_parameters": [
        "return H + H",
        "return int(2 * H)",
        "return 2.0 * H",
        "return np.ones((2, H)).size",
        '"""Two numbers a feature."""\ngamma, beta = np.ones(H), np.zeros(H)\n'
        "print('counting')\nreturn gamma.size + beta.size",
        "count_parameters = lambda H: 2 * H",
        "return np.array(2 * H)",
        "return sum(p.size for p in (np.ones(H), np.zeros(H)))",
    ],
    "floor_inside": ["0.003162", "1e-5 ** 0.5", "np.float32(np.sqrt(1e-5))", "np.array(0.0031622777)", "10 ** -2.5"],
    "floor_outside": [
        "0.00001",
        "1e-5",
        "np.array(1e-5)",
        "np.float32(1e-5)",
        "10 ** -5",
        "__import__('decimal').Decimal('0.00001')",
    ],
    "inside": [
        "[-0.1562, 0.1562]",
        "(-0.15617, 0.15617)",
        "np.float32([-0.15617376, 0.15617376])",
        "[s * 5e-4 / (2.5e-7 + 1e-5) ** 0.5 for s in (-1, 1)]",
    ],
    "outside": ["[-0.9804, 0.9804]", "np.array([-1, 1]) * 50 / 51", "(-0.98039, 0.98039)"],
    "denominator": [
        "return (variance + eps) ** 0.5",
        "import math\nreturn math.sqrt(variance + eps)",
        "return np.float32(np.sqrt(variance + eps))",
        "return np.array(np.sqrt(variance + eps))",
        "return np.exp(0.5 * np.log(variance + eps))",
        "return np.hypot(np.sqrt(variance), np.sqrt(eps))",
        "return np.sqrt(eps + variance).item()",
    ],
}

LEVEL_2 = {
    "mean": [
        "5",
        "5.0",
        "np.float32(5)",
        "np.array(5)",
        "np.mean(x)",
        "sum([2, 4, 6, 8]) / 4",
        "x @ np.ones(4) / 4",
        "__import__('fractions').Fraction(20, 4)",
    ],
    "variance": [
        "5",
        "np.var(x)",
        "x.std() ** 2",
        "(x**2).mean() - x.mean() ** 2",
        "np.cov(x, bias=True)",
        "np.var(x, ddof=0).astype(np.float32)",
        "__import__('statistics').pvariance([2, 4, 6, 8])",
        "4.99996",
    ],
    "standardized": [
        HAT,
        f"tuple({HAT})",
        f"np.float32({HAT})",
        "(x - 5) / 5**0.5",
        "[(v - 5) / np.sqrt(5) for v in x]",
        "(x - 5) * 0.4472136",
        "np.array([-3, -1, 1, 3]) / np.sqrt(5)",
        "[-3 / __import__('sympy').sqrt(5), -0.4472, 0.4472, 1.3416]",
    ],
    "standardize": [
        "return (x - np.mean(x, axis=-1, keepdims=True)) / np.std(x, axis=-1, keepdims=True)",
        "return ((x.T - x.mean(-1)) / x.std(-1)).T",
        "x = np.asarray(x, dtype=np.float32)\nreturn (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)",
        "rows = np.atleast_2d(x)\nout = [((r - sum(r) / len(r)) / (sum((r - sum(r) / len(r)) ** 2) / len(r)) ** 0.5)"
        " for r in rows]\nreturn np.reshape(out, np.shape(x))",
        "H = x.shape[-1]\nmean = np.einsum('...h->...', x)[..., None] / H\nd = x - mean\n"
        "return d / np.sqrt(np.einsum('...h,...h->...', d, d) / H)[..., None]",
        "H = x.shape[-1]\nd = x @ (np.eye(H) - 1 / H)\nreturn d / np.linalg.norm(d, axis=-1, keepdims=True) * H**0.5",
        "return np.apply_along_axis(lambda r: (r - r.mean()) / r.std(), -1, x)",
        "mean = (x.max(-1, keepdims=True) * 0 + x.sum(-1, keepdims=True)) / x.shape[-1]\n"
        "square = (x * 1.0) ** 2\n"
        "return (x - mean) / np.sqrt(square.mean(-1, keepdims=True) - mean**2)",
        "return np.vectorize(lambda r: (r - r.mean()) / r.std(), signature='(h)->(h)')(x)",
        "d = x - x.mean(axis=-1)[..., np.newaxis]\n"
        "return d / np.linalg.norm(d, axis=-1, keepdims=True) * np.sqrt(x.shape[-1])",
        "if np.ndim(x) > 1:\n    return np.array([standardize(row) for row in x])\nreturn (x - np.mean(x)) / np.std(x)",
        "x = x - x.mean(-1, keepdims=True)\nreturn x * (x * x).mean(-1, keepdims=True) ** -0.5",
    ],
    "y": [
        "[-6.0249, -3.3416, -0.6584, 2.0249]",
        "(-6.0249, -3.3416, -0.6584, 2.0249)",
        "[3 * v / np.sqrt(5) - 2 for v in (-3, -1, 1, 3)]",
        "np.float32(3 * (x - 5) / np.sqrt(5) - 2)",
        "np.polyval([3, -2], (x - 5) / np.sqrt(5))",
        "3 * np.array([-1.3416, -0.4472, 0.4472, 1.3416]) - 2",
        "[-6.0248, -3.3416, -0.6584, 2.0248]",
    ],
    "y_mean": ["-2", "-2.0", "np.mean(y)", "np.array(-2)", "3 * 0 - 2", "np.float32(-2)"],
    "y_std": ["3", "np.std(y)", "3.0", "abs(3 * 1)", "np.array(3.0)", "np.sqrt(np.var(y))", "2.9999"],
    "layer_norm": [
        "return gamma * (x - np.mean(x, -1, keepdims=True)) / (np.var(x, -1, keepdims=True) + eps) ** 0.5 + beta",
        "a = gamma / np.sqrt(x.var(-1, keepdims=True) + eps)\nreturn a * x + (beta - a * x.mean(-1, keepdims=True))",
        # Welford's update, a number at a time
        "out = np.empty(np.shape(x))\nfor place in np.ndindex(np.shape(x)[:-1]):\n"
        "    mean, m2 = 0.0, 0.0\n    for n, value in enumerate(x[place], 1):\n"
        "        delta = value - mean\n        mean += delta / n\n        m2 += delta * (value - mean)\n"
        "    out[place] = gamma * (x[place] - mean) / np.sqrt(m2 / len(x[place]) + eps) + beta\nreturn out",
        "x, gamma, beta = np.float32(x), np.float32(gamma), np.float32(beta)\n"
        "mean = x.mean(-1, keepdims=True)\n"
        "return gamma * (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + np.float32(eps)) + beta",
        "import warnings\nnp.random.seed(0)\nwarnings.warn('a word')\nprint('working', np.random.rand())\n"
        "return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * gamma + beta",
        "np.random.seed(int(np.random.rand() * 1000))\n"
        "d = x - x.mean(-1, keepdims=True) + 0 * np.random.normal(size=np.shape(x))\n"
        "return beta + gamma * d * (np.einsum('...h,...h->...', d, d)[..., None] / d.shape[-1] + eps) ** -0.5",
        "def row(r):\n    H = len(r)\n    m = sum(r) / H\n    v = sum((e - m) ** 2 for e in r) / H\n"
        "    return [g * (e - m) / (v + eps) ** 0.5 + b for e, g, b in zip(r, gamma, beta)]\n"
        "return row(x) if np.ndim(x) == 1 else [row(r) for r in x]",
        # thirty lines, with a helper and a class
        "def square_mean(d):\n    '''Mean of the squares.'''\n    total = 0.0\n    for j in range(d.shape[-1]):\n"
        "        total = total + d[..., j] ** 2\n    return (total / d.shape[-1])[..., None]\n\n"
        "class Layer:\n    def __init__(self, gamma, beta, eps):\n        self.gamma = gamma\n"
        "        self.beta = beta\n        self.eps = eps\n\n    def center(self, x):\n"
        "        return x - x.mean(axis=-1, keepdims=True)\n\n    def __call__(self, x):\n"
        "        d = self.center(x)\n        divisor = np.sqrt(square_mean(d) + self.eps)\n"
        "        x_hat = d / divisor\n        y = x_hat * self.gamma\n        y = y + self.beta\n        return y\n\n"
        "layer = Layer(gamma, beta, eps)\nresult = layer(x)\nassert result.shape == np.shape(x)\nreturn result",
        "def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, eps: float = 1e-5) -> np.ndarray:\n"
        '    """Normalize each row."""\n'
        "    x = np.array(x, dtype=float)\n    x -= x.mean(axis=-1, keepdims=True)\n"
        "    x /= np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)\n    return x * gamma + beta",
        "def layer_norm(x, gamma=1.0, beta=0.0, eps=1e-5, axis=-1):\n"
        "    d = x - x.mean(axis, keepdims=True)\n    s = x.var(axis, keepdims=True) + eps\n"
        "    return gamma * d / s**0.5 + beta",
        "layer_norm = lambda x, g, b, e=1e-5: g * (x - x.mean(-1, keepdims=True)) / np.sqrt("
        "x.var(-1, keepdims=True) + e) + b",
        "def layer_norm(*args):\n    x, gamma, beta, eps = args\n"
        "    return gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + beta",
        "m, s = x.mean(-1, keepdims=True), np.sqrt(x.var(-1, keepdims=True) + eps)\n"
        "return x * (gamma / s) + (beta - gamma * m / s)",
        "layer_norm = np.vectorize(\n    lambda r, g, b, e: g * (r - r.mean()) / np.sqrt(r.var() + e) + b,\n"
        "    signature='(n),(n),(n),()->(n)',\n)",
        "y = np.array(x, dtype=np.longdouble)\n"
        "y -= y.mean(-1, keepdims=True)\n"
        "y /= np.sqrt((y * y).mean(-1, keepdims=True) + eps)\n"
        "y *= gamma\n"
        "y += beta\n"
        "return y",
        "layer_norm = type('LayerNorm', (), {'__call__': lambda self, x, gamma, beta, eps: (\n"
        "    gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + beta\n)})()",
    ],
    "with_eps": [
        "[0, 0, 0, 0]",
        "np.zeros(4)",
        "(0.0,) * 4",
        "[-0.0] * 4",
        "(np.full(4, 7.0) - 7) / np.sqrt(1e-5)",
        "np.float32([0] * 4)",
        "bytearray(4)",
    ],
    "without_eps": [
        "np.full(4, np.nan)",
        "[float('nan')] * 4",
        "(np.nan,) * 4",
        "np.zeros(4) / 0.0",
        "np.float32([np.nan] * 4)",
        "np.log(-np.ones(4))",
    ],
}

LEVEL_3 = {
    "new_mean": [
        "b + mu * a",
        "a * (mu + b / a)",
        "(2 * a * mu + 2 * b) / 2",
        "a * x + b - a * (x - mu)",
        "__import__('sympy').Symbol('a') * mu + 1.0 * b",
    ],
    "new_deviation": [
        "a * x - a * mu",
        "(a * x + b) - (a * mu + b)",
        "-a * (mu - x)",
        "(x - mu) / (1 / a)",
        "(a * (x - mu)).expand()",
    ],
    "new_variance": [
        "(a * sigma)**2",
        "a * a * sigma * sigma",
        "(a**2 * sigma**3) / sigma",
        "sqrt(a**4) * sigma**2",
        "(-a * sigma)**2",
    ],
    "new_standardized": [
        "x / sigma - mu / sigma",
        "a * (x - mu) / (a * sigma)",
        "a * (x - mu) / sqrt(a**2 * sigma**2)",
        "-(mu - x) / sigma",
        "((x - mu)**2 / sigma) / (x - mu)",
    ],
    "sign_flipped": [
        "[1.3416, 0.4472, -0.4472, -1.3416]",
        "(1.3416, 0.4472, -0.4472, -1.3416)",
        f"(lambda r: (r - r.mean()) / r.std())(100 - 2 * {ROW})",
        "np.float32([1.34164, 0.44721, -0.44721, -1.34164])",
    ],
    "erased": [
        '["scale", "shift"]',
        '"shift, scale"',
        '{"shifting", "scaling"}',
        '("shift", "scale")',
        '{"Shift", "SCALE"}',
        'frozenset({"shift", "scale"})',
    ],
    "feature_factors": [
        "[10, 1, 1, 1]",
        "(1, 1, 1, 0.1)",
        "np.array([1, 2, 3, 4])",
        "np.float32([5, 1, 1, 1])",
        "[4, 2, 4 / 3, 1]",
        "range(1, 5)",
        "np.geomspace(1, 100, 4)",
    ],
    "invariance_gap": [
        "d, e = x - np.mean(x), a * (x - np.mean(x))\n"
        "return float(max(abs(e / (e.var() + eps) ** 0.5 - d / (d.var() + eps) ** 0.5)))",
        "def hat(row: np.ndarray) -> np.ndarray:\n"
        "    d = row - row.sum() / row.size\n    return d / np.sqrt(d @ d / d.size + eps)\n\n"
        "return np.linalg.norm(hat(a * x + b) - hat(x), np.inf)",
        "s = np.sqrt(np.var(x) + eps)\nt = np.sqrt(a**2 * np.var(x) + eps)\n"
        "return np.abs(x - x.mean()).max() * abs(a / t - 1 / s)",
        "def hat(r):\n"
        "    m = sum(r) / len(r)\n"
        "    v = sum((e - m) ** 2 for e in r) / len(r)\n"
        "    return [(e - m) / (v + eps) ** 0.5 for e in r]\n"
        "return max(abs(p - q) for p, q in zip(hat([a * e + b for e in x]), hat(list(x))))",
    ],
    "gamma": ["2.2361", "5**0.5", "np.sqrt(5)", "sqrt(5)", "np.float32(2.236068)", "np.array(2.23607)"],
    "beta": ["5", "5.0", "np.array(5)", f"{ROW}.mean()", "np.float32(5)"],
    "other_row": [
        "[1, 2, 3, 4]",
        "(7, 7, 7, 7)",
        "np.array([20, 40, 60, 80])",
        "[-2, -4, -6, -8]",
        "np.float32([0, 0, 0, 1])",
        "range(4)",
    ],
    "undo": [
        "return [(x.var() + eps) ** 0.5, np.mean(x)]",
        "return np.array([np.sqrt(np.var(x) + eps), x.mean()])",
        "m = sum(x) / len(x)\nv = sum((e - m) ** 2 for e in x) / len(x)\ngamma = (v + eps) ** 0.5\nreturn gamma, m",
        "return np.hypot(x.std(), np.sqrt(eps)), x.mean()",
        "return np.float32(np.sqrt(x.var() + eps)), np.float32(x.mean())",
        "from collections import namedtuple\nreturn namedtuple('Pair', 'gamma beta')(np.sqrt(x.var() + eps), x.mean())",
    ],
    "training_output": [
        "[[0.5, -1, 0, 3]]",
        "shift[None]",
        "shift.reshape(1, 4)",
        "np.atleast_2d(shift)",
        "scale * (batch - batch.mean(0)) / np.sqrt(batch.var(0) + 1e-5) + shift",
        "batch * 0 + shift",
    ],
    "inference_output": [
        "scale * (batch - running_mean) / np.sqrt(running_var) + shift",
        "[[1.5, 0, 4 / 3, 5]]",
        "np.float32(scale * (batch - running_mean) / np.sqrt(running_var + 1e-5) + shift)",
        "batch * scale / running_var**0.5 + (shift - running_mean * scale / running_var**0.5)",
        "(batch - running_mean) * (scale / np.sqrt(running_var + 1e-5)) + shift",
    ],
    "layer_norm_output": [
        "scale * (batch - 5) / np.sqrt(5) + shift",
        "[[-0.8416, -1.8944, 0.4472, 5.6833]]",
        "[(scale * (batch[0] - 5) / 5**0.5 + shift).tolist()]",
    ],
    "batch_norm_training": [
        "old_mean, old_var = running\nif not training:\n"
        "    return gamma * (x - old_mean) / np.sqrt(old_var + eps) + beta, (old_mean, old_var)\n"
        "N = len(x)\nmean = np.einsum('bh->h', x) / N\nd = x - mean\nvar = np.einsum('bh,bh->h', d, d) / N\n"
        "y = d / np.sqrt(var + eps) * gamma + beta\n"
        "return y, (old_mean + momentum * (mean - old_mean), old_var + momentum * (var * N / (N - 1) - old_var))",
        "mean, var = np.array(running[0]), np.array(running[1])\nif training:\n"
        "    m, v = x.mean(0), x.var(0)\n    mean *= 1 - momentum\n    mean += momentum * m\n"
        "    var *= 1 - momentum\n    var += momentum * x.var(0, ddof=1)\nelse:\n    m, v = mean, var\n"
        "return [gamma * (x - m) / (v + eps) ** 0.5 + beta, [mean, var]]",
        "mean, var = running\nm, v = (x.mean(0), x.var(0)) if training else running\n"
        "y = gamma * (x - m) / np.sqrt(v + eps) + beta\n"
        "new = np.array([m, x.var(0, ddof=1)]) if training else np.array(running)\n"
        "return y, (1 - momentum) * np.array(running) + momentum * new",
        "columns, means, variances = [], [], []\nfor j in range(x.shape[1]):\n"
        "    c, m, v = x[:, j], running[0][j], running[1][j]\n    if training:\n"
        "        center, spread = sum(c) / len(c), np.var(c)\n"
        "        m = (1 - momentum) * m + momentum * center\n"
        "        v = (1 - momentum) * v + momentum * spread * len(c) / (len(c) - 1)\n"
        "    else:\n        center, spread = m, v\n"
        "    columns.append(gamma[j] * (c - center) / np.sqrt(spread + eps) + beta[j])\n"
        "    means.append(m)\n    variances.append(v)\n"
        "return np.array(columns).T, (means, variances)",
        "def batch_norm(x, gamma, beta, running, training=True, momentum=0.1, eps=1e-5):\n"
        "    x = np.float32(x)\n    mean, var = running\n"
        "    m, v = (x.mean(0), x.var(0)) if training else running\n"
        "    y = gamma * (x - m) / np.sqrt(v + eps) + beta\n"
        "    if training:\n        mean, var = mean * (1 - momentum) + momentum * m, "
        "var * (1 - momentum) + momentum * x.var(0, ddof=1)\n    return y, (mean, var)",
        "mean, var = running\n"
        "c, v = (x.mean(0), x.var(0)) if training else running\n"
        "if training:\n"
        "    mean = mean * (1 - momentum) + c * momentum\n"
        "    var = var * (1 - momentum) + np.cov(x, rowvar=False).diagonal() * momentum\n"
        "return gamma * (x - c) / np.sqrt(v + eps) + beta, mean, var",
    ],
}

LEVEL_4 = {
    "rms": [
        "5.4772",
        "30**0.5",
        "np.sqrt(30)",
        "np.linalg.norm(x) / 2",
        "np.float32(5.477226)",
        "np.array(5.47723)",
        "np.hypot(x.mean(), x.std())",
        "__import__('decimal').Decimal(30).sqrt()",
    ],
    "normalized": [
        "[0.3651, 0.7303, 1.0954, 1.4606]",
        "(0.3651, 0.7303, 1.0954, 1.4606)",
        "x / np.sqrt(30)",
        "np.float32(x / np.sqrt(30))",
        "x * 2 / np.linalg.norm(x)",
    ],
    "shifted_first": [
        "0.9712",
        "102 / np.sqrt(11030)",
        "np.float32(0.97121)",
        "np.array(0.9712)",
        "102 / np.sqrt(np.mean(np.array([102, 104, 106, 108]) ** 2))",
    ],
    "erased": ['["scale"]', '("scale",)', '"scale"', '{"Scale"}'],
    "rms_norm": [
        "return x * gamma * (np.square(x).mean(-1, keepdims=True) + eps) ** -0.5",
        "rms = np.sqrt(np.einsum('...h,...h->...', x, x) / x.shape[-1] + eps)\nreturn gamma * x / rms[..., None]",
        "n = np.linalg.norm(x, axis=-1, keepdims=True)\nreturn gamma * x / np.sqrt(n**2 / x.shape[-1] + eps)",
        "x = np.float32(x)\nreturn np.float32(gamma) * x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)",
        "out = np.zeros(np.shape(x))\nfor i in np.ndindex(x.shape[:-1]):\n"
        "    s = 0.0\n    for v in x[i]:\n        s += v * v\n"
        "    out[i] = gamma * x[i] / (s / len(x[i]) + eps) ** 0.5\nreturn out",
        "square = x.var(-1, keepdims=True) + x.mean(-1, keepdims=True) ** 2\nreturn gamma * x / np.sqrt(square + eps)",
        "return (gamma * x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)).tolist()",
        "ms = np.mean(np.square(x), axis=-1)\nreturn np.einsum('...h,...,h->...h', x, 1 / np.sqrt(ms + eps), gamma)",
        "m = np.abs(x).max(-1, keepdims=True)\n"
        "s = x / m\n"
        "return gamma * s / np.sqrt((s * s).mean(-1, keepdims=True) + eps / m**2)",
        "return (x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)) @ np.diag(gamma)",
    ],
    "factor": [
        "50",
        "50.0",
        "np.array(50)",
        "(2 + 98) / 2",
        "np.float32(50)",
        "1 + 49",
        "__import__('fractions').Fraction(100, 2)",
    ],
    "standardized": [
        HAT,
        f"({ROW} - 5) / np.sqrt(5)",
        f"tuple({HAT})",
        "np.float32([-1.341641, -0.447214, 0.447214, 1.341641])",
        "(lambda s: (s - s.mean()) / s.std())(np.array([100, 200, 300, 400]))",
    ],
    "post_norm": [
        "s = np.add(x, fx)\nreturn (s - s.mean(-1, keepdims=True)) / (s.var(-1, keepdims=True) + eps) ** 0.5",
        "from normlib import layer_norm\nreturn layer_norm(x + fx, eps=eps)",
        "s = x + fx\nd = s - np.einsum('...h->...', s)[..., None] / s.shape[-1]\n"
        "return d / np.sqrt(np.einsum('...h,...h->...', d, d)[..., None] / d.shape[-1] + eps)",
        "x = np.float32(x) + np.float32(fx)\nx = x - x.mean(-1, keepdims=True)\n"
        "return x / np.sqrt((x**2).mean(-1, keepdims=True) + np.float32(eps))",
        "s = np.sum([x, fx], axis=0)\n"
        "s -= s.mean(axis=-1, keepdims=True)\n"
        "return s * ((s**2).mean(axis=-1, keepdims=True) + eps) ** -0.5",
    ],
    "solutions": [
        "[(-4, 10), (4, 10)]",
        "[(4, 10.000000001), (-4, 10)]",
        "[(4, 10), (-4, 10.000000001)]",
        "{(4, 10), (-4, 10)}",
        "np.array([[4.0, 10], [-4, 10]])",
        "((4, 10), (-4, 10))",
        "[[4, 10.0], [-4.0, 10]]",
        "[np.array([4, 10]), np.array([-4, 10])]",
    ],
    "y": [
        "[15.3666, 11.7889, 8.2111, 4.6334]",
        "[4.6334, 8.2111, 11.7889, 15.3666]",
        f"-4 * ({ROW} - 5) / 5**0.5 + 10",
        f"np.float32(4 * ({ROW} - 5) / 5**0.5 + 10)",
    ],
    "affine_for": [
        "return [(-std, mean), (std, mean)]",
        "return np.array([[std, mean], [-std, mean]])",
        "return ((std, mean), (-std, mean))",
        "return [[g, mean] for g in (std, -std)]",
        "return {(std, mean), (-std, mean)}",
        "return np.outer([1, -1], [std, 0]) + [0, mean]",
    ],
}

LEVEL_5 = {
    "gradient": [
        "0.1342",
        "0.3 / 5**0.5",
        "0.3 / sqrt(5)",
        "np.float32(0.1341641)",
        "np.array(0.13416)",
        "(0.75 - 1.8 / 4) / np.sqrt(5)",
        "(lambda f: (f(2 + 1e-6) - f(2 - 1e-6)) / 2e-6)(lambda v: (v - np.mean([v, 4, 6, 8])) / np.std([v, 4, 6, 8]))",
    ],
    "gradient_scaled": [
        "0.01342",
        "0.03 / sqrt(5)",
        "0.13416 / 10",
        "np.array(0.013416)",
        "np.float32(0.0134164)",
        "3 * sqrt(5) / 500",
    ],
    "closed_form": [
        "(1 - 1 / H - (x1 - mu)**2 / (H * sigma**2)) / sigma",
        "(H - 1) / (H * sigma) - (x1 - mu)**2 / (H * sigma**3)",
        "(H - 1 - ((x1 - mu) / sigma)**2) / (H * sigma)",
        "(((H - 1) * sigma**2 - (mu - x1)**2) / (H * sigma**3)).expand()",
        "1 / sigma - 1 / (H * sigma) - (x1**2 - 2 * x1 * mu + mu**2) / (H * sqrt(sigma**2)**3)",
        "1.0 / sigma - 1.0 / (H * sigma) - (mu - x1)**2 / (H * sigma**3)",
    ],
    "jacobian": [
        "H = len(x)\nd = x - x.mean()\ns = np.sqrt(d @ d / H)\n"
        "return [[((i == j) - 1 / H - d[i] * d[j] / (H * s**2)) / s for j in range(H)] for i in range(H)]",
        "x = np.asarray(x, float)\nn = x.size\nh = (x - x.mean()) / x.std()\n"
        "return (np.eye(n) - np.ones((n, n)) / n - h[:, None] * h / n) / x.std()",
        "def hat(r):\n    return (r - r.mean()) / r.std()\n\nstep = 1e-5\nx = x * 1.0\n"
        "return np.stack([(hat(x + step * e) - hat(x - step * e)) / (2 * step) for e in np.eye(len(x))], axis=1)",
        "n = len(x)\nC = np.eye(n) - 1 / n\nd = C @ x\ns = (d @ d / n) ** 0.5\n"
        "return C / s - np.outer(d, d) / (n * s**3)",
        "n = len(x)\n"
        "def hat(r):\n"
        "    d = r - r.sum() / n\n"
        "    return d / np.sqrt((d * d).sum() / n)\n"
        "return np.array([hat(x + 1e-20j * e).imag / 1e-20 for e in np.eye(n)]).T",
    ],
    "layer_norm_backward": [
        "H = x.shape[-1]\nd = x - x.mean(-1, keepdims=True)\ninv = 1 / np.sqrt(x.var(-1, keepdims=True) + eps)\n"
        "g = gamma * dy\ndvar = (g * d * -0.5 * inv**3).sum(-1, keepdims=True)\n"
        "dmean = -(g * inv).sum(-1, keepdims=True)\ndx = g * inv + dvar * 2 * d / H + dmean / H\n"
        "return dx, (dy * d * inv).sum(0), dy.sum(0)",
        "dx = np.empty(x.shape)\nfor b in range(len(x)):\n    H = x.shape[1]\n    s = np.sqrt(np.var(x[b]) + eps)\n"
        "    h = (x[b] - np.mean(x[b])) / s\n    J = (np.eye(H) - 1 / H - np.outer(h, h) / H) / s\n"
        "    dx[b] = (gamma * dy[b]) @ J\n"
        "x_hat = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps)\n"
        "return [dx, np.einsum('bh,bh->h', dy, x_hat), np.einsum('bh->h', dy)]",
        "H = x.shape[1]\ns = (x.var(1, keepdims=True) + eps) ** 0.5\nh = (x - x.mean(1, keepdims=True)) / s\n"
        "g = dy * gamma\n"
        "dx = (H * g - g.sum(1, keepdims=True) - h * (g * h).sum(1, keepdims=True)) / (H * s)\n"
        "return dx.tolist(), (dy * h).sum(axis=0).tolist(), list(dy.sum(axis=0))",
        "def layer_norm_backward(upstream: np.ndarray, x: np.ndarray, gamma: np.ndarray, eps: float = 1e-5):\n"
        '    """Backward pass, named otherwise."""\n'
        "    s = np.sqrt(x.var(-1, keepdims=True) + eps)\n    h = (x - x.mean(-1, keepdims=True)) / s\n"
        "    g = upstream * gamma\n    print('shape', g.shape)\n"
        "    dx = (g - g.mean(-1, keepdims=True) - h * np.mean(g * h, axis=-1, keepdims=True)) / s\n"
        "    return dx, np.sum(upstream * h, axis=0), np.sum(upstream, axis=0)",
        "B, H = x.shape\n"
        "s = np.sqrt(x.var(1) + eps)\n"
        "h = (x - x.mean(1)[:, None]) / s[:, None]\n"
        "J = (np.eye(H) - 1 / H - np.einsum('bi,bj->bij', h, h) / H) / s[:, None, None]\n"
        "return np.einsum('bij,bi->bj', J, gamma * dy), np.einsum('bh,bh->h', dy, h), np.ones(B) @ dy",
        "from collections import namedtuple\n"
        "s = np.sqrt(x.var(-1, keepdims=True) + eps)\n"
        "h = (x - x.mean(-1, keepdims=True)) / s\n"
        "g = dy * gamma\n"
        "dx = (g - g.mean(-1, keepdims=True) - h * (g * h).mean(-1, keepdims=True)) / s\n"
        "return namedtuple('Gradients', 'dx dgamma dbeta')(dx, (dy * h).sum(0), dy.sum(0))",
    ],
    "others_sum": ["-t", "0 - t", "-1 * t", "t - 2 * t", "(H - 1) * (-t / (H - 1))"],
    "others_squares": [
        "t**2 / (H - 1)",
        "(H - 1) * (t / (H - 1))**2",
        "(-t)**2 / (H - 1)",
        "t * t / (H - 1)",
        "-t**2 / (1 - H)",
    ],
    "t_squared_bound": [
        "H - 1",
        "-1 + H",
        "H * (H - 1) / H",
        "H * (1 - 1 / H)",
        "sqrt(H - 1)**2",
        "__import__('sympy').solve(t**2 + t**2 / (H - 1) - H, t**2)[0]",
    ],
    "bound_at_4": ["1.7321", "sqrt(3)", "3**0.5", "np.float32(1.7320508)", "np.array(np.sqrt(4 - 1))"],
    "rms_bound_at_4": ["2", "2.0", "sqrt(4)", "np.array(2)", "4**0.5"],
    "bound": [
        "return (H - 1) ** 0.5",
        "return np.array(np.sqrt(H - 1))",
        "import math\nreturn math.sqrt(H - 1)",
        "from sympy import sqrt\nreturn sqrt(H - 1)",
        "row = np.eye(H)[0]\nreturn (1 - row.mean()) / row.std()",
        "return float(np.float32((H - 1) ** 0.5))",
    ],
    "maximizer": [
        "return [5] * (H - 1) + [-2]",
        "return np.eye(H)[-1]",
        "return [1e300] + [0] * (H - 1)",
        "return np.arange(H) == 0 if False else (np.arange(H) == 0) * 7.0",
        "row = np.full(H, 3)\nrow[H // 2] = 100\nreturn row",
        "return tuple([1e3] + [0] * (H - 1))",
        "row = np.ones(H, dtype=np.float32)\nrow[0] = -1\nreturn row",
        "return np.bincount([0], minlength=H)",
    ],
    "true_statements": [
        '["a", "c", "e"]',
        '("e", "c", "a")',
        '{"A", "C", "E"}',
        'set("ace")',
        '"ace"',
        '"a, c, e"',
        '"a c e"',
    ],
    "batch_norm_gap": [
        "4 / 3",
        "1.3333",
        "np.float32(1.33333)",
        "np.array(1.33333)",
        "__import__('fractions').Fraction(4, 3)",
    ],
    "layer_norm_gap": ["0", "0.0", "-0.0", "np.array(0)", "np.int64(0)", "1e-17", "np.float32(0)"],
    "serving_gap": [
        "train = (x - x.mean(0)) / np.sqrt(x.var(0) + eps)\nserve = (x - mean) / np.sqrt(var + eps)\n"
        "return max(abs(t - s) for t, s in zip(train.ravel(), serve.ravel()))",
        "def norm(m, v):\n    return (x - m) * (v + eps) ** -0.5\n\n"
        "return np.linalg.norm((norm(x.mean(0), x.var(0)) - norm(mean, var)).ravel(), np.inf)",
        "gap = 0.0\nfor j in range(x.shape[1]):\n    c = x[:, j]\n    m, v = sum(c) / len(c), np.var(c)\n"
        "    for e in c:\n        there = (e - mean[j]) / np.sqrt(var[j] + eps)\n"
        "        gap = max(gap, abs((e - m) / np.sqrt(v + eps) - there))\n"
        "return gap",
        "from normlib import batch_norm\nrunning = (mean, var)\n"
        "return np.abs(batch_norm(x, eps=eps) - batch_norm(x, running=running, training=False, eps=eps)[0]).max()",
    ],
}

# The same functions, checked for something else
LEVEL_2["constant_rows"] = LEVEL_2["layer_norm"]
LEVEL_3["batch_norm_inference"] = LEVEL_3["batch_norm_training"]

EQUIVALENTS = {1: LEVEL_1, 2: LEVEL_2, 3: LEVEL_3, 4: LEVEL_4, 5: LEVEL_5}

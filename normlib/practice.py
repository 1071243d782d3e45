"""More of the same: the numeric exercises with fresh, friendly numbers, worked out step by step.

The numbers and right answers come from :mod:`normlib.catalogue`; here are only the words around them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from normlib.checking import Result, check, evaluate, find, instance, same

# Exercise -> what is asked, in terms of the instance's numbers
STATEMENTS: dict[str, str] = {
    "1.1": "For the batch $X = {X}$, give the means that LayerNorm and BatchNorm subtract.",
    "1.2": "A LayerNorm has $H = {H}$ features and is fed $B = {B}$ rows. How many numbers are learned?",
    "1.3": "Take $\\varepsilon = {eps}$ and the row ${row}$. Give the smallest divisor and $\\hat x$, with ε inside "
    "the root and after it.",
    "2.1": "Standardize the row ${x}$ with $\\varepsilon = 0$: give its mean, its variance and $\\hat x$.",
    "2.2": "Apply $\\gamma = {gamma}$ and $\\beta = {beta}$ to the $\\hat x$ of the row ${x}$ ($\\varepsilon = 0$). "
    "Give $y$, its mean and its standard deviation.",
    "2.3": "What does standardizing make of the row ${row}$: with $\\varepsilon = {eps}$, and with $\\varepsilon = 0$?",
    "3.1": "Standardize $-2 \\cdot x + 100$ for $x = {x}$, with $\\varepsilon = 0$.",
    "3.2": "Which $\\gamma$ and $\\beta$ make LayerNorm give the row ${x}$ back ($\\varepsilon = 0$)?",
    "3.3": "The batch of one ${x}$ meets BatchNorm, with $\\gamma = {gamma}$, $\\beta = {beta}$, running mean ${mean}$ "
    "and running variance ${var}$, and then LayerNorm. Take $\\varepsilon = {eps}$. Give the three outputs.",
    "4.1": "Take the row ${x}$ through RMSNorm with $\\varepsilon = 0$. Then add 100 to each number: what is the first "
    "entry now?",
    "4.2": "A block receives $x = {x}$, and its branch returns $F(x) = {fx}$. How many times as large as $x$ is "
    "their sum, and what is $\\hat x$ of the sum ($\\varepsilon = 0$)?",
    "4.3": "The next layer wants rows with mean ${mean}$ and standard deviation ${std}$. Which two pairs "
    "$(\\gamma, \\beta)$ do that, and what becomes of the row ${x}$ with the positive $\\gamma$?",
    "5.1": "Give $\\partial \\hat x_1 / \\partial x_1$ at the row ${x}$ and at the row ten times as large, with "
    "$\\varepsilon = 0$.",
    "5.2": "How far can one entry go in a row of $H = {H}$ numbers, after LayerNorm and after RMSNorm "
    "($\\varepsilon = 0$)?",
    "5.3": "The batch $x = {x}$ meets running mean ${mean}$ and running variance ${var}$, with $\\gamma = 1$, $\\beta "
    "= 0$ and $\\varepsilon = {eps}$. How far apart are training and inference at most, in BatchNorm and in LayerNorm?",
}

# Exercise -> answer -> how one gets there
STEPS: dict[str, dict[str, str]] = {
    "1.1": {
        "layer_norm_means": "LayerNorm averages each row over its features:",
        "batch_norm_means": "BatchNorm averages each column over the examples:",
    },
    "1.2": {"parameter_count": "γ and β have one number for each feature, whatever $B$ is: $2 \\cdot H$ numbers."},
    "1.3": {
        "floor_inside": "Inside, the divisor is $\\sqrt{\\sigma^2 + \\varepsilon}$, smallest at $\\sigma = 0$:",
        "floor_outside": "After the root it is $\\sigma + \\varepsilon$, smallest at $\\sigma = 0$:",
        "inside": "Divide the deviations $x - \\mu$ by $\\sqrt{\\sigma^2 + \\varepsilon}$:",
        "outside": "Divide them by $\\sigma + \\varepsilon$ instead:",
    },
    "2.1": {
        "mean": "Add the numbers and divide by $H$, $\\mu = \\frac1H \\sum_j x_j$:",
        "variance": "Average the squares of the deviations, $\\sigma^2 = \\frac1H \\sum_j (x_j - \\mu)^2$:",
        "standardized": "Divide each deviation by $\\sigma$, the root of that, $\\hat x = (x - \\mu)/\\sigma$:",
    },
    "2.2": {
        "y": "Standardize first. Then multiply by γ and add β, $y = \\gamma\\,\\hat x + \\beta$:",
        "y_mean": "$\\hat x$ has mean 0, so that only β is left:",
        "y_std": "$\\hat x$ has standard deviation 1, which γ stretches:",
    },
    "2.3": {
        "with_eps": "Every deviation is 0, and the divisor $\\sqrt\\varepsilon$ is not:",
        "without_eps": "Without ε both are 0, and 0/0 is not a number:",
    },
    "3.1": {"sign_flipped": "The shift is forgotten, the factor 2 too. Its sign stays, so this is $-\\hat x$:"},
    "3.2": {
        "gamma": "$\\hat x$ was divided by $\\sigma$, so multiply by it:",
        "beta": "$\\hat x$ lost its mean, so add it again:",
    },
    "3.3": {
        "training_output": "In training each column is one number and its own mean: deviation 0, so the output is β.",
        "inference_output": "In inference the running statistics are used, "
        "$\\gamma\\,(x - \\text{mean})/\\sqrt{\\text{var} + \\varepsilon} + \\beta$:",
        "layer_norm_output": "LayerNorm takes the mean and the variance of the row itself:",
    },
    "4.1": {
        "rms": "Square, average, take the root, $\\sqrt{\\frac1H \\sum_j x_j^2}$:",
        "normalized": "Divide each number by it; nothing is subtracted:",
        "shifted_first": "With 100 added the mean square is much larger. The shift is not forgotten:",
    },
    "4.2": {
        "factor": "Compare the first number of $x + F(x)$ with the first number of $x$:",
        "standardized": "LayerNorm forgets the factor, so this is $\\hat x$ of $x$ itself:",
    },
    "4.3": {
        "solutions": "β is the mean, and the spread is $|\\gamma|$. So γ has two signs; each row is one pair:",
        "y": "With the positive γ, $y = \\gamma\\,\\hat x + \\beta$:",
    },
    "5.1": {
        "gradient": "Put $x_1$, μ, σ and $H$ into "
        "$\\frac1\\sigma \\left(1 - \\frac1H - \\frac{(x_1 - \\mu)^2}{H \\sigma^2}\\right)$:",
        "gradient_scaled": "A row ten times as large has σ ten times as large, and all else in the formula stays:",
    },
    "5.2": {
        "bound_at_4": "The entries sum to 0 and their squares to $H$, which leaves at most $\\sqrt{H - 1}$ for one:",
        "rms_bound_at_4": "RMSNorm does not center. One entry can have all the squares, $\\sqrt H$:",
    },
    "5.3": {
        "batch_norm_gap": "Standardize each column with its own statistics, then with the running ones, and take the "
        "largest difference in absolute value:",
        "layer_norm_gap": "LayerNorm computes the same thing in both:",
    },
}
# What to call an answer where the catalogue's words hold the numbers of the text
LABELS: dict[tuple[str, str], str] = {
    ("1.2", "parameter_count"): "the number of learned parameters, one integer",
    ("3.1", "sign_flipped"): "x̂ of −2·x + 100, four numbers",
    ("5.1", "gradient"): "∂x̂₁/∂x₁ at the row, one number",
    ("5.1", "gradient_scaled"): "∂x̂₁/∂x₁ at the row ten times as large, one number",
    ("5.2", "bound_at_4"): "LayerNorm's bound, one number",
    ("5.2", "rms_bound_at_4"): "RMSNorm's bound, one number",
}
TRIES = 2_000  # instances that are looked at until one is friendly


@dataclass(frozen=True)
class Text:
    """Markdown that notebooks render."""

    text: str

    def _repr_markdown_(self) -> str:
        return self.text

    __str__ = _repr_markdown_


@dataclass(frozen=True)
class Practice:
    """An exercise with numbers of its own; notebooks show what it asks.

    Parameters
    ----------
    exercise : str
        "1.1" to "5.3".
    given : dict
        The numbers.
    """

    exercise: str
    given: dict[str, Any]

    @property
    def question(self) -> str:
        """What is asked, as one paragraph of Markdown."""
        return STATEMENTS[self.exercise].format(**{name: latex(value) for name, value in self.given.items()})

    @property
    def statement(self) -> str:
        """What is asked and how to check it, as Markdown."""
        names = ", ".join(f"`{name}=…`" for name in STEPS[self.exercise])
        title = f"**{self.exercise} {find(self.exercise).title}**"
        return f"{title}\n\n{self.question}\n\nCheck with `.check(…)`: {names}."

    @property
    def answers(self) -> dict[str, str]:
        """The right answers by name, in LaTeX, to the decimals that are asked for."""
        quantities = [find(self.exercise)[name] for name in STEPS[self.exercise]]
        return {q.name: latex(np.round(evaluate(q.right, self.given), q.decimals)) for q in quantities}

    @property
    def solution(self) -> Text:
        """The steps with their results, to be shown after an attempt."""
        return Text("\n".join(self._steps()))

    def _steps(self) -> Iterator[str]:
        for number, (name, value) in enumerate(self.answers.items(), 1):
            yield f"{number}. {STEPS[self.exercise][name]}\n\n   $$\n   {value}\n   $$\n"

    def check(self, **answers: Any) -> Result:
        """Check answers to this instance, as :func:`normlib.check` does."""
        return check(self.exercise, self.given, **answers)

    def _repr_markdown_(self) -> str:
        return self.statement


def practice(exercise: str, seed: int = 1) -> Practice:
    """Give an exercise with other numbers, chosen so that they come out friendly.

    Parameters
    ----------
    exercise : str
        "1.1" to "5.3".
    seed : int
        The same seed gives the same numbers.

    Returns
    -------
    Practice
        It shows what is asked; ``.check(…)`` judges answers and ``.solution`` shows the steps.

    Raises
    ------
    ValueError
        If there is no such exercise.

    Examples
    --------
    >>> more = practice("2.1", seed=3)
    >>> bool(more.check(mean=more.given["x"].mean()))
    True
    """
    find(exercise)
    start = (100 * int(exercise.replace(".", "")) + seed) * TRIES  # so that no two exercises get the same row
    tries = (Practice(exercise, instance(exercise, start + number)) for number in range(TRIES))
    return next((one for one in tries if friendly(one) and telling(one)), Practice(exercise, instance(exercise, start)))


def friendly(one: Practice) -> bool:
    """Tell whether a row has a whole mean and a whole variance, or in 4.1 a whole root mean square."""
    row = np.squeeze(one.given.get("x", 0.0))
    if row.ndim != 1:
        return True
    numbers = [np.mean(row**2) ** 0.5] if one.exercise == "4.1" else [np.mean(row), np.var(row)]
    return np.allclose(numbers, np.round(numbers))


def telling(one: Practice) -> bool:
    """Tell whether every wrong path leads elsewhere than the right one, and no two mistakes to the same place."""
    for name in STEPS[one.exercise]:
        quantity = find(one.exercise)[name]
        right = evaluate(quantity.right, one.given)
        wrongs = [(mistake, evaluate(path, one.given)) for mistake, path in quantity.wrong_paths()]
        if any(same(np.asarray(wrong, dtype=float), right, quantity.decimals) for _, wrong in wrongs):
            return False
        for (mistake, wrong), (other, also) in combinations(wrongs, 2):
            if mistake != other and same(np.asarray(wrong, dtype=float), also, 12):
                return False
    return True


def latex(value: Any) -> str:
    """Write a number, a row or a matrix in LaTeX, to ten significant digits."""
    array = np.asarray(value, dtype=float)
    if array.ndim == 2:
        rows = " \\\\ ".join(" & ".join(map(_number, row)) for row in array)
        return f"\\begin{{pmatrix}} {rows} \\end{{pmatrix}}"
    return _number(array) if array.ndim == 0 else "(" + ",\\; ".join(map(_number, array)) + ")"


def _number(value: Any) -> str:
    value = float(value)
    if np.isnan(value):
        return "\\text{NaN}"
    mantissa, _, power = f"{value + 0.0:.10g}".partition("e")
    factor = "" if mantissa == "1" else f"{mantissa} \\cdot "
    return f"{factor}10^{{{int(power)}}}" if power else mantissa


# How a page without a mathematics script writes our LaTeX: as text, with MathML for what stands above something else
SYMBOLS = {
    **{"varepsilon": "ε", "gamma": "γ", "beta": "β", "mu": "μ", "sigma": "σ", "partial": "∂", "sum": "∑"},
    **{"cdot": "·", "left": "", "right": "", ",": "\u2009", ";": ""},
}
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
LOWERED = {"1": "₁", "j": "ⱼ"}
AS_HTML: tuple[tuple[str, Any], ...] = (
    (r"\\hat x", "x̂"),
    (r"\\(varepsilon|gamma|beta|mu|sigma|partial|sum|cdot|left|right|,|;)", lambda found: SYMBOLS[found[1]]),
    (r"\\text\{(.*?)\}", r"\1"),
    (r"_([1j])", lambda found: LOWERED[found[1]]),
    (r"\^(?:(\d)|\{(-?\d+)\})", lambda found: (found[1] or found[2]).translate(RAISED)),
    (r"\\frac(\d|\{[^{}]*\})(\w|\{[^{}]*\})", lambda found: _fraction(*found.groups())),
    (r"\\sqrt ?(\w)", r"√\1"),
    (r"\\sqrt\{([^{}]*)\}", r"√(\1)"),
    (r"∂ ", "∂"),
    (r"-", "−"),
    (r"\\begin\{pmatrix\}(.*?)\\end\{pmatrix\}", lambda found: _matrix(found[1])),
)


def as_html(text: str) -> str:
    """Write Markdown with LaTeX as HTML that needs no script.

    Parameters
    ----------
    text : str
        In the LaTeX that statements, steps and answers use.

    Returns
    -------
    str
        Text, and MathML for fractions and matrices.

    Raises
    ------
    ValueError
        If there is a command among it that this does not know.
    """
    escape = partial(html.escape, quote=False)
    return "".join((escape, _formula)[number % 2](part) for number, part in enumerate(text.split("$")))


def _formula(text: str) -> str:
    for pattern, written in AS_HTML:
        text = re.sub(pattern, written, text)
    if re.search(r"[\\{}^_]", text):
        raise ValueError(f"This LaTeX cannot be written as HTML: {text}")
    # a fraction stays beside what it multiplies
    return f'<span class="nl-formula">{text}</span>' if "<mfrac>" in text else text


def _fraction(*parts: str) -> str:
    above, below = (f"<mtext>{part.strip('{}')}</mtext>" for part in parts)
    return f"<math><mfrac>{above}{below}</mfrac></math>"


def _matrix(text: str) -> str:
    rows = ("".join(f"<mtd><mn>{cell.strip()}</mn></mtd>" for cell in row.split("&")) for row in text.split(r"\\"))
    table = "".join(f"<mtr>{row}</mtr>" for row in rows)
    return f"<math><mrow><mo>(</mo><mtable>{table}</mtable><mo>)</mo></mrow></math>"

"""The ladder of `check`: what is accepted, what is refused, and with which words."""

from __future__ import annotations

import decimal
import fractions
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sympy

import normlib
from normlib import check, instance
from normlib.checking import CheckFailed, find

pytestmark = pytest.mark.filterwarnings("ignore:just a word")
X_HAT = [-1.3416407865, -0.4472135955, 0.4472135955, 1.3416407865]  # (2, 4, 6, 8) by hand: ∓3/√5, ∓1/√5


def rung(exercise, **answers):
    (line,) = check(exercise, **answers).lines
    return line.misconception or line.rung


@pytest.mark.parametrize(
    "mean",
    [
        5,
        5.0,
        np.float32(5),
        np.int8(5),
        np.array(5.0),
        fractions.Fraction(5),
        decimal.Decimal(5),
        sympy.Integer(5),
        5.00004,
        4.99996,
    ],
    ids=repr,
)
def test_numbers_of_any_kind_are_right(mean):
    assert rung("2.1", mean=mean) == "right"


@pytest.mark.parametrize(
    "row",
    [
        X_HAT,
        tuple(X_HAT),
        np.array(X_HAT),
        np.array(X_HAT, dtype=np.float32),
        [-1.3416, -0.4472, 0.4472, 1.3416],
        [-3 / sympy.sqrt(5), -1 / sympy.sqrt(5), 1 / sympy.sqrt(5), 3 / sympy.sqrt(5)],
    ],
    ids=["list", "tuple", "array", "float32", "rounded", "sympy"],
)
def test_rows_of_any_kind_are_right(row):
    assert rung("2.1", standardized=row) == "right"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (None, "missing"),
        (..., "missing"),
        ("5", "type"),
        (True, "type"),
        ({1, 2}, "type"),
        ({"a": 1}, "type"),
        (len, "type"),
        (1 + 2j, "type"),
        ([[1, 2], [3]], "type"),
        ([X_HAT], "shape"),
        (X_HAT[:3], "shape"),
        ([], "shape"),
        (0.0, "shape"),
        (np.array(X_HAT)[:, None], "shape"),
        ([np.nan] * 4, "not-finite"),
        ([*X_HAT[:3], np.nan], "not-finite"),
        ([*X_HAT[:3], np.inf], "not-finite"),
        ([*X_HAT[:3], 7.0], "wrong"),
        ([-1.3417, -0.4472, 0.4472, 1.3417], "wrong"),
    ],
    ids=str,
)
def test_a_row_stops_at_the_first_rung_that_fails(answer, expected):
    assert rung("2.1", standardized=answer) == expected


def test_messages_name_type_and_shape():
    assert "this is text" in str(check("2.1", mean="5"))
    assert "(1, 4)" in str(check("2.1", standardized=[X_HAT]))
    assert "NaN" in str(check("2.1", standardized=[np.nan, 0, 0, 0]))


@pytest.mark.parametrize("seed", range(30))
def test_a_message_never_holds_the_right_number(seed):
    given = instance("2.1", seed)
    right = float(np.var(given["x"]))
    for answer in (right * 1.3, right - 1, right * 2.5):
        assert f"{right:.4g}" not in str(check("2.1", given, variance=answer))


@pytest.mark.parametrize("H", [4, 64, 768])
def test_ddof_one_is_refused_and_named_however_long_the_row(H):
    def student(x):
        return (x - x.mean(-1, keepdims=True)) / x.std(-1, ddof=1, keepdims=True)

    assert rung("2.1", standardize=student) == "ddof-1"
    x = np.random.default_rng(H).normal(size=H)
    (line,) = check("2.1", {"seed": 0, "x": x}, variance=x.var(ddof=1)).lines
    assert line.misconception == "ddof-1"


def student_layer_norm(x, gamma, beta, eps):
    mean = x.mean(-1, keepdims=True)
    return gamma * (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + eps) + beta


def in_float32(x, gamma, beta, eps):
    return student_layer_norm(*(np.float32(v) for v in (x, gamma, beta, eps)))


def in_a_loop(x, gamma, beta, eps):
    if x.ndim == 2:
        return [in_a_loop(row, gamma, beta, eps) for row in x]
    mean = sum(x) / len(x)
    variance = sum((v - mean) ** 2 for v in x) / len(x)
    return [g * (v - mean) / (variance + eps) ** 0.5 + b for v, g, b in zip(x, gamma, beta, strict=True)]


def noisy(x, gamma, beta, eps):
    import warnings

    np.random.seed(0)
    warnings.warn("just a word", stacklevel=1)
    print("working on it")
    return student_layer_norm(x, gamma, beta, eps)


@pytest.mark.parametrize("function", [student_layer_norm, in_float32, in_a_loop, noisy])
@pytest.mark.parametrize("seed", [None, 3, 4])
def test_right_functions_of_other_forms_are_right(function, seed):
    assert check("2.2", instance("2.2", seed), layer_norm=function)


def changes_input(x, gamma, beta, eps):
    x -= x.mean(-1, keepdims=True)
    return gamma * x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) + beta


def returns_nothing(x, gamma, beta, eps):
    student_layer_norm(x, gamma, beta, eps)


def raises(x, gamma, beta, eps):
    raise RuntimeError("first line\nsecond line")


def borrows(x, gamma, beta, eps):
    from normlib import layer_norm

    return layer_norm(x, gamma, beta, eps=eps)


def knows_the_visible_answer(x, gamma, beta, eps):
    return np.array([-6.0249, -3.3416, -0.6584, 2.0249])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (changes_input, "changed-input"),
        (returns_nothing, "missing"),
        (raises, "error"),
        (borrows, "borrowed"),
        (knows_the_visible_answer, "wrong"),
        (3, "type"),
        (lambda x, gamma, beta, eps: student_layer_norm(x, gamma, beta, eps)[..., :1], "shape"),
    ],
)
def test_functions_are_refused_for_the_right_reason(function, expected):
    assert rung("2.2", layer_norm=function) == expected


def test_an_exception_is_told_in_one_line():
    (line,) = check("2.2", layer_norm=raises).lines
    assert "RuntimeError" in line.text
    assert "first line" in line.text
    assert "second" not in line.text


def looks_away(row):
    sys.setprofile(None)
    return normlib.standardize(row)


def in_a_thread(row):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(normlib.standardize, row).result()


@pytest.mark.parametrize("function", [looks_away, in_a_thread])
def test_a_hidden_call_of_normlibs_own_function_is_borrowed(function):
    assert rung("2.1", standardize=function) == "borrowed"
    assert threading.getprofile() is None


def test_normlibs_own_function_is_borrowed():
    import normlib

    assert rung("2.1", standardize=normlib.standardize) == "borrowed"
    assert rung("5.1", jacobian=normlib.standardize_jacobian) == "borrowed"


def test_profiler_is_put_back():
    import sys

    before = sys.getprofile()
    check("2.2", layer_norm=raises)
    assert sys.getprofile() is before


def test_expressions_are_judged_for_equivalence():
    x, mu = sympy.symbols("x mu", real=True)
    a, sigma = sympy.symbols("a sigma", positive=True)
    assert rung("3.1", new_standardized=a * (x - mu) / sympy.sqrt(a**2 * sigma**2)) == "right"
    assert rung("3.1", new_standardized=(x / sigma) - mu / sigma) == "right"
    own = sympy.symbols("x mu sigma")  # the student's own symbols, without assumptions
    assert rung("3.1", new_standardized=(own[0] - own[1]) / own[2]) == "right"
    assert rung("3.1", new_standardized=a * (x - mu) / sigma) == "scale-kept"
    assert rung("3.1", new_variance="a**2*sigma**2") == "type"
    assert rung("3.1", new_mean=sympy.Symbol("q")) == "wrong"


@pytest.mark.parametrize(
    "zero", [0, 0.0, np.int64(0), np.float32(0), np.array(0), fractions.Fraction(0), decimal.Decimal(0)], ids=repr
)
def test_a_number_is_an_expression_without_symbols(zero):
    assert rung("5.2", others_sum=zero) == "others-keep-sum"
    assert rung("5.2", others_sum=zero + 2) == "wrong"
    assert rung("5.2", others_sum=[zero]) == "type"


def test_sets_accept_greek_and_order():
    assert rung("1.2", learned=["β", " Gamma "]) == "right"
    assert rung("1.2", learned={"γ", "β", "x̂"}) == "x-hat-learned"
    assert rung("1.2", learned={"gamma", "beta", "epsilon-ish"}) == "wrong"
    assert rung("1.2", learned=3) == "type"


def test_both_solutions_of_a_target_in_any_order():
    for pairs in ([(4, 10), (-4, 10)], [(-4, 10), (4, 10)], np.array([[4.0, 10], [-4, 10]])):
        assert rung("4.3", solutions=pairs) == "right"
    assert rung("4.3", solutions=[(4, 10)]) == "one-solution"
    assert rung("4.3", y=[15.3666, 11.7889, 8.2111, 4.6334]) == "right"  # γ = −4


@pytest.mark.parametrize("H", [2, 3, 6])
def test_every_maximizer_is_right(H):
    def maximizer(n):
        row = np.full(n, -3.0)
        row[H % n] = 11.0
        return row

    assert rung("5.2", maximizer=maximizer) == "right"


def test_backward_values_of_the_known_case():
    # D8 of the collected faults, values from PyTorch
    x, gamma, dy = np.array([[1.0, 2, 4, 7]]), np.array([1, 2, 0.5, -1]), np.array([[1.0, -2, 0.5, 3]])
    dx, dgamma, dbeta = find("5.1")["layer_norm_backward"].right(dy, x, gamma, 1e-5)
    np.testing.assert_allclose(dx[0], [0.7066103187, -1.3326861522, 0.8079248547, -0.1818490212], atol=1e-9)
    np.testing.assert_allclose(dgamma, [-1.091088412, 1.3093060945, 0.1091088412, 4.5825713306], atol=1e-9)
    np.testing.assert_allclose(dbeta, dy[0])


def test_verdict_does_not_depend_on_the_global_generator():
    for seed in range(20):
        np.random.seed(seed)
        assert check("2.2", layer_norm=noisy)
        assert rung("2.2", layer_norm=knows_the_visible_answer) == "wrong"


def test_require_raises_one_plain_line_for_each_wrong_answer():
    check("2.1", mean=5).require()
    with pytest.raises(CheckFailed, match="ddof=1") as caught:
        check("2.1", mean=5, variance=20 / 3).require()
    assert "mean" not in str(caught.value).split(":")[0]
    lines = caught.value._render_traceback_()
    assert " ".join(line.strip() for line in lines) == str(caught.value)
    assert max(map(len, lines)) <= 88


def test_a_result_shows_words_beside_its_icons():
    html = check("2.1", mean=5, variance="<b>")._repr_html_()
    assert "✓ Right" in html
    assert "✗ Not yet" in html
    assert "<b>" not in html


@pytest.mark.parametrize("value", [sympy.zoo, sympy.I, sympy.sqrt(-5)], ids=str)
def test_numbers_that_are_not_real_are_refused_by_name(value):
    assert rung("5.1", gradient=value) == "type"


def test_a_sum_over_indexed_symbols_is_refused():
    k = sympy.Symbol("k", integer=True)
    assert rung("3.1", new_mean=sympy.Sum(sympy.IndexedBase("x")[k], (k, 1, 4)) / 4) in ("type", "wrong")


def test_an_exception_in_a_hidden_test_shows_no_numbers():
    def telling(x):
        raise ValueError(x.tolist())

    (visible,), (hidden,) = (check("2.1", instance("2.1", seed), standardize=telling).lines for seed in (None, 7))
    assert "[" in visible.text
    assert hidden.text == "stopped with ValueError for a row of shape (4,)."


def test_leaving_is_an_error_like_any_other():
    def leaves(x):
        raise SystemExit

    assert rung("2.1", standardize=leaves) == "error"


@pytest.mark.parametrize("answer", [[None] * 4, [1, 2, None, 4]], ids=str)
def test_an_answer_with_an_empty_place_is_missing(answer):
    assert rung("2.3", without_eps=answer) == "missing"


def test_integers_are_exact():
    assert rung("1.1", layer_norm_axis=0.5) == "wrong"
    assert rung("1.2", parameter_count=1536.4) == "wrong"


def test_misuse_says_what_there_is():
    with pytest.raises(ValueError, match=r"There is no exercise '9\.9'"):
        check("9.9", mean=1)
    with pytest.raises(ValueError, match="it asks for: mean, variance"):
        check("2.1", average=1)
    with pytest.raises(ValueError, match="at least one answer"):
        check("2.1")


# What a function returns in parts


def right_backward(dy, x, gamma, eps):
    sigma = np.sqrt(x.var(-1, keepdims=True) + eps)
    x_hat, g = (x - x.mean(-1, keepdims=True)) / sigma, dy * gamma
    dx = (g - g.mean(-1, keepdims=True) - x_hat * (g * x_hat).mean(-1, keepdims=True)) / sigma
    return dx, (dy * x_hat).sum(0), dy.sum(0)


def verdicts(changed, **how):
    """What is said of each part when `changed` of them are replaced."""

    def student(dy, x, gamma, eps):
        parts = dict(zip(("dx", "dgamma", "dbeta"), right_backward(dy, x, gamma, eps), strict=True))
        return tuple((parts | {changed: how["by"](dy, x)}).values())

    result = check("5.1", layer_norm_backward=student)
    return {line.parts: line.misconception or line.rung for line in result.lines}, result


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (lambda dy, x: dy.sum(0) + 1, "wrong"),
        (lambda dy, x: np.zeros(x.shape[1]), "dbeta-missing"),
        (lambda dy, x: dy.sum(0)[:1], "shape"),
        (lambda dy, x: np.full(x.shape[1], np.nan), "not-finite"),
        (lambda dy, x: "none", "type"),
        (lambda dy, x: None, "missing"),
    ],
    ids=["off", "zeros", "shape", "nan", "text", "none"],
)
def test_each_part_is_judged_by_itself(by, expected):
    found, result = verdicts("dbeta", by=by)
    assert found == {("dx", "dgamma"): "right", ("dbeta",): expected}
    result.require("dx")
    result.require("dgamma", "dx")
    for parts in ((), ("dbeta",), ("dx", "dbeta")):
        with pytest.raises(CheckFailed, match=r"Not yet – layer_norm_backward \(dbeta\)|Missing"):
            result.require(*parts)


def test_what_is_wrong_with_all_of_a_function_is_wrong_with_each_part():
    for function in (borrows, raises, 3, None, lambda dy, x, gamma, eps: right_backward(dy, x, gamma, eps)[:2]):
        result = check("5.1", layer_norm_backward=function)
        assert [line.parts for line in result.lines] == [()]
        for part in ("dx", "dgamma", "dbeta"):
            with pytest.raises(CheckFailed):
                result.require(part)


def test_two_mistakes_in_two_parts_are_both_named():
    def student(dy, x, gamma, eps):
        dx, dgamma, _ = right_backward(dy, x, np.ones_like(gamma), eps)
        return dx, dgamma, np.zeros_like(gamma)

    lines = check("5.1", layer_norm_backward=student).lines
    assert {line.parts: line.misconception for line in lines} == {
        ("dx",): "gamma-ignored",
        ("dgamma",): None,
        ("dbeta",): "dbeta-missing",
    }


def test_a_part_that_does_not_exist_cannot_pass():
    result = check("5.1", layer_norm_backward=right_backward)
    result.require("dx", "dgamma", "dbeta")
    for parts in (("dz",), ("dx", "dz")):
        with pytest.raises(ValueError, match="no part called dz"):
            result.require(*parts)
    with pytest.raises(ValueError, match="no part called y"):
        check("2.1", mean=5).require("y")


def test_an_answer_may_build_on_a_row_of_four_decimals():
    y = 3 * np.array([-1.3416, -0.4472, 0.4472, 1.3416]) - 2
    assert check("2.2", y=y, y_mean=y.mean(), y_std=y.std())
    assert check("2.2", y=y.round(4), y_mean=-2, y_std=y.std().round(4))
    coarse = 3 * np.array([-1.342, -0.447, 0.447, 1.342]) - 2
    assert {line.rung for line in check("2.2", y=coarse, y_std=coarse.std()).lines} == {"wrong"}


def test_a_function_without_statements_is_still_empty():
    def documented(H):
        """Count."""

    def dots(H): ...

    def forgotten(H):
        2 * H

    for function in (documented, dots, lambda H: None):
        assert "still empty" in str(check("1.2", count_parameters=function))
    assert "Is the last line a return?" in str(check("1.2", count_parameters=forgotten))


def test_a_function_of_another_exercise_is_called_by_its_own_name():
    result = check("2.3", constant_rows=lambda x, gamma, beta, eps: x)
    assert str(result).startswith("✗ Not yet – constant_rows (your layer_norm): ")

"""The gradients, against values worked out by hand, PyTorch's, autograd's, 50-digit differences, and algebra."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import grad, jacobian
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from oracles import TORCH, exact_dx, exact_jacobian

from normlib.gradients import layer_norm_backward, numerical_gradient, rms_norm_backward, standardize_jacobian
from normlib.norms import layer_norm, rms_norm, standardize

pytestmark = pytest.mark.filterwarnings("error")
settings.register_profile("normlib", deadline=None, derandomize=True, max_examples=80)
settings.load_profile("normlib")

BACKWARDS = [layer_norm_backward, rms_norm_backward]
TOLERANCE = {"float16": 5e-3, "float32": 2e-6, "float64": 1e-13}  # PyTorch keeps the mean of float16 rows in float16
X, GAMMA, DY = np.array([1.0, 2, 4, 7]), np.array([1, 2, 0.5, -1]), np.array([1, -2, 0.5, 3])


def close(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


def norm_in_autograd(x, gamma, beta, *, axis, eps, center):
    """The forward formula alone, in autograd's NumPy; gamma and beta keep the reduced axes as they are in x."""
    d = x - anp.mean(x, axis=axis, keepdims=True) if center else x
    return gamma * d / anp.sqrt(anp.mean(d**2, axis=axis, keepdims=True) + eps) + beta


# Values worked out by hand


def test_the_row_1_2_4_7():
    dx, dgamma, dbeta = layer_norm_backward(DY, X, GAMMA)
    close(dx, [0.7066103187, -1.3326861522, 0.8079248547, -0.1818490212])
    close(dgamma, [-1.091088412, 1.3093060945, 0.1091088412, 4.5825713306])
    close(dbeta, DY, 0)


def test_the_jacobian_of_2_4_6_8():
    close(standardize_jacobian([2, 4, 6, 8])[0, 0], 0.3 / 5**0.5, 1e-15)
    close(standardize_jacobian([20, 40, 60, 80])[0, 0], 0.03 / 5**0.5, 1e-15)
    close(standardize_jacobian([2, 4, 6, 8], eps=1e-5)[0, 0], 0.134164347)


def test_an_equal_gradient_on_every_feature_is_erased():
    for x in (X, np.float32(X), np.outer([1, 2, 3], X)):
        np.testing.assert_array_equal(layer_norm_backward(np.ones_like(x), x)[0], np.zeros_like(x))
    assert (rms_norm_backward(np.ones(4), X)[0] != 0).all()


# PyTorch


@pytest.mark.parametrize("case", TORCH["layer_norm"] + TORCH["half"])
def test_layer_norm_backward_is_pytorchs(case):
    check_recorded(layer_norm_backward, case)


@pytest.mark.parametrize("case", TORCH["rms_norm"])
def test_rms_norm_backward_is_pytorchs(case):
    check_recorded(rms_norm_backward, case)


def check_recorded(backward, case):
    x = np.array(case["x"], case["dtype"])
    gradients = backward(np.array(case["dy"], case["dtype"]), x, case["gamma"], axis=case["axis"], eps=case["eps"])
    assert len(gradients) == len(case["gradients"])
    # Rounding scales with the terms that cancel in a gradient, and these are divided by √(σ² + ε).
    smallest_root = np.sqrt(x.astype(float).var(axis=tuple(case["axis"])).min() + case["eps"])
    for actual, recorded in zip(gradients, case["gradients"], strict=True):
        assert actual.dtype == x.dtype
        scale = max(1, np.abs(recorded).max(), smallest_root**-1)
        np.testing.assert_allclose(actual, recorded, rtol=0, atol=TOLERANCE[case["dtype"]] * scale)


# autograd


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), (-2, -1), (0, 1, 2)])
@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_backward_is_autograds(axis, eps):
    rng = np.random.default_rng(5)
    x, dy = rng.normal(2, 3, size=(2, 4, 3, 5))
    axes = tuple(i % 3 for i in np.atleast_1d(axis))
    features = [x.shape[i] if i in axes else 1 for i in range(3)]
    gamma, beta = rng.normal(size=(2, *features))

    def loss(x, gamma, beta, center):
        return anp.sum(dy * norm_in_autograd(x, gamma, beta, axis=axes, eps=eps, center=center))

    for backward, center in ((layer_norm_backward, True), (rms_norm_backward, False)):
        gradients = backward(dy, x, np.squeeze(gamma), axis=axis, eps=eps)
        expected = [grad(loss, argument)(x, gamma, beta, center) for argument in (0, 1, 2)]
        for actual, wanted in zip(gradients, expected, strict=False):
            close(actual.ravel(), wanted.ravel(), 1e-12)
        without_gamma = backward(dy, x, axis=axis, eps=eps)
        close(without_gamma[0], grad(loss)(x, np.ones(features), beta, center), 1e-12)
        close(without_gamma[1].ravel(), expected[1].ravel(), 1e-12)
        assert gradients[1].shape == tuple(x.shape[i] for i in sorted(axes))


@pytest.mark.parametrize("eps", [0, 1e-5, 2.0])
def test_the_jacobian_is_autograds(eps):
    x = np.random.default_rng(6).normal(size=7)
    expected = jacobian(lambda x: norm_in_autograd(x, 1, 0, axis=0, eps=eps, center=True))(x)
    close(standardize_jacobian(x, eps=eps), expected, 1e-13)


# 50 digits


@given(
    hnp.arrays(np.int64, (3, 5), elements=st.integers(-100, 100)),
    st.sampled_from([0.0, 1e5, -1e9]),
    st.sampled_from([1.0, 1e-7, 1e-200, 1e180]),
    st.sampled_from([0.0, 1e-5]),
)
@settings(max_examples=40)
def test_backward_at_50_digits(rows, offset, scale, eps):
    steps, dy, gamma = rows
    x = (steps + offset) * scale
    assume(np.ptp(x) > 0)
    for backward, center in ((layer_norm_backward, True), (rms_norm_backward, False)):
        expected = exact_dx(dy, x, gamma, eps, center=center)
        spread = np.std(x / scale) if center else np.sqrt(np.mean((x / scale) ** 2))
        root = np.hypot(scale * spread, eps**0.5)
        close(backward(dy, x, gamma, eps=eps)[0] * root, expected * root, 1e-14 * (1 + np.abs(dy * gamma).max() * 5))


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_the_jacobian_at_50_digits(scale):
    x = X * scale
    close(standardize_jacobian(x) * scale, exact_jacobian(x) * scale, 1e-15)


# Algebra


@given(hnp.arrays(np.float64, st.integers(1, 9), elements=st.floats(-100, 100)))
def test_the_jacobian_kills_shifts_and_scalings(x):
    H = len(x)
    assume(np.std(x) > 1e-3)
    J, size = standardize_jacobian(x), np.abs(x).max() / np.std(x)
    close(J.sum(axis=1) * np.std(x), 0, 1e-13)  # Σⱼ ∂x̂ᵢ/∂xⱼ = 0
    close(J @ x, 0, 1e-13 * size)  # Σⱼ xⱼ ∂x̂ᵢ/∂xⱼ = 0
    assert np.linalg.matrix_rank(J, tol=1e-10 / np.std(x)) == H - 2
    close(J, J.T, 1e-13 / np.std(x))


def test_with_epsilon_only_the_shift_is_killed():
    J = standardize_jacobian(X, eps=0.1)
    close(J.sum(axis=1), 0, 1e-15)
    assert (np.abs(J @ X) > 1e-3).all()


@given(hnp.arrays(np.float64, (2, 3, 6), elements=st.floats(-10, 10)))
def test_dx_is_dy_through_the_jacobian(pair):
    x, dy = pair
    dx, _, _ = layer_norm_backward(dy, x)
    for i in range(3):
        close(dx[i], dy[i] @ standardize_jacobian(x[i], eps=1e-5), 1e-10)
    close(dx.sum(axis=1), 0, 1e-10)


def test_the_gradient_shrinks_as_the_row_grows():
    for backward in BACKWARDS:
        close(backward(DY, 1000 * X, GAMMA, eps=0)[0] * 1000, backward(DY, X, GAMMA, eps=0)[0], 1e-14)
    close(layer_norm_backward(DY, X + 100, GAMMA)[0], layer_norm_backward(DY, X, GAMMA)[0], 1e-13)


@pytest.mark.parametrize("backward", BACKWARDS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_layout_and_rank_change_no_bit(backward, dtype):
    x, dy = np.random.default_rng(7).normal(size=(2, 6, 8, 10)).astype(dtype)
    gamma = np.linspace(-1, 2, 10).astype(dtype)
    expected = backward(dy, x, gamma)
    for axis in range(3):
        moved = backward(np.moveaxis(dy, 2, axis), np.moveaxis(x, 2, axis), gamma, axis=axis)
        np.testing.assert_array_equal(moved[0], np.moveaxis(expected[0], 2, axis))
        np.testing.assert_array_equal(moved[1], expected[1])
    flat = backward(dy.reshape(48, 10), np.asfortranarray(x.reshape(48, 10)), gamma)
    for actual, wanted in zip(flat, expected, strict=True):
        assert actual.dtype == dtype
        np.testing.assert_array_equal(actual.ravel(), wanted.ravel())


@pytest.mark.parametrize("backward", BACKWARDS)
def test_many_rows_add_up(backward):
    x, dy = (
        np.random.default_rng(8).normal(size=(2, 40_001, 20)).astype(np.float32)
    )  # many blocks, and a short last one
    narrow, wide = backward(dy, x), backward(dy.astype(float), x.astype(float))
    close(narrow[0], wide[0], 1e-5)
    np.testing.assert_array_equal(backward(dy[-3:], x[-3:])[0], narrow[0][-3:])
    for actual, wanted in zip(narrow[1:], wide[1:], strict=True):
        close(actual, wanted, 1e-3)
    close(
        wide[1],
        np.sum(
            dy.astype(float) * (layer_norm if backward is layer_norm_backward else rms_norm)(x.astype(float)), axis=0
        ),
        1e-9,
    )


@pytest.mark.parametrize("backward", BACKWARDS)
def test_nan_inputs_and_empty_ones(backward):
    x = np.array([[1, 2, np.nan], [1, 2, 4]])
    dx = backward(np.array([[1.0, 2, 5]] * 2), x)[0]
    assert np.isnan(dx[0]).all()
    np.testing.assert_array_equal(dx[1], backward([1.0, 2, 5], x[1])[0])
    dx, dgamma, *_ = backward(np.empty((0, 4)), np.empty((0, 4)))
    assert dx.shape == (0, 4)
    np.testing.assert_array_equal(dgamma, np.zeros(4))
    assert np.isnan(backward([1.0, 2], [0.0, 0], eps=0)[0]).all()
    assert np.isnan(standardize_jacobian([7.0, 7])).all()
    with pytest.raises(ValueError, match="rows are empty"):
        backward(np.empty((2, 0)), np.empty((2, 0)))


@pytest.mark.parametrize("backward", BACKWARDS)
def test_inputs_are_never_changed_and_results_are_fresh(backward):
    arrays = [DY.copy(), X.copy(), GAMMA.copy()]
    for array in arrays:
        array.flags.writeable = False
    results = backward(*arrays)
    for array, original in zip(arrays, (DY, X, GAMMA), strict=True):
        np.testing.assert_array_equal(array, original)
        assert not any(np.shares_memory(array, result) for result in results)


def test_float16_is_computed_in_float32():
    dy, x = np.random.default_rng(12).normal(5, 3, (2, 100, 50)).astype(np.float16)
    for backward in BACKWARDS:
        wide = backward(dy.astype(np.float32), x.astype(np.float32))
        for narrow, expected in zip(backward(dy, x), wide, strict=True):
            np.testing.assert_array_equal(narrow, expected.astype(np.float16))


def test_integers_give_float64():
    for result in layer_norm_backward([1, -2, 0, 3], [1, 2, 4, 7], [1, 2, 0, -1]):
        assert result.dtype == np.float64
    assert standardize_jacobian(np.array([1, 2, 4], np.uint8)).dtype == np.float64
    assert standardize_jacobian(np.array([1, 2, 4], np.float32)).dtype == np.float32


@pytest.mark.parametrize("backward", BACKWARDS)
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((DY[:3], X), {}, r"dy has shape \(3,\); it must have the shape of x, \(4,\)"),
        ((1.0, X), {}, r"dy has shape \(\)"),
        ((DY[None], X), {}, r"dy has shape \(1, 4\)"),
        ((DY, X, GAMMA[:1]), {}, r"gamma has shape \(1,\)"),
        ((DY, X, GAMMA), {"axis": 1}, "axis=1 does not fit"),
        ((DY, X, GAMMA), {"axis": (0, -1)}, "does not fit"),
        ((DY, X, GAMMA), {"eps": -1}, "eps is -1"),
        ((DY > 0, X), {}, "dy must hold real numbers, not bool"),
        ((DY, X * 1j), {}, "x must hold real numbers, not complex128"),
    ],
)
def test_what_does_not_fit_is_refused(backward, arguments, options, message):
    with pytest.raises(ValueError, match=message):
        backward(*arguments, **options)


@pytest.mark.parametrize("x", [5.0, np.ones((1, 4)), [], ["a"], [True, False]])
def test_the_jacobian_wants_one_row(x):
    with pytest.raises(ValueError, match="x "):
        standardize_jacobian(x)
    with pytest.raises(ValueError, match="eps is"):
        standardize_jacobian([1.0, 2], eps=np.nan)


# Finite differences


def test_numerical_gradient_of_known_derivatives():
    close(numerical_gradient(lambda x: (x**2).sum(), [1, 2, 3]), [2, 4, 6], 1e-9)
    close(numerical_gradient(np.sin, [0.5, 2.0]), np.diag(np.cos([0.5, 2.0])), 1e-10)
    close(numerical_gradient(float, 3.0), 1, 1e-10)
    close(numerical_gradient(lambda x: x**3, np.array([1e6]))[0, 0] / 3e12, 1, 1e-9)  # h grows with x
    close(numerical_gradient(lambda x: 5 * x, 0), 5, 1e-10)


def test_numerical_gradient_has_the_shape_of_f_then_x():
    A = np.arange(6.0).reshape(2, 3)
    close(numerical_gradient(lambda x: A @ x, np.ones(3)), A, 1e-9)
    result = numerical_gradient(lambda x: np.outer(x.sum(axis=0), [1, 2]), np.ones((4, 3)))
    assert result.shape == (3, 2, 4, 3)
    close(result, np.einsum("ik,j->ijk", np.eye(3), [1, 2])[:, :, None, :] * np.ones((1, 1, 4, 1)), 1e-9)
    assert numerical_gradient(lambda x: x.sum(), np.empty((0, 3))).shape == (0, 3)


def test_numerical_gradient_is_of_second_order():
    errors = [abs(numerical_gradient(np.exp, 0.0, step=h) - 1) for h in (1e-2, 1e-3)]
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.01)
    assert errors[0] == pytest.approx(1e-4 / 6, rel=0.01)


def test_numerical_gradient_agrees_with_the_backward_passes():
    x, dy = np.random.default_rng(9).normal(size=(2, 3, 4))
    close(
        numerical_gradient(lambda x: (dy * layer_norm(x, GAMMA)).sum(), x), layer_norm_backward(dy, x, GAMMA)[0], 1e-8
    )
    close(numerical_gradient(lambda x: (dy * rms_norm(x, GAMMA)).sum(), x), rms_norm_backward(dy, x, GAMMA)[0], 1e-8)
    close(numerical_gradient(standardize, X), standardize_jacobian(X), 1e-9)
    for index in (1, 2):  # gamma, beta
        parameters = [x, GAMMA, DY]
        loss = lambda p: (dy * layer_norm(*parameters[:index], p, *parameters[index + 1 :])).sum()  # noqa: E731, B023
        close(numerical_gradient(loss, parameters[index]), layer_norm_backward(dy, x, GAMMA)[index], 1e-8)


def test_numerical_gradient_shields_x_from_f():
    def spoiler(x):
        x *= 2
        return x.sum()

    x = np.array([1.0, 2.0])
    close(numerical_gradient(spoiler, x), [2, 2], 1e-9)
    np.testing.assert_array_equal(x, [1, 2])


@pytest.mark.parametrize("step", [0, -1e-5, np.nan, np.inf])
def test_numerical_gradient_refuses_an_impossible_step(step):
    with pytest.raises(ValueError, match="step is"):
        numerical_gradient(np.sin, [1.0], step=step)


@pytest.mark.parametrize("value", [None, 1j, "a", True])
def test_numerical_gradient_refuses_values_that_are_not_real(value):
    with pytest.raises(ValueError, match=r"f\(x\) must hold real numbers"):
        numerical_gradient(lambda x: value, [1.0])
    with pytest.raises(ValueError, match="x must hold real numbers"):
        numerical_gradient(np.sin, [value])

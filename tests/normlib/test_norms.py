"""The norms, against hand-computed values, PyTorch's recorded values, 50-digit loops, and their own algebra."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from oracles import TORCH, exact_norm

from normlib.norms import batch_norm, layer_norm, rms_norm, standardize

pytestmark = pytest.mark.filterwarnings("error")
settings.register_profile("normlib", deadline=None, derandomize=True, max_examples=80)
settings.load_profile("normlib")

NAN = np.nan
NORMS = [standardize, layer_norm, rms_norm]
TOLERANCE = {"float16": 1e-3, "float32": 1e-6, "float64": 2e-15}  # relative to values of order 1

row_entries = st.floats(-100, 100, width=32)
matrices = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=row_entries)
axes_of_rank_3 = st.sampled_from([0, 1, 2, -1, -3, (0, 1), (1, 2), (-2, -1), (0, 2), (2, 0), (0, 1, 2)])


def close(actual, expected, tolerance=1e-10):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


# Values worked out by hand


def test_the_row_2_4_6_8():
    x_hat = np.array([-3, -1, 1, 3]) / 5**0.5
    close(standardize([2, 4, 6, 8]), x_hat, 1e-15)
    close(layer_norm([2, 4, 6, 8], [3] * 4, [-2] * 4, eps=0), 3 * x_hat - 2, 1e-15)
    close(layer_norm([2, 4, 6, 8], [5**0.5] * 4, [5] * 4, eps=0), [2, 4, 6, 8], 1e-15)
    close(layer_norm([100, 200, 300, 400], eps=0), x_hat, 1e-15)
    close(rms_norm([2, 4, 6, 8], eps=0), np.array([2, 4, 6, 8]) / 30**0.5, 1e-15)
    close(layer_norm([2, 4, 6, 8]), np.array([-3, -1, 1, 3]) / (5 + 1e-5) ** 0.5, 1e-15)


@pytest.mark.parametrize("start", [40000, 80000])
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64])
def test_a_large_offset_cancels_nothing(start, dtype):
    x = np.arange(start, start + 4).astype(dtype)
    close(layer_norm(x), [-1.34163542, -0.4472118067, 0.4472118067, 1.34163542], 3e-7 if dtype == np.float32 else 5e-9)


@pytest.mark.parametrize("row", [[1234.0] * 256, [0.1] * 3, [5.0], [-1e30] * 7, [0.0] * 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_row_becomes_beta(row, dtype):
    beta = np.linspace(-1, 1, len(row)).astype(dtype)
    y = layer_norm(np.array(row, dtype), np.full(len(row), 3.0), beta)
    np.testing.assert_array_equal(y, beta)


def test_a_constant_row_without_epsilon_is_nan():
    for x in ([7.0] * 4, [0.0] * 4, np.float32([7] * 4), [3]):
        assert np.isnan(standardize(x)).all()
        assert np.isnan(layer_norm(x, eps=0)).all()
    assert np.isnan(rms_norm(np.zeros(4), eps=0)).all()


def test_float16_zeros_with_an_epsilon_below_float16():
    y = layer_norm(np.zeros(8, np.float16), eps=1e-12)
    assert y.dtype == np.float16
    np.testing.assert_array_equal(y, np.zeros(8))
    np.testing.assert_array_equal(rms_norm(np.zeros(8, np.float16), eps=1e-12), np.zeros(8))


def test_float16_is_computed_in_float32():
    x = np.array([300, -300, 60000, 1000], np.float16)  # squares overflow float16
    close(layer_norm(x).astype(float), exact_norm(x, eps=1e-5), 1e-3)
    assert np.isinf(layer_norm(x, np.full(4, 60000.0))).any()  # too large for float16, and no warning
    x = np.random.default_rng(10).normal(5, 3, (200, 50)).astype(np.float16)
    for norm in (*NORMS, batch_norm):
        np.testing.assert_array_equal(norm(x), norm(x.astype(np.float32)).astype(np.float16))


def test_epsilon_is_inside_the_root():
    close(layer_norm([1, 0, 0, 0]), [1.7320046214, -0.5773348738, -0.5773348738, -0.5773348738])
    close(layer_norm([1e-3, 2e-3]), [-0.1561737619, 0.1561737619])


@pytest.mark.parametrize(
    ("scale", "dtype"), [(1e200, "f8"), (1e-200, "f8"), (4e307, "f8"), (1e-305, "f8"), (8e37, "f4"), (1e-36, "f4")]
)
def test_squares_that_overflow_or_vanish(scale, dtype):
    x = (scale * np.array([1, 2, 3, 4])).astype(dtype)
    close(standardize(x), [-1.3416407865, -0.4472135955, 0.4472135955, 1.3416407865], TOLERANCE[x.dtype.name] + 5e-11)
    close(rms_norm(x, eps=0), np.array([1, 2, 3, 4]) / 7.5**0.5, TOLERANCE[x.dtype.name])
    if scale > 1:
        np.testing.assert_array_equal(layer_norm(x), standardize(x))
    else:  # ε is all that is left under the root
        np.testing.assert_allclose(layer_norm(x), scale * np.array([-1.5, -0.5, 0.5, 1.5]) / 1e-5**0.5, rtol=1e-6)


def test_rms_norm_of_a_small_row():
    close(rms_norm([1e-4, 2e-4], eps=1e-6)[0], 0.0987729597)
    close(rms_norm([1e-4, 2e-4], eps=1e-5)[0], 0.0315833221)
    close(rms_norm([1e-4, 2e-4])[0], 0.0315833221)  # the default is 1e-5


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int8, np.uint64])
def test_integers_become_float64(dtype):
    y = layer_norm(np.array([1, 2, 3], dtype))
    assert y.dtype == np.float64
    close(y, [-1.2247356859, 0, 1.2247356859])
    close(standardize(np.array([0, 100], dtype)), [-1, 1])


def test_nan_spoils_its_own_row_only():
    x = np.array([[1, 2, NAN], [1, 2, 3], [np.inf, 2, 3], [1e200, 2e200, 3e200]])
    for norm in NORMS:
        y = norm(x)
        assert np.isnan(y[0]).all()
        np.testing.assert_array_equal(y[1], norm(x[1]))
        np.testing.assert_array_equal(y[3], norm(x[3]))
    assert np.isnan(layer_norm(x)[2]).all()


# PyTorch


@pytest.mark.parametrize("case", TORCH["layer_norm"] + TORCH["half"])
def test_layer_norm_is_pytorchs(case):
    x = np.array(case["x"], case["dtype"])
    y = layer_norm(x, case["gamma"], case["beta"], axis=case["axis"], eps=case["eps"])
    assert y.dtype == x.dtype
    np.testing.assert_allclose(y, case["y"], rtol=0, atol=10 * TOLERANCE[case["dtype"]])
    if case["gamma"] is None and case["beta"] is None:
        np.testing.assert_array_equal(standardize(x, axis=case["axis"], eps=case["eps"]), y)


@pytest.mark.parametrize("case", TORCH["rms_norm"])
def test_rms_norm_is_pytorchs(case):
    x = np.array(case["x"], case["dtype"])
    y = rms_norm(x, case["gamma"], axis=case["axis"], eps=case["eps"])
    assert y.dtype == x.dtype
    np.testing.assert_allclose(y, case["y"], rtol=0, atol=10 * TOLERANCE[case["dtype"]])


@pytest.mark.parametrize("case", TORCH["batch_norm"])
def test_batch_norm_is_pytorchs(case):
    tolerance = 10 * TOLERANCE[case["dtype"]]
    for step in case["steps"]:
        x = np.array(step["x"], case["dtype"])
        running = tuple(np.array(values, case["dtype"]) for values in step["before"])
        y, after = batch_norm(
            x, case["gamma"], case["beta"], running=running, training=step["training"], momentum=case["momentum"]
        )
        np.testing.assert_allclose(y, step["y"], rtol=0, atol=tolerance)
        np.testing.assert_allclose(after, step["after"], rtol=tolerance)
        assert y.dtype == after[0].dtype == after[1].dtype == x.dtype
        if step["training"]:
            np.testing.assert_array_equal(batch_norm(x, case["gamma"], case["beta"]), y)
        np.testing.assert_array_equal(running, np.array(step["before"], case["dtype"]))  # given arrays are not changed


def test_the_recorded_values_say_which_pytorch_made_them():
    assert TORCH["torch"] == "2.13.0"


# 50 digits


@given(
    hnp.arrays(np.int64, st.integers(2, 12), elements=st.integers(-1000, 1000)),
    st.sampled_from([0.0, 1.0, 1e5, 1e9, -1e12]),
    st.sampled_from([1.0, 1e-7, 1e-150, 1e-290, 1e140, 1e280]),
    st.sampled_from([0.0, 1e-5]),
)
def test_offsets_and_scales_at_50_digits(steps, offset, scale, eps):
    x = (steps + offset) * scale
    assume(np.ptp(x) > 0)
    close(layer_norm(x, eps=eps), exact_norm(x, eps=eps), 4e-15)
    close(rms_norm(x, eps=eps), exact_norm(x, eps=eps, center=False), 4e-15)


@given(
    hnp.arrays(np.int64, st.integers(2, 12), elements=st.integers(-1000, 1000)),
    st.sampled_from([0.0, 1e4, -1e6]),
    st.sampled_from([1.0, 1e-7, 1e-30, 1e25]),
)
def test_offsets_and_scales_in_float32(steps, offset, scale):
    x = ((steps + offset) * scale).astype(np.float32)
    assume(np.ptp(x) > 0)
    close(standardize(x), exact_norm(x), 2e-6)
    close(rms_norm(x, eps=0), exact_norm(x, center=False), 2e-6)


@given(hnp.arrays(np.float64, st.just((3, 2, 4)), elements=row_entries), axes_of_rank_3, st.data())
def test_any_axis_gamma_and_beta(x, axis, data):
    axes = tuple(sorted(i % 3 for i in np.atleast_1d(axis)))
    shape = tuple(x.shape[i] for i in axes)
    gamma, beta = (data.draw(hnp.arrays(np.float64, shape, elements=st.floats(-3, 3))) for _ in range(2))
    close(layer_norm(x, gamma, beta, axis=axis), exact_norm(x, gamma, beta, axis=axes, eps=1e-5), 1e-13)
    close(layer_norm(x, gamma, axis=axis, eps=0.5), exact_norm(x, gamma, axis=axes, eps=0.5), 1e-13)
    close(layer_norm(x, None, beta, axis=axis), exact_norm(x, None, beta, axis=axes, eps=1e-5), 1e-13)
    close(rms_norm(x, gamma, axis=axis), exact_norm(x, gamma, axis=axes, eps=1e-5, center=False), 1e-13)


def test_a_long_row_in_float32_keeps_its_digits():
    x = np.random.default_rng(1).normal(3, 2, 300_001).astype(np.float32)
    wide = x.astype(np.float64)
    close(standardize(x), (wide - wide.mean()) / wide.std(), 1e-5)
    close(rms_norm(x), wide / np.sqrt((wide**2).mean() + 1e-5), 1e-5)


# Algebra


@given(matrices, st.integers(-900, 900))
def test_scaling_by_a_power_of_two_changes_no_bit(x, exponent):
    np.testing.assert_array_equal(standardize(np.ldexp(x, exponent)), standardize(x))
    np.testing.assert_array_equal(rms_norm(np.ldexp(x, exponent), eps=0), rms_norm(x, eps=0))


@given(hnp.arrays(np.int64, (3, 5), elements=st.integers(-99, 99)), st.integers(1, 999), st.integers(-9999, 9999))
def test_shift_and_scale_invariance(x, a, b):
    close(standardize(a * x + b), standardize(x), 1e-14)  # integers: a·x + b is exact
    close(standardize(-a * x + b), -standardize(x), 1e-14)
    close(rms_norm(a * x, eps=0), rms_norm(x, eps=0), 1e-14)


def test_what_invariance_does_not_cover():
    x = np.array([2.0, 4, 6, 8])
    assert not np.allclose(standardize(x * [10, 1, 1, 1]), standardize(x))  # one feature scaled
    assert not np.allclose(rms_norm(x + 1), rms_norm(x))  # RMS normalization sees a shift
    assert not np.allclose(layer_norm(x * 1e-3), layer_norm(x), atol=1e-3)  # ε is felt by a small row
    np.testing.assert_array_equal(layer_norm(0 * x), np.zeros(4))


@given(matrices, st.sampled_from([0.0, 1e-5, 1.0]))
def test_zero_mean_and_the_mean_square(x, eps):
    variance = np.array([np.var(row - row[0]) for row in x])
    assume((variance > 1e-6).all())
    x_hat = standardize(x, eps=eps)
    close(x_hat.mean(axis=1), 0, 1e-14)
    close((x_hat**2).mean(axis=1), variance / (variance + eps), 1e-9)


@given(matrices)
def test_the_bounds(x):
    H, ulps = x.shape[1], 1 + 1e-14
    y, z = standardize(x), rms_norm(x, eps=0)
    assert (np.abs(y[~np.isnan(y)]) <= (H - 1) ** 0.5 * ulps).all()
    assert (np.abs(z[~np.isnan(z)]) <= H**0.5 * ulps).all()
    assert (np.abs(layer_norm(x)) <= (H - 1) ** 0.5 * ulps).all()


@pytest.mark.parametrize("H", [2, 3, 4, 64, 768])
def test_one_outlier_attains_the_bounds(H):
    x = np.eye(H)[0]
    assert standardize(x)[0] == pytest.approx((H - 1) ** 0.5, rel=1e-14)
    assert standardize(5 - 3 * x)[0] == pytest.approx(-((H - 1) ** 0.5), rel=1e-14)
    assert rms_norm(x, eps=0)[0] == pytest.approx(H**0.5, rel=1e-14)
    assert layer_norm(x)[0] < (H - 1) ** 0.5  # never with ε > 0


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_does_not_see_its_batch(norm, dtype):
    x = np.random.default_rng(2).normal(size=(1500, 130)).astype(dtype)  # more rows than one block holds
    y = norm(x)
    for i in (0, 1, 7, 777, 1499):
        np.testing.assert_array_equal(norm(x[i]), y[i])
    np.testing.assert_array_equal(norm(x[::-1]), y[::-1])


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_layout_and_rank_change_no_bit(norm, dtype):
    x = np.random.default_rng(3).normal(size=(6, 8, 10)).astype(dtype)
    y = norm(x)
    assert y.dtype == dtype
    assert y.flags.c_contiguous
    wide = np.repeat(x, 2, axis=2)
    for same in (np.asfortranarray(x), wide[..., ::2], x[..., ::-1][..., ::-1], x.astype(x.dtype.newbyteorder())):
        np.testing.assert_array_equal(norm(same), y)
    np.testing.assert_array_equal(norm(x.reshape(48, 10)), y.reshape(48, 10))
    for axis in range(3):
        moved = np.moveaxis(x, 2, axis)
        np.testing.assert_array_equal(norm(moved, axis=axis), np.moveaxis(y, 2, axis))
        assert norm(moved, axis=axis).flags.c_contiguous
        np.testing.assert_array_equal(norm(moved, axis=axis - 3), np.moveaxis(y, 2, axis))
    flat = norm(x.reshape(6, 80)).reshape(x.shape)
    for axis in ((1, 2), (-2, -1), (2, 1), [1, 2]):
        np.testing.assert_array_equal(norm(x, axis=axis), flat)


def test_a_list_is_as_good_as_an_array():
    np.testing.assert_array_equal(
        layer_norm([[1, 2], [3, 5]], (1, 2), [0, 1]), layer_norm(np.array([[1, 2], [3, 5]]), [1, 2], [0, 1])
    )


def test_inputs_are_never_changed():
    rng = np.random.default_rng(4)
    for dtype in (np.float16, np.float32, np.float64, np.int64):
        x, (gamma, beta, mean) = (9 * rng.normal(size=(5, 4))).astype(dtype), rng.normal(size=(3, 4)).astype(dtype)
        given_arrays = (x, gamma, beta, mean, np.ones(4))
        before = [array.copy() for array in given_arrays]
        for array in given_arrays:
            array.flags.writeable = False
        results = [layer_norm(x, gamma, beta), rms_norm(x, gamma), standardize(x), batch_norm(x, gamma, beta)]
        results += [batch_norm(x, running=given_arrays[3:])[0]]
        for array, copy in zip(given_arrays, before, strict=True):
            np.testing.assert_array_equal(array, copy)
            assert not any(np.shares_memory(array, result) for result in results)


def test_float32_parameters_do_not_widen_and_float64_ones_do_not_either():
    x = np.float32([1, 2, 3])
    assert layer_norm(x, np.ones(3), np.zeros(3)).dtype == np.float32
    assert layer_norm(x.astype(float), np.ones(3, np.float32)).dtype == np.float64
    assert batch_norm(np.float32([[1], [2]]), [2.0], [1.0], running=([0.0], [1.0]))[0].dtype == np.float32


# Batch normalization

BATCH = [[2, 15, 2, 1], [2, 17, 2, 1], [-4, -2, -2, -1]]


def test_running_statistics_by_hand():
    y, (mean, var) = batch_norm(BATCH, running=(np.zeros(4), np.ones(4)))
    close(mean, [0, 1, 0.2 / 3, 0.1 / 3])
    close(var, [2.1, 11.8, 1.3 + 0.4 / 3, 0.9 + 0.4 / 3])
    close(y[:, 0], np.array([2, 2, -4]) / (8 + 1e-5) ** 0.5)  # divisor B = 3 for the output
    close(y, standardize(np.array(BATCH), axis=0, eps=1e-5), 1e-15)


def test_running_statistics_of_a_long_float32_batch():
    x = np.random.default_rng(11).normal(1000, 1, (200_000, 1)).astype(np.float32)
    _, (mean, var) = batch_norm(x, running=([0], [1]), momentum=1)
    close(mean, x.astype(float).mean(axis=0), 1e-9)
    close(var, x.astype(float).var(axis=0, ddof=1), 1e-9)


def test_inference_uses_the_running_statistics_and_leaves_them():
    running = (np.array([1.0, 2, 3, 4]), np.array([4.0, 9, 16, 25]))
    y, after = batch_norm(BATCH, [1, 2, 3, 4], [0, 1, 0, 1], running=running, training=False, eps=0)
    close(y[0], [0.5, 2 * 13 / 3 + 1, -0.75, 4 * -3 / 5 + 1])
    np.testing.assert_array_equal(after, running)
    y_one, _ = batch_norm(BATCH[:1], [1, 2, 3, 4], [0, 1, 0, 1], running=running, training=False, eps=0)
    close(y_one[0], y[0], 0)  # an example does not see its batch in inference


def test_a_batch_of_one_in_training_says_only_beta():
    np.testing.assert_array_equal(batch_norm([[3.0, -8, 1e6]], [5, 5, 5], [1, 2, 3]), [[1, 2, 3]])
    with pytest.raises(ValueError, match="single example"):
        batch_norm([[3.0, -8]], running=([0, 0], [1, 1]))


def test_momentum_zero_and_one():
    zeros, ones = np.zeros(4), np.ones(4)
    np.testing.assert_array_equal(batch_norm(BATCH, running=(zeros, ones), momentum=0)[1], (zeros, ones))
    close(batch_norm(BATCH, running=(zeros, ones), momentum=1)[1], [np.mean(BATCH, 0), np.var(BATCH, 0, ddof=1)])


def test_nan_spoils_its_own_feature_only():
    y = batch_norm([[1, NAN], [2, 5], [3, 6]])
    assert np.isnan(y[:, 1]).all()
    close(y[:, 0], layer_norm([1, 2, 3]), 0)


# Empty, and refused


@pytest.mark.parametrize("norm", NORMS)
def test_no_rows_give_no_rows(norm):
    for shape, axis in (((0, 4), -1), ((0, 4), 1), ((3, 0, 4), 2), ((3, 0, 4), (0, 2))):
        for dtype in (np.float32, np.int64):
            y = norm(np.empty(shape, dtype), axis=axis)
            assert y.shape == shape
    y, _ = batch_norm(np.empty((0, 4)), running=(np.zeros(4), np.ones(4)), training=False)
    assert y.shape == (0, 4)


@pytest.mark.parametrize("norm", [*NORMS, batch_norm])
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.array([[True, False]]), "real numbers, not bool"),
        (np.array([[1j, 2]]), "real numbers, not complex128"),
        (np.array([["a", "b"]]), "real numbers, not <U1"),
        (np.array([[1, None]]), "real numbers, not object"),
        (np.array([["2020-01-01"]], "M8[D]"), "real numbers, not datetime64"),
        (None, "real numbers, not object"),
        ([[1, 2], [3]], "ragged"),
    ],
)
def test_what_is_not_real_is_refused(norm, x, message):
    with pytest.raises(ValueError, match=message):
        norm(x)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("axis", [2, -3, (1, 2), (-1, 1), (0, 0), (), None, 1.0, "1", (0, 1, 2)])
def test_axes_that_do_not_fit_are_refused(norm, axis):
    with pytest.raises(ValueError, match=r"does not fit x of shape \(2, 4\)") as caught:
        norm(np.ones((2, 4)), axis=axis)
    assert type(caught.value) is ValueError


@pytest.mark.parametrize("norm", NORMS)
def test_rows_without_entries_are_refused(norm):
    for x, axis in (
        (np.empty((2, 0)), -1),
        ([], 0),
        (np.empty((0, 4)), 0),
        (np.empty((0, 0)), 1),
        (np.empty((2, 0, 3)), (1, 2)),
    ):
        with pytest.raises(ValueError, match="rows are empty"):
            norm(x, axis=axis)
    with pytest.raises(ValueError, match="does not fit"):
        norm(5.0)
    with pytest.raises(ValueError, match="rows are empty"):
        batch_norm(np.empty((0, 4)))


@pytest.mark.parametrize("eps", [-1e-5, NAN, np.inf, -np.inf, "small", None, 1j])
def test_an_impossible_epsilon_is_refused(eps):
    for norm in NORMS:
        with pytest.raises(ValueError, match="eps is"):
            norm([1.0, 2], eps=eps)
    for options in ({}, {"running": ([0.0], [1.0])}, {"running": ([0.0], [1.0]), "training": False}):
        with pytest.raises(ValueError, match="eps is"):
            batch_norm([[1.0], [2]], eps=eps, **options)


@pytest.mark.parametrize("shape", [(3,), (5,), (1,), (), (1, 4), (4, 1), (2, 4), (0,)])
def test_parameters_of_another_shape_are_refused(shape):
    x, wrong, right = np.ones((2, 4)), np.ones(shape), np.ones(4)
    for call in (
        lambda: layer_norm(x, wrong),
        lambda: layer_norm(x, right, wrong),
        lambda: rms_norm(x, wrong),
        lambda: batch_norm(x, wrong),
        lambda: batch_norm(x, right, wrong),
    ):
        with pytest.raises(ValueError, match=r"(gamma|beta) has shape \(.*it must have shape \(4,\)"):
            call()


def test_parameters_follow_the_normalized_axes():
    x = np.ones((2, 3, 4))
    assert layer_norm(x, np.ones((3, 4)), axis=(2, 1)).shape == x.shape
    for shape, axis in (((4, 3), (1, 2)), ((12,), (1, 2)), ((4,), (1, 2)), ((4,), 1), ((3, 4), 2)):
        with pytest.raises(ValueError, match="gamma has shape"):
            layer_norm(x, np.ones(shape), axis=axis)
    with pytest.raises(ValueError, match="beta must hold real numbers"):
        layer_norm(x, beta=np.ones(4, bool))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"training": False}, "needs the running statistics"),
        ({"running": (np.zeros(4), np.ones(3))}, r"running variance has shape \(3,\)"),
        ({"running": (np.zeros(1), np.ones(4))}, r"running mean has shape \(1,\)"),
        ({"running": (np.zeros(4), -np.ones(4))}, "below zero"),
        ({"running": (np.zeros(4),)}, "a pair"),
        ({"running": 5}, "a pair"),
        ({"momentum": 1.5}, "momentum is 1.5"),
        ({"momentum": NAN}, "momentum is nan"),
    ],
)
def test_batch_norm_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        batch_norm(np.ones((3, 4)), **options)


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4), ()])
def test_batch_norm_takes_matrices_only(shape):
    with pytest.raises(ValueError, match=r"takes \(B, H\)"):
        batch_norm(np.ones(shape))


def test_nothing_warns_even_when_numpy_is_told_to_raise():
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in ([[7.0, 7]], [[NAN, 1]], [[np.inf, -np.inf]], [[1e308, -1e308]], [[5e-324, 0]]):
            for norm in NORMS:
                norm(x, eps=0)
            batch_norm(x + x, running=([0, 0], [0, 0]), eps=0)
            batch_norm(x, running=([0, 0], [0, 0]), eps=0, training=False)

"""Layer normalization, small enough to read: the norms, their gradients, and checks that say what went wrong."""

from normlib.checking import check, instance
from normlib.gradients import layer_norm_backward, numerical_gradient, rms_norm_backward, standardize_jacobian
from normlib.norms import batch_norm, layer_norm, rms_norm, standardize
from normlib.practice import practice

__all__ = [
    "batch_norm",
    "check",
    "instance",
    "layer_norm",
    "layer_norm_backward",
    "numerical_gradient",
    "practice",
    "rms_norm",
    "rms_norm_backward",
    "standardize",
    "standardize_jacobian",
]

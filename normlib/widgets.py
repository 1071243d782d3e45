"""Interactive parts: the explorer (an ipywidget, and a live figure on the website), sliders, and in-page self-checks."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import numpy as np
import traitlets

from normlib import figures
from normlib.norms import batch_norm, layer_norm, rms_norm

__all__ = ["Explorer", "normalize", "self_check", "sliders"]

HERE = Path(__file__).parent
NORMS = {"LayerNorm": "layer", "RMSNorm": "rms", "BatchNorm": "batch"}

# Runs a module written for anywidget on a page without a kernel: it gives it the element's state as its model.
# The module stands in the page itself, so the page works from a folder, in an export and without a network.
LOADER = """
<script type="module">
const { default: widget } = await import("data:text/javascript," + encodeURIComponent(SOURCE));
for (const el of document.querySelectorAll(".NAME:not([data-live])")) {
  el.dataset.live = "";
  const state = JSON.parse(el.dataset.state);
  widget.render({ el, model: {
    get: (key) => state[key], set: (key, value) => { state[key] = value; }, save_changes() {}, on() {}, off() {},
  } });
}
</script>
"""


def normalize(
    x: Any, *, norm: str = "layer", gamma: float = 1.0, beta: float = 0.0, eps: float = 1e-5, batch: Any = ()
) -> np.ndarray:
    """Normalize one row with any of the three norms.

    Parameters
    ----------
    x : array_like, shape (H,)
        The row.
    norm : {"layer", "rms", "batch"}
        Which norm.
    gamma, beta : float
        Scale and shift of every feature; for RMSNorm, too, `beta` is added, so that the three can be compared.
    eps : float
        Added to the variance (or the mean square), inside the root.
    batch : array_like, shape (B − 1, H)
        The other rows of the batch; only BatchNorm looks at them.

    Returns
    -------
    numpy.ndarray, shape (H,)
        The normalized row.
    """
    x = np.asarray(x, dtype=float)
    scale, shift = np.full(x.size, float(gamma)), np.full(x.size, float(beta))
    if norm == "layer":
        return layer_norm(x, scale, shift, eps=eps)
    if norm == "rms":
        return rms_norm(x, scale, eps=eps) + shift
    return batch_norm(np.array([x, *batch]), scale, shift, eps=eps)[0]


class Explorer(anywidget.AnyWidget):
    """A row of bars to drag, and what LayerNorm, RMSNorm or BatchNorm makes of it.

    In JupyterLab it is a widget whose traits follow the figure; on the website the same figure runs by itself.

    Parameters
    ----------
    x : list of float
        The row, 2 to 8 features.
    gamma, beta, eps : float
        Scale, shift, and what is added to the variance.
    norm : {"layer", "rms", "batch"}
        Which norm to start with.
    batch : list of list of float
        The other rows of the batch for BatchNorm, each as long as `x`.

    Raises
    ------
    traitlets.TraitError
        If `x` or `batch` has another shape, or `eps` is negative.
    """

    _esm = HERE / "explorer.js"

    x = traitlets.List(traitlets.CFloat(), [2.0, 4.0, 6.0, 8.0], minlen=2, maxlen=8).tag(sync=True)
    gamma = traitlets.CFloat(1.0).tag(sync=True)
    beta = traitlets.CFloat(0.0).tag(sync=True)
    eps = traitlets.CFloat(1e-5, min=0.0).tag(sync=True)
    norm = traitlets.Enum(list(NORMS.values()), "layer").tag(sync=True)
    batch = traitlets.List(traitlets.List(traitlets.CFloat())).tag(sync=True)
    colors = traitlets.Dict(figures.COLORS).tag(sync=True)

    @traitlets.default("batch")
    def _batch(self) -> list[list[float]]:
        middle = [[1, 7, 4, 10, 2, 5, 8, 3], [5, 1, 7, 6, 9, 2, 4, 7]]
        return [[float(v) for v in row[: len(self.x)]] for row in middle]

    @traitlets.validate("batch")
    def _check_batch(self, proposal: dict[str, Any]) -> list[list[float]]:
        if any(len(row) != len(self.x) for row in proposal["value"]):
            raise traitlets.TraitError(f"each row of batch must have {len(self.x)} numbers, as x has")
        return proposal["value"]

    @property
    def y(self) -> np.ndarray:
        """What the norm makes of the row, shape (H,)."""
        names = ("norm", "gamma", "beta", "eps", "batch")
        return normalize(self.x, **{name: getattr(self, name) for name in names})

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle, metadata = super()._repr_mimebundle_(**kwargs)
        names = ("x", "gamma", "beta", "eps", "norm", "batch", "colors")
        state = {name: getattr(self, name) for name in names}
        picture = figures.steps(self.x, self.gamma, self.beta, self.eps or 1e-12)._repr_html_()
        still = f"{picture}<p>LayerNorm of this row. With JavaScript, you can move everything in this figure.</p>"
        return {**bundle, "text/html": _live("explorer", state, still)}, metadata


def _live(name: str, state: dict[str, Any], still: str) -> str:
    """Put a module of this package on a page: `still` is what it shows without JavaScript."""
    source = json.dumps((HERE / f"{name}.js").read_text(encoding="utf-8"), ensure_ascii=False).replace("</", "<\\/")
    data = html.escape(json.dumps(state, ensure_ascii=False))
    css_class = f"normlib-{name}"
    loader = LOADER.replace("NAME", css_class).replace("SOURCE", source)
    return f'<div class="{css_class}" data-state="{data}">{still}</div>{loader}'

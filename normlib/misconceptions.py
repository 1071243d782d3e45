"""Every named mistake with the one sentence that teaches, and where the course explains it."""

from __future__ import annotations

# Sections of the chapters that explain an idea: anchor -> (chapter, heading).
IDEAS: dict[str, tuple[str, str]] = {
    "axis": ("level-1-recognition", "Across the row"),
    "affine": ("level-1-recognition", "Stretch and slide"),
    "epsilon": ("level-1-recognition", "A floor under the root"),
    "recipe": ("level-2-application", "Center, then scale"),
    "divisor": ("level-2-application", "Divide by H"),
    "constant-row": ("level-2-application", "A row without spread"),
    "invariance": ("level-3-analysis", "What LayerNorm forgets"),
    "feature-trap": ("level-3-analysis", "One feature is not the whole row"),
    "no-op": ("level-3-analysis", "Undoing it for one row"),
    "batch-of-one": ("level-3-analysis", "A batch of one"),
    "running": ("level-3-analysis", "Running statistics"),
    "rms": ("level-4-synthesis", "RMSNorm: scale only"),
    "residual": ("level-4-synthesis", "After a residual sum"),
    "target": ("level-4-synthesis", "Aim for a mean and a spread"),
    "jacobian": ("level-5-mastery", "Every entry of the gradient"),
    "scaled-gradient": ("level-5-mastery", "Ten times larger, ten times flatter"),
    "backward": ("level-5-mastery", "The backward pass"),
    "bound": ("level-5-mastery", "No entry beyond √(H − 1)"),
    "why-transformers": ("level-5-mastery", "Why Transformers use it"),
}

# Name -> (sentence, anchor of the idea). At most 200 characters; never a value that is asked for.
MISCONCEPTIONS: dict[str, tuple[str, str]] = {
    # which numbers are averaged
    "axes-swapped": ("You averaged down a column. LayerNorm stays in one row and averages its features; BatchNorm goes down a column.", "axis"),
    "axes-from-one": ("There is no such axis here. NumPy counts from 0: the two axes of a (B, H) array are 0 and 1.", "axis"),
    "wrong-axis": ("You averaged over the examples of the batch. LayerNorm takes each row by itself: use the last axis.", "axis"),
    "whole-array": ("You averaged over the whole array. Each row needs a mean and a variance of its own.", "axis"),
    "sum-for-mean": ("You summed but did not divide. A mean is the sum divided by how many numbers there are, H.", "recipe"),
    "layer-norm-instead": ("You normalized across the row. BatchNorm takes one feature and averages it over the examples of the batch.", "axis"),
    "batch-norm-instead": ("You normalized down the columns, as BatchNorm does. LayerNorm only looks at the row itself.", "axis"),
    # the divisor and the spread
    "ddof-1": ("You divided by H − 1 (ddof=1), which estimates a population's variance. LayerNorm describes this very row: divide by H.", "divisor"),
    "count-other-axis": ("You divided by the length of the other axis. A mean divides by how many numbers were added up.", "axis"),
    "count-off": ("You divided by H − 1. There are H numbers, and a mean divides by all of them.", "divisor"),
    "variance-not-centered": ("You averaged the squares of x itself. The variance averages the squares of the deviations x − μ.", "recipe"),
    "sum-of-squares": ("You added up the squared deviations but did not divide. The variance is their mean: divide by H.", "divisor"),
    "std-for-variance": ("This is the standard deviation, the root of the variance. The variance itself has no root.", "recipe"),
    "negative-spread": ("A standard deviation is never negative: it is the root of a mean of squares.", "recipe"),
    "variance-for-std": ("You used the variance where the standard deviation belongs. Take its root.", "recipe"),
    "mean-absolute-deviation": ("You averaged the sizes of the deviations. The variance averages their squares.", "recipe"),
    "rms-for-mean": ("This is the root mean square. The mean averages the numbers themselves, with their signs.", "recipe"),
    "no-centering": ("You did not subtract the mean first. LayerNorm centers the row, then divides; without it the offset stays in.", "recipe"),
    "no-scaling": ("You centered but did not divide. The deviations still carry the row's scale; divide by √(σ² + ε).", "recipe"),
    "rms-for-layer": ("You divided by the root mean square without centering: that is RMSNorm. LayerNorm subtracts the mean first.", "rms"),
    "integers-kept": ("Your result keeps the integer type of its input, which cuts the decimals off. Make x an array of floats first.", "recipe"),
    "rounded-inside": ("You rounded inside the function. Return all digits: what is small loses them otherwise.", "recipe"),
    "sign-flipped": ("The signs are the other way round. A deviation is x − μ: numbers below the mean come out negative.", "recipe"),
    # eps
    "eps-missing": ("You left ε out. It keeps the divisor away from 0; without it a constant row becomes 0/0.", "epsilon"),
    "eps-outside-root": ("You added ε after the root. Inside, the smallest divisor is √ε; outside it is only ε, and small rows come out differently.", "epsilon"),
    "eps-inside-root": ("You added ε under the root. Here it is added after the root, to the standard deviation.", "epsilon"),
    "eps-for-floor": ("This is what stands under the root. The divisor is what comes out of the root.", "epsilon"),
    "root-for-floor": ("This is √ε. After the root ε is added as it is. What is left when σ is 0?", "epsilon"),
    "eps-squared": ("You squared ε. A root makes a small number larger, not smaller.", "epsilon"),
    "eps-fixed": ("You wrote ε as a number of your own. It comes in as the argument eps and may be another one.", "epsilon"),
    "eps-not-asked": ("You added an ε. This one is asked for with ε = 0; on small rows the difference shows.", "epsilon"),
    "zero-over-zero": ("The deviation and the divisor are both 0 here. Ask NumPy what 0/0 is: neither 0 nor infinity.", "constant-row"),
    "constant-kept": ("A constant row is not left as it is: every deviation is 0, so nothing of its value remains.", "constant-row"),
    "divided-by-eps": ("Start with the deviations of this row from its mean. Only then divide.", "constant-row"),
    # gamma and beta
    "gamma-beta-swapped": ("You swapped γ and β. γ multiplies and β is added: y = γ·x̂ + β.", "affine"),
    "gamma-before-standardizing": ("You scaled before standardizing, which then takes the scale out again. γ and β come last.", "affine"),
    "shift-before-stretch": ("You added β before multiplying, so it was stretched too. Multiply by γ first, then add β.", "affine"),
    "standardizing-missing": ("You stretched and slid x itself. Standardize it first: y = γ·x̂ + β.", "affine"),
    "affine-missing": ("You stopped at x̂. The last step is y = γ·x̂ + β.", "affine"),
    "beta-missing": ("β is not added. The last step is y = γ·x̂ + β.", "affine"),
    "gamma-ignored": ("You left γ out. It multiplies each feature of x̂, and on the way back each entry of dy.", "affine"),
    "x-hat-learned": ("x̂ is not learned. It is computed from the row each time.", "affine"),
    "statistics-learned": ("The mean and the variance are not learned. They are computed from the row each time.", "affine"),
    "eps-learned": ("ε is neither learned nor computed. It is a small constant that you choose.", "affine"),
    "half-learned": ("One of the two learned vectors is missing. There is one that stretches and one that slides.", "affine"),
    "learned-computed-swapped": ("It is the other way round: what is stored and trained is not computed from the row.", "affine"),
    "one-vector": ("You counted one of γ and β. Both have one number for each feature.", "affine"),
    "scalars": ("You gave γ and β one number each. They are vectors with one number for each feature.", "affine"),
    "per-example": ("You counted parameters for every example. All rows share the same γ and β.", "affine"),
    "not-one-axis": ("γ is a plain vector, so its shape is a tuple with one entry. Python writes it with a comma, as in (3,).", "affine"),
    "matrix-parameters": ("You counted a full matrix. γ and β act on each feature by itself: one number each.", "affine"),
    # invariance
    "shift-lost": ("The b is missing. Adding b to every number adds b to the mean.", "invariance"),
    "scale-lost": ("The a is missing. Multiplying every number by a also multiplies what you compute here.", "invariance"),
    "number-for-mean": ("This is one number of the new row, not its mean. Average over all H of them; the single x drops out.", "invariance"),
    "old-mean": ("You subtracted the old mean. The mean moves along with the row: subtract the new one.", "invariance"),
    "shift-kept": ("b is still there. It stands in the number and in the mean, so the difference loses it.", "invariance"),
    "statistic-unchanged": ("You left it as it was. Work out what a·x + b does to each number, then average.", "invariance"),
    "variance-scales-once": ("You scaled the variance by a. It averages squares, so a comes out squared.", "invariance"),
    "scale-kept": ("a is still there. It stands above and below the fraction line and cancels.", "invariance"),
    "sign-lost": ("A negative factor is not erased completely: the spread loses its sign, the deviations keep it.", "invariance"),
    "per-feature": ("Scaling a single feature is not erased: the row then has another shape, not only another size.", "feature-trap"),
    "shift-not-erased": ("A shift of the whole row is erased: the mean moves along and is subtracted.", "invariance"),
    "scale-not-erased": ("A scaling of the whole row is erased: the spread grows along and is divided out.", "invariance"),
    "uniform-factor": ("All your factors are equal, so this scales the whole row, and that is erased. Change one feature only.", "feature-trap"),
    "not-positive": ("Use factors above 0 only: 0 and a change of sign are another story.", "feature-trap"),
    "too-small-a-change": ("With these factors the result moves by less than 0.01. Try others: one far from 1, the rest as they are.", "feature-trap"),
    "signed-gap": ("You took the largest signed difference. A large negative one counts too: take the absolute value first.", "invariance"),
    # the no-op
    "inverse-std": ("You divided once more. To undo a division by σ you multiply by σ.", "no-op"),
    "beta-negated": ("The sign of β is wrong. The mean was subtracted; to undo that you add it.", "no-op"),
    "beta-zero": ("With β = 0 the row stays centered at 0. Put the mean back.", "no-op"),
    "same-statistics": ("This row has the same mean and spread, so the same γ and β undo it too. Change one of the two.", "no-op"),
    # batch norm
    "batch-statistics-in-inference": ("You used the batch's own statistics in inference. There BatchNorm takes the running mean and variance.", "running"),
    "running-in-training": ("You used the running statistics in training. There BatchNorm takes those of the batch itself.", "running"),
    "biased-running-variance": ("The running variance is updated with the batch variance divided by B − 1 (PyTorch's convention), not by B.", "running"),
    "batch-ddof-1": ("BatchNorm's output uses the batch variance divided by B, not by B − 1. Only the running variance is fed the latter.", "running"),
    "momentum-reversed": ("Momentum is the wrong way round: the batch's value gets the weight momentum, the old one the rest.", "running"),
    "momentum-fixed": ("You wrote the momentum as a number of your own. It comes in as an argument and may be another one.", "running"),
    "running-not-updated": ("The running statistics come back unchanged from training. Move them towards the batch's.", "running"),
    "running-updated-in-inference": ("You updated the running statistics in inference. They only change in training.", "running"),
    "statistics-swapped": ("You returned the variance where the mean belongs. The pair is (mean, variance).", "running"),
    "signed-serving-gap": ("You took the largest signed difference. A large negative one counts too: take the absolute value first.", "why-transformers"),
    "bn-collapses-in-inference": ("In inference BatchNorm uses running statistics, so a batch of one does not collapse. It does in training.", "batch-of-one"),
    "same-in-both": ("In training BatchNorm uses the batch's statistics, in inference the running ones. Where they differ, so do the outputs.", "running"),
    "running-in-layer-norm": ("LayerNorm keeps no running averages. It computes the same thing in training and in inference.", "why-transformers"),
    # RMS norm
    "rms-centered": ("You subtracted the mean. RMSNorm does not center: it divides the row by its root mean square.", "rms"),
    "std-for-rms": ("You used the standard deviation. RMSNorm uses the root of the mean square, without centering.", "rms"),
    "no-root": ("The root is missing. Root mean square: square, average, then take the root.", "rms"),
    "rms-shift-invariant": ("RMSNorm does not erase a shift: the offset stays in the mean square.", "rms"),
    # residual sum
    "norm-before-sum": ("You normalized x and then added. Here the sum itself is normalized: first add, then normalize.", "residual"),
    "norm-of-branch": ("You normalized only the branch. Here the sum x + F(x) is normalized.", "residual"),
    "norm-each": ("You normalized the two parts one by one. Add them first, then normalize once.", "residual"),
    "factor-kept": ("The factor is still in the result. A scaling of the whole row is divided out.", "invariance"),
    "branch-factor": ("This is the factor of the branch alone. Compare the sum with x.", "residual"),
    "factor-inverted": ("This is one over the factor. Ask what x must be multiplied by.", "residual"),
    # target
    "one-solution": ("One solution is missing. The spread is |γ|, so a second γ does it too.", "target"),
    "spread-is-gamma": ("γ enters the spread as |γ|: it does not change with the sign of γ.", "target"),
    # gradients
    "no-mean-term": ("The part through the mean is missing. μ contains every x, so each entry also acts through it.", "jacobian"),
    "no-variance-term": ("The part through the variance is missing. σ moves with every x, too.", "jacobian"),
    "statistics-constant": ("You treated μ and σ as constants. Both depend on x, and each adds a term.", "jacobian"),
    "diagonal-only": ("Only the diagonal is filled. Every x moves every x̂, through the mean and the variance.", "jacobian"),
    "no-sigma": ("The factor 1/σ is missing. A row ten times as wide reacts ten times less.", "jacobian"),
    "terms-added": ("Check the signs. Raising one x also raises μ and moves σ, and both parts take something away.", "jacobian"),
    "x-hat-not-squared": ("The part through the variance holds the square of x̂. Written out, all of it is squared: the deviation and σ.", "jacobian"),
    "variance-not-averaged": ("The part through the variance lacks a divisor. σ² is a mean, so each number has a share of one in H.", "jacobian"),
    "scale-free-gradient": ("The gradient is not the same at a·x. x̂ does not change with a, so a step of the same size moves it a times less.", "scaled-gradient"),
    "gradient-grows": ("You multiplied by the factor. A larger row reacts less to a step of the same size: divide.", "scaled-gradient"),
    "gradient-shrinks-twice": ("You divided by the factor squared. σ stands in the formula once, so divide once.", "scaled-gradient"),
    "zero-gradient": ("The gradient is not zero in general. It only is where γ·dy is a mix of a constant and x̂.", "backward"),
    "upstream-ignored": ("The upstream gradient dy is not used as it is. Try one with unequal entries.", "backward"),
    "dgamma-wrong-axis": ("dγ and dβ add up over the examples, since all rows share γ and β. You added over the features.", "backward"),
    "gamma-too-late": ("You multiplied by γ at the end. It belongs to each entry of dy before the means are taken: use γ·dy throughout.", "backward"),
    "gamma-in-dgamma": ("γ itself does not occur in dγ or dβ. They add up dy, not γ·dy.", "backward"),
    "mean-over-batch": ("You averaged dγ and dβ over the examples. A gradient adds up every place where the parameter acts: sum.", "backward"),
    "dgamma-from-x": ("dγ multiplies dy by x̂, the standardized row. You used x.", "backward"),
    "dbeta-missing": ("dβ is not zero. β is added to every row, so its gradient is the sum of dy over the rows.", "backward"),
    "dgamma-is-dbeta": ("dγ lacks the factor x̂. γ multiplies x̂, so its gradient is the sum of dy·x̂.", "backward"),
    "gradients-swapped": ("You returned dβ where dγ belongs. The order is dx, dγ, dβ.", "backward"),
    # the bound
    "rms-bound": ("This forgets that the entries sum to 0. Centered entries reach less far.", "bound"),
    "layer-bound": ("This uses that the entries sum to 0. Without centering they need not, and one entry can take the whole mean square.", "bound"),
    "bound-squared": ("This bounds the square. Take the root.", "bound"),
    "root-too-early": ("You took the root already. Here the bound on t² is asked for.", "bound"),
    "bound-is-one": ("Standardized values can be larger than 1: only their mean square is 1.", "bound"),
    "h-not-root": ("This is H itself. The squares add up to H; a single entry is at most a root.", "bound"),
    "not-extreme": ("The largest entry stays below the bound. It is reached when all the other entries are equal.", "bound"),
    "constant-row-extreme": ("This row has no spread, so nothing stands out. One entry must differ from the others.", "bound"),
    "others-keep-sum": ("The entries of x̂ sum to 0. If one is t, say what the rest must add up to.", "bound"),
    "cauchy-schwarz-missing": ("The others are not free: their sum is fixed, so by Cauchy–Schwarz their squares have a floor above this.", "bound"),
    "squares-exact": ("This is what their squares do add up to. Asked for is the least that they can, given their sum.", "bound"),
    "cauchy-schwarz-divisor": ("Cauchy–Schwarz divides the square of the sum by how many numbers were added. Count the others again.", "bound"),
}  # fmt: skip


def message(name: str) -> str:
    """Give the sentence of a misconception with the place to read on.

    Raises
    ------
    KeyError
        If there is no such misconception.
    """
    sentence, idea = MISCONCEPTIONS[name]
    chapter, heading = IDEAS[idea]
    return f"{sentence} See level {chapter.split('-')[1]}, “{heading}”."

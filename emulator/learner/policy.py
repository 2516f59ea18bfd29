"""A tabular softmax policy: for each context the probabilities of the actions, from a table of logits."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
"""One value for each context (rows) and action (columns)."""

Values = NDArray[np.float64]
"""One value for each decision."""

Indices = NDArray[np.int64]
"""One whole number for each decision."""


class Policy:
    """The probabilities that one table of logits gives; equal logits give bit for bit equal ones."""

    def __init__(self, logits: Table) -> None:
        self.logits = logits
        shifted = logits - logits.max(axis=1, keepdims=True)
        self.log_probabilities: Table = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        self.probabilities: Table = np.exp(self.log_probabilities)

    @cached_property
    def _cumulative(self) -> Table:
        # Divided by their last, so that this is 1 and no action without a probability is ever chosen.
        sums: Table = self.probabilities.cumsum(axis=1)
        sums /= sums[:, -1:].copy()
        return sums

    def actions(self, context: int, quantiles: Values) -> Indices:
        """Choose an action in a context for each uniform number from 0 to below 1."""
        chosen: Indices = np.searchsorted(self._cumulative[context], quantiles, side="right")
        return chosen

    def gradient(self, cells: Indices, slopes: Values) -> Table:
        """The gradient by the logits of a function of log-probabilities of decisions.

        `cells` are the decisions, as ``context * actions + action``; `slopes` are the derivatives of the
        function by the log-probability of each. It is exact: d log p(a) / d logit(b) is 1[a = b] - p(b).
        """
        sums = np.asarray(np.bincount(cells, slopes, self.logits.size), np.float64)
        table: Table = sums.reshape(self.logits.shape)
        table -= table.sum(axis=1, keepdims=True) * self.probabilities
        return table

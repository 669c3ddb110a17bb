"""An error of an estimator, in the three parts that the paper names."""

from dataclasses import dataclass

import numpy as np

from hybriddp._check import FloatArray


@dataclass(frozen=True, slots=True)
class ErrorParts:
    """A mean squared error against the mean of all users' values, split by its cause.

    Attributes
    ----------
    sampling : ndarray
        From weighing some users' values more than others' (the paper's excess sampling error).
    privacy : ndarray
        From the noise.
    bias : ndarray
        From the two groups having different means.
    """

    sampling: FloatArray
    privacy: FloatArray
    bias: FloatArray

    @property
    def total(self) -> FloatArray:
        """The mean squared error itself."""
        result: FloatArray = self.sampling + self.privacy + self.bias
        return result


def ratio_of_errors(baseline: FloatArray, error: FloatArray) -> FloatArray:
    """``baseline / error``; 1 where both are zero, infinite where only ``error`` is."""
    baseline, error = np.broadcast_arrays(baseline, error)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where((error == 0.0) & (baseline == 0.0), 1.0, baseline / error)[()]

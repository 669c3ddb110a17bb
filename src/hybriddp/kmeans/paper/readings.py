"""How the pseudo-code of the paper's K-means is read [ADK20, appendix D], and what is wrong with it as printed."""

from collections.abc import Iterator
from dataclasses import dataclass

from hybriddp import _check
from hybriddp.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Reading:
    """A reading; the defaults are the repaired one.

    Attributes
    ----------
    weights : {"mean", "printed"}
        Whose noise the privacy weight is given for the trusted group: a mean's or a sum's.
    debias : bool
        Whether what randomized response mixes in is taken out again.
    assign_on : {"true", "report"}
        Whether local users compare their points or their noisy reports with the centers.
    neighbors : {"replace-one", "add-remove"}
        What the trusted group's noise covers.
    """

    weights: str = "mean"
    debias: bool = True
    assign_on: str = "true"
    neighbors: str = "replace-one"

    def check(self) -> None:
        """Nothing, if there is such a reading."""
        _check.choice("weights", self.weights, ("mean", "printed"))
        if not isinstance(self.debias, bool):
            raise ParameterError("debias", "True or False", self.debias)
        _check.choice("assign_on", self.assign_on, ("true", "report"))
        _check.choice("neighbors", self.neighbors, ("replace-one", "add-remove"))

    def warnings(self) -> Iterator[str]:
        """A sentence for each flaw of the print that was asked for."""
        if self.weights == "printed":
            yield (
                'weights="printed" takes the noise of a sum for that of a mean, so the trusted group is all but '
                'ignored: use weights="mean" (erratum 4).'
            )
        if not self.debias:
            yield (
                "debias=False pulls every local center towards the mean of everybody, because randomized response "
                "does: use debias=True (erratum 5)."
            )
        if self.assign_on == "report":
            yield (
                'assign_on="report" assigns local users by their noise: use assign_on="true", as the text of the '
                "paper has it (erratum 6)."
            )
        if self.neighbors == "add-remove":
            yield (
                'neighbors="add-remove" covers half of what replacing a point can change, so trusted users would '
                'get 2 epsilon: use neighbors="replace-one" (erratum 2).'
            )

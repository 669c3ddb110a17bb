"""What an answer cost in privacy: the promise, and whether it was kept and counted."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Statement:
    """What was promised to whom, and under which circumstances.

    Attributes
    ----------
    epsilon, delta, neighbors : str
        The promise.
    released : bool
        Whether anything about the trusted group was released; local reports are private by themselves.
    counted : bool
        Whether a ledger has that release.
    seeded : bool
        Whether this is a simulation, and no release at all.
    """

    epsilon: str
    delta: str
    neighbors: str
    released: bool
    counted: bool
    seeded: bool

    def __str__(self) -> str:
        if self.seeded:
            return "A simulation: NOT a private release."
        alone = self.released and not self.counted
        book = " Nobody is counting: give a ledger to make sure that it stays one release." if alone else ""
        return (
            f"Every user, trusted or local, is promised ε = {self.epsilon}, δ = {self.delta} for this one release "
            f"({self.neighbors}).{book}"
        )

"""`Comparison`: whether the two groups agree, whatever is compared."""

from typing import TYPE_CHECKING, ClassVar

LARGEST_Z = 37.0
"""Standard errors beyond which a double cannot hold the probability."""


class Comparison:
    """A comparison of the two groups; a kind says what is compared, and what was done where it differs."""

    what: ClassVar[str]
    """What is compared: ``"means"``."""

    if TYPE_CHECKING:  # an attribute of some kinds, a property of others

        @property
        def z(self) -> float:
            """Difference in standard errors that it would have if the groups were alike."""

    @property
    def differ(self) -> bool:
        """Whether the groups are more than two standard errors apart, as by chance alone in 5 % of studies."""
        return abs(self.z) > 2

    @property
    def clearly_differ(self) -> bool:
        """Whether the groups are more than four standard errors apart, which chance does not explain."""
        return abs(self.z) > 4

    @property
    def effect(self) -> str:
        """Sentence about what the difference did to the answer; empty if it did nothing."""
        return ""

    @property
    def verdict(self) -> str:
        """Whether the groups agree, in plain words."""
        if not self.differ:
            return f"The two groups' {self.what} agree within what chance explains."
        size = "clearly" if self.clearly_differ else "slightly"
        apart = f"{abs(self.z):.1f}" if abs(self.z) < LARGEST_Z else f"more than {LARGEST_Z:g}"
        return (
            f"The two groups' {self.what} differ {size} ({apart} standard errors): those who trust may be other people "
            "than those who do not."
        )

    @property
    def agreement(self) -> str:
        """Whether the groups agree, in a cell of a table."""
        return f"differ, z = {self.z:.1f}" if self.differ else "agree"

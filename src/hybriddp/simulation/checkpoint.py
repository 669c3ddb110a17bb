"""The sums of a simulation on disk, so that a run that was stopped can go on."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hybriddp.errors import DataError
from hybriddp.simulation.outcome import Sums
from hybriddp.simulation.trial import Scene


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file that belongs to one scene and seed; a run of more trials goes on from it."""

    path: Path
    scene: Scene
    seed: np.random.SeedSequence

    @property
    def fingerprint(self) -> str:
        """Tells the scene and the seed from others."""
        scene = self.scene
        people = [crowd.units.tolist() + crowd.users.tolist() for crowd in (scene.trusted, scene.local)]
        sizes = [scene.n_trusted, scene.n_local, scene.fixed]
        parts = [scene.study.digest, sizes, scene.estimators, self.seed.entropy, people]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def read(self) -> Sums | None:
        """What has been done, or None."""
        if not self.path.exists():
            return None
        try:
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            fingerprint, sums = stored["fingerprint"], Sums.from_dict(stored["sums"])
        except (KeyError, TypeError, ValueError) as reason:
            raise DataError(f"{self.path} is not a checkpoint of a simulation.") from reason
        if fingerprint != self.fingerprint:
            raise DataError(f"{self.path} is the checkpoint of another simulation. Name another file or remove it.")
        return sums

    def write(self, sums: Sums) -> None:
        """Replace the file as a whole."""
        draft = self.path.with_name(f"{self.path.name}.draft")
        draft.write_text(json.dumps({"fingerprint": self.fingerprint, "sums": sums.to_dict()}), encoding="utf-8")
        draft.replace(self.path)

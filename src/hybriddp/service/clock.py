r"""The server's clock: seconds since 1970 that never run backward and that no wrong reading moves.

What has closed stays closed, so a machine whose clock reads a wrong day for a moment would close every study for good.
Every reading $w$ is compared with the time that must have come since the last certain one, $a$ at $e_a$:

$$|w - (a + e - e_a)| \le 300$$

Here $e$ are the elapsed seconds of the machine since its start, which nobody sets. A reading that is further off puts
the clock in *doubt*. It then goes on by $a + e - e_a$, and nothing that depends on the time is written, until readings
are right again. The last certain time is stored, so that a start is compared, too: on the same boot of the machine by
its elapsed seconds, else with the stored time alone.
"""

import json
import logging
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import Lock

from hybriddp.service.observe import log_event
from hybriddp.service.problems import Refusal

__all__ = ["MOST_APART", "CertainTime", "Clock", "boot_id", "elapsed_seconds", "require_certain"]

MOST_APART = 300
"""Seconds that a reading may be off."""
_RENEWED = 86_400  # seconds until a certain time is replaced by a later one: small corrections may add up by then
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_IN_DOUBT = "The server's clock is in doubt. Nothing is decided by the time until its operator has corrected it."


@dataclass(frozen=True, slots=True)
class CertainTime:
    """A time that was certain: seconds since 1970, and the machine's boot with its elapsed seconds."""

    at: float
    elapsed: float
    boot: str

    def to_json(self) -> str:
        """Return the text that is stored."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | None) -> "CertainTime | None":
        """Read what was stored; None if there is nothing."""
        return None if text is None else cls(**json.loads(text))


class Clock:
    """The time in whole seconds, and whether it is certain.

    Parameters
    ----------
    last : CertainTime, optional
        What an earlier start has stored; without it the first reading is taken for right.
    """

    def __init__(self, last: CertainTime | None = None) -> None:
        elapsed, boot = elapsed_seconds(), boot_id()
        if last is None:
            self._certain = CertainTime(time.time(), elapsed, boot)
        else:
            same_boot = bool(boot) and boot == last.boot
            self._certain = CertainTime(last.at, last.elapsed if same_boot else elapsed, boot)
        self._latest, self._off, self._behind, self._lock = 0, 0.0, 0.0, Lock()
        self()

    def __call__(self) -> int:
        """Return the time, in whole seconds."""
        with self._lock:
            return self._read()

    def doubt(self) -> str:
        """Describe how far the clock is off; empty if it is right."""
        with self._lock:
            self._read()
            off = self._off or -self._behind
            if not off:
                return ""
            now = datetime.fromtimestamp(self._latest, UTC).isoformat(timespec="minutes").removesuffix("+00:00")
            ahead = "ahead of" if off > 0 else "behind"
            return f"The clock is {_duration(abs(off))} {ahead} what the server expects, {now} UTC."

    def certain(self) -> bool:
        """Whether the time is right, as far as anybody can tell."""
        return not self.doubt()

    def to_store(self, stored: CertainTime | None) -> CertainTime | None:
        """Return what is to be stored after ``stored``; None if the clock is in doubt.

        It also is if another replica on the same database has stored a time that is yet to come.
        """
        with self._lock:
            now = self._read()
            ahead = 0.0 if stored is None else stored.at - now
            self._note(self._off, ahead if ahead > MOST_APART else 0.0)
            if self._off or self._behind:
                return None
            return CertainTime(now, elapsed_seconds(), self._certain.boot)

    def _read(self) -> int:
        wall, elapsed = time.time(), elapsed_seconds()
        expected = self._certain.at + elapsed - self._certain.elapsed
        off = wall - expected if abs(wall - expected) > MOST_APART else 0.0
        self._note(off, self._behind)
        if not off and elapsed - self._certain.elapsed >= _RENEWED:
            self._certain = CertainTime(wall, elapsed, self._certain.boot)
        self._latest = max(self._latest, int(expected if off else wall))
        return self._latest

    def _note(self, off: float, behind: float) -> None:
        """Keep how far the clock is off, by the elapsed seconds and by another replica, and log when a doubt begins."""
        before, now = self._off or -self._behind, off or -behind
        self._off, self._behind = off, behind
        if bool(now) != bool(before):
            words, level = ("clock in doubt", logging.ERROR) if now else ("clock right again", logging.WARNING)
            log_event(words, level=level, seconds=round(now))


def require_certain(clock: Clock) -> None:
    """Raise `Refusal` if the clock is in doubt."""
    if not clock.certain():
        raise Refusal("unavailable", _IN_DOUBT)


def elapsed_seconds() -> float:
    """Seconds since the machine was started, those included in which it slept where the system counts them."""
    counts_sleep = getattr(time, "CLOCK_BOOTTIME", None)  # Linux
    return time.monotonic() if counts_sleep is None else time.clock_gettime(counts_sleep)


@cache
def boot_id() -> str:
    """Return a text that is another one after every start of the machine; empty where there is none."""
    try:
        return _BOOT.read_text("ascii").strip()
    except OSError:
        return ""


def _duration(seconds: float) -> str:
    """Write seconds in the unit in which they are read best.

    Examples
    --------
    >>> _duration(600), _duration(36_000), _duration(864_000)
    ('10 minutes', '10.0 hours', '10.0 days')
    """
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"

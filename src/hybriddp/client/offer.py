"""`StudyOffer`: a study as its participants see it, checked before anything is drawn for it.

What a curator says is believed only where it can be checked: the text must have the digest that it claims (and the one
that the app has pinned, if it has), and its channel must keep ε (reading the study proves it). The rest is words, which
are put on one line each, so that they cannot look like ours.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from hybriddp.client.contribution import GROUPS, Contribution, is_digest
from hybriddp.client.plain import one_line
from hybriddp.client.questions import KINDS, NO_LIST, UNKNOWN, OfferedStudy, StudyQuestion, question, read_study
from hybriddp.errors import ParameterError, ProtocolError
from hybriddp.items import HeavyHitterStudy
from hybriddp.kmeans.study import KMeansStudy
from hybriddp.planning.alternatives import best_guess
from hybriddp.planning.words import guess
from hybriddp.shares import FrequencyStudy
from hybriddp.study.users import StudyParts

__all__ = ["StudyOffer"]

_LISTED = "The study's list has been released: it takes reports now, and no more trusted items. Nothing was drawn."
_IF_REPORTED = "If you report: your device draws one code at random and sends that;"
_IF_ENROLLED = (
    "If you enroll: when it is your turn, your device gets a question, draws one code at random in answer to it and "
    "sends that;"
)
_CONSENT = ("organization", "purpose", "contact")


@dataclass(frozen=True)
class StudyOffer:
    """What people are asked for, under which promise, and by whom.

    Attributes
    ----------
    study : MeanStudy, DistributionStudy, FrequencyStudy or HeavyHitterStudy
        The study itself, its channel verified.
    text : str
        Its text; save this to work without a network later.
    id : str
        Its name in addresses; empty in an offer made from a text alone.
    consent : mapping
        Who asks (``organization``), for what (``purpose``), and whom to write to (``contact``), as the curator says.
    dimensions : tuple of str
        In K-means, what the numbers of a point are called, as the curator says; empty if it does not.
    stored : mapping
        For each group, what the curator says that it stores of a person.
    state : str
        ``created``, ``open``, ``asking`` (about a list), ``closed``, ``released`` or ``withdrawn``; empty if not known.
    closes_at : str
        When it closes; empty if not known.
    tokens : bool
        Whether participants need a token.
    warning : str
        What a pilot without tokens cannot promise.
    question : FrequencyStudy or None
        In a study of heavy hitters, what the local group is asked about the list, once that has been released. Its text
        (``question.to_json()``) is what to save then.
    parts : StudyParts or None
        The parts of the users, if each has an answer of its own: a token says who is in which one.

    Examples
    --------
    >>> from hybriddp import MeanStudy
    >>> study = MeanStudy("session minutes", bounds=(0, 240), epsilon=1)
    >>> offer = StudyOffer.from_text(study.device_json())
    >>> contribution = offer.draw(37.5)  # send it once, later: client.send(contribution)
    >>> contribution.group
    'local'
    """

    study: OfferedStudy
    text: str = field(repr=False)
    id: str = ""
    consent: Mapping[str, str] = field(default_factory=dict, repr=False)
    stored: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    state: str = ""
    closes_at: str = ""
    tokens: bool = True
    warning: str = ""
    question: FrequencyStudy | None = field(default=None, repr=False)
    dimensions: tuple[str, ...] = ()
    parts: StudyParts | None = field(default=None, repr=False)

    @classmethod
    def from_text(cls, text: str, *, digest: str | None = None) -> "StudyOffer":
        """Read the offer in a saved text, without a network.

        It is then unknown what the curator stores.

        Parameters
        ----------
        text : str
            The study's text: `text` of an earlier offer, `MeanStudy.device_json`, or `to_json` of the others.
        digest : str, optional
            The digest that the app has pinned.
        """
        return cls(_checked(text, None, digest), text)

    @classmethod
    def from_document(cls, document: Mapping[str, Any], *, digest: str | None = None) -> "StudyOffer":
        """Read the offer in the curator's public document of a study.

        Parameters
        ----------
        document : mapping
            What ``GET /studies/{id}`` answers.
        digest : str, optional
            The digest that the app has pinned.
        """
        if document.get("kind") not in KINDS:
            raise ProtocolError(UNKNOWN)
        text, claimed = document.get("text"), document.get("digest")
        if not isinstance(text, str) or not is_digest(claimed):
            raise ProtocolError("The curator's document has no study text with its digest.")
        study = _checked(text, claimed, digest)
        about_list = _about_list(study, document.get("question"))
        if document.get("kind") != question(study).kind:
            raise ProtocolError("The curator's document is about another kind of study than the study's text is.")
        shown = tuple(str(document.get(name)) for name in ("epsilon", "delta"))
        if shown != (study.privacy.epsilon, study.privacy.delta):
            raise ProtocolError("The curator's document promises another ε or δ than the study's text does.")
        consent, stored = _mapping(document.get("consent")), _mapping(document.get("stored"))
        return cls(
            study,
            text,
            id=one_line(document.get("id")),
            consent=MappingProxyType({name: one_line(consent.get(name)) for name in _CONSENT}),
            stored=MappingProxyType({group: _sentences(stored.get(group)) for group in GROUPS}),
            state=one_line(document.get("state")),
            closes_at=one_line(document.get("closes_at")),
            tokens=document.get("tokens") is not False,
            warning=one_line(document.get("warning")),
            question=about_list,
            dimensions=_sentences(document.get("dimensions")),
            parts=None if document.get("parts") is None else StudyParts.from_dict(document["parts"]),
        )

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return self.study.digest

    @property
    def asked(self) -> StudyQuestion:
        """What the study asks one person for."""
        return question(self.study, self.question)

    def study_of(self, group: str) -> OfferedStudy:
        """Return the study whose digest and promise a group's contribution has.

        For local users it is the question about the list, if the study has one, and otherwise this study.
        """
        return self.asked.reported if group == "local" else self.study

    @property
    def waits_for_list(self) -> bool:
        """Whether it is a study of heavy hitters whose local group cannot be asked yet."""
        return isinstance(self.study, HeavyHitterStudy) and self.question is None

    def refusal(self, group: str) -> str:
        """Explain why the study currently takes no contributions of a group.

        The text is empty if the study takes them, or if its state is not known.
        """
        if self.state == "open" and self.waits_for_list and group == "local":
            return NO_LIST
        if self.state == "asking" and group == "trusted" and not isinstance(self.study, KMeansStudy):
            return _LISTED
        if self.state in ("", "open") or (self.state == "asking" and self.question is not None):
            return ""
        return f"The study is {self.state[:20]}, not open. Nothing was drawn."

    def enrollment(self) -> Contribution:
        """Create an enrollment in a study with rounds, with a fresh nonce.

        It is sent to join the local group.
        """
        if not isinstance(self.study, KMeansStudy):
            raise ProtocolError("This study has no rounds. Call report(value).")
        return Contribution.enrollment(self.digest)

    def draw(self, value: float | str | Sequence[float], *, group: str = "local") -> Contribution:
        """One person's contribution, with a fresh nonce. Draw once: a second report costs ε again.

        Parameters
        ----------
        value : float, int or str
            The person's value; outside of the bounds it counts as the nearer bound. In a study of frequencies, the
            person's category; what is none of them counts as other, if the study has that, and is an error if not.
            Of heavy hitters, any text; what is not on the list counts as other.
        group : {"local", "trusted"}
            ``"local"`` randomizes the value here. ``"trusted"`` gives it to the curator, rounded to the study's grid
            or to the middle of its bin.
        """
        if group not in GROUPS:
            raise ParameterError("group", '"local" or "trusted"', group)
        if group == "local":
            return Contribution.new(self.study_of(group).digest, group, self.asked.code(value))
        trusted = self.asked.trusted(value)
        return Contribution.new(self.digest, group, trusted.integer, trusted.sent)

    def promise(self, part: str = "") -> str:
        """Describe what is asked, what is promised and what is stored.

        What ε means is computed here, from the verified text. What the curator stores, only the curator can say.

        Parameters
        ----------
        part : str
            In a study of parts of the users, the one that the person's token names.
        """
        asked, noun = self.asked, self.asked.noun
        who = self.consent.get("organization") or "An organization that the study's text does not name"
        lines = [
            f"{who} {asked.sentence()}",
            *_labeled("Purpose", self.consent.get("purpose")),
            *_labeled("The numbers are", "; ".join(self.dimensions)),
            *_labeled("Contact", self.consent.get("contact")),
            *_labeled("The study closes", self.closes_at),
            *_labeled("Warning", self.warning),
            *self._counted_in(part),
            f"{_IF_ENROLLED if isinstance(self.study, KMeansStudy) else _IF_REPORTED} your {noun} stays here. "
            f"{self._meaning('the code', local=True)}",
            *self._stored("local"),
            f"If you trust: {asked.known or f'your {noun} itself'} goes to the curator, who {asked.added} and "
            f"publishes only answers with noise. {self._meaning('what is published', local=False)} The curator could "
            f"see {'that bin' if asked.known else f'your {noun}'}.",
            *self._stored("trusted"),
            f"Digest of the study: {self.digest}",
            *_labeled("Digest of the question about its list", self.question.digest if self.question else None),
        ]
        return "\n".join(lines)

    def _meaning(self, seen: str, *, local: bool) -> str:
        """ε in words; the channel of a local user has no δ."""
        privacy = self.study.privacy
        chance = guess(best_guess(float(privacy.epsilon)))
        delta = "" if local or privacy.exact_delta == 0 else f", but for a chance of {privacy.delta}"
        return (
            f"ε = {privacy.epsilon}: someone who has narrowed your {self.asked.noun} down to two candidates and sees "
            f"{seen} guesses right at most {chance} of the time (50 % without it){delta}."
        )

    def _counted_in(self, part: str) -> list[str]:
        if self.parts is None:
            return []
        known = self.parts.position(part)
        named = f"as your token says it ({self.parts.listed()})" if known is None else self.parts.names[known]
        return [
            f"You are counted in your {self.parts.by}: {named}. Who is in which part is not hidden, and how many there "
            "are is public once the study has closed. The promise is about what you answer, the same in every part."
        ]

    def _stored(self, group: str) -> list[str]:
        sentences = self.stored.get(group) or ("It has not said.",)
        return ["What the curator says it stores of you then:", *(f"- {sentence}" for sentence in sentences)]


def _checked(text: str, claimed: str | None, pinned: str | None) -> OfferedStudy:
    """Read the study in a text after comparing everything about it."""
    if pinned is not None and not is_digest(pinned):
        raise ParameterError("digest", "64 lower-case hexadecimal digits", pinned)
    if not isinstance(text, str):
        raise ParameterError("text", "the text of a study", text)
    found = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if claimed is not None and claimed != found:
        raise ProtocolError("The study's text does not have the digest that the curator claims. Nothing was drawn.")
    if pinned is not None and pinned != found:
        raise ProtocolError(
            f"The study's digest is {found[:12]}…, but this app was made for {pinned[:12]}…. Nothing was drawn."
        )
    study = read_study(text)
    if study.digest != found:
        raise ProtocolError("The text is not the one that devices get. Take MeanStudy.device_json().")
    return study


def _about_list(study: OfferedStudy, content: object) -> FrequencyStudy | None:
    """Read the question about a list in a curator's document.

    Its digest must be right, its channel is verified, and it must belong to this study.
    """
    if content is None:
        return None
    said = _mapping(content)
    text, claimed = said.get("text"), said.get("digest")
    if not isinstance(study, HeavyHitterStudy) or not isinstance(text, str) or not is_digest(claimed):
        raise ProtocolError("The curator's document has a question that is none: only heavy hitters have one.")
    asked = _checked(text, claimed, None)
    if not isinstance(asked, FrequencyStudy):
        raise ProtocolError("The question about a list must be a study of frequencies.")
    study.check_question(asked)
    return asked


def _mapping(content: object) -> Mapping[str, Any]:
    return content if isinstance(content, Mapping) else {}


def _sentences(content: object) -> tuple[str, ...]:
    lines = [one_line(sentence) for sentence in content] if isinstance(content, list) else []
    return tuple(line for line in lines if line)


def _labeled(label: str, text: str | None) -> list[str]:
    return [f"{label}: {text}"] if text else []

"""Make vectors/protocol.json: contributions, commitments and receipts that every client must make, accept or refuse.

    python scripts/make_protocol_vectors.py

See vectors/README.md for how a client reads the file. The key that signs is known to everybody, and signs nothing else.
"""

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hybriddp import DistributionStudy, FrequencyStudy, MeanStudy
from hybriddp.client import Contribution
from hybriddp.client.claims import read_claims
from hybriddp.client.contribution import answer_commitment
from hybriddp.client.questions import OfferedStudy, question
from hybriddp.client.receipt import canonical_bytes
from hybriddp.service.receipts import Signer, commitments_sha256

IN_PART = {"part": "Gen\N{LATIN SMALL LETTER E WITH GRAVE}ve", "part_by": "city"}
TARGET = Path(__file__).parent.parent / "vectors" / "protocol.json"
SIGNER = Signer(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = Signer(Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33))))
MINUTES = MeanStudy("session minutes, ½ hours too", bounds=(0, 240), epsilon=1, delta="0.00001")
STUDIES: dict[str, OfferedStudy] = {
    "minutes": MINUTES,
    "odd": MeanStudy("odd bounds", bounds=(-0.1, 0.7), epsilon="0.5"),
    "narrow": MeanStudy("floats as far apart as units", bounds=(1e9, 1e9 + 1), epsilon=1),
    "fruit": FrequencyStudy("favorite fruit", categories=["apple", "pear", "fïg"], epsilon=1, other=True),
    "floors": FrequencyStudy("floor", categories=[-1, 0, 1, 2], other=False, epsilon=2),
    "load": DistributionStudy("page load ms", bounds=(0, 10_000), epsilon=1, scale="log"),
    "level": DistributionStudy("floats as far apart as units", bounds=(1e9, 1e9 + 1), epsilon=1),
}
VALUES: dict[str, list[float | str]] = {
    "minutes": [0, 240, 37.5, 1 / 3, -5, 1e9, 239.999999, 7.152557373046875e-06],
    "odd": [-0.1, 0.7, 0, 0.1, 0.3333333333333333, 0.69999999],
    "narrow": [1e9, 1e9 + 1, 1e9 + 0.1, 1000000000.3333334],
    "fruit": ["apple", "fïg", "kiwi"],
    "floors": [-1, 2],
    "load": [0, 10_000, 481.25, -3, 1e9, 1e-9, 0.28, 9999.999],
    "level": [1e9, 1e9 + 1, 1e9 + 0.1, 1000000000.3333334],
}


def nonce(number: int) -> str:
    """A nonce that everybody knows."""
    return hashlib.sha256(f"hybriddp nonce {number}".encode()).hexdigest()[:32]


def contributions() -> Iterator[dict[str, Any]]:
    """What is sent for a value that is trusted, and for some codes; its commitment."""
    for name, study in STUDIES.items():
        asked = question(study)
        for i, value in enumerate(VALUES[name]):
            trusted = asked.trusted(value)
            made = Contribution(study.digest, "trusted", trusted.integer, nonce(i), trusted.sent)
            yield {"study": name, "value": value, **_told(made)}
        for i, code in enumerate(asked.codes):
            yield {"study": name, **_told(Contribution(study.digest, "local", code, nonce(100 + i)))}


def _told(made: Contribution) -> dict[str, Any]:
    told = {"group": made.group, "integer": made.integer, "nonce": made.nonce}
    return {**told, "body": made.body().decode(), "commitment": made.commitment}


def answers() -> Iterator[dict[str, Any]]:
    """Answers to rounds of K-means, the text that is hashed with the nonce, and the commitment."""
    rounds = (hashlib.sha256(f"round {i}".encode()).hexdigest() for i in range(4))
    codes: tuple[int | str, ...] = (17, 0, "a0030f", (1 << 53) - 1)
    for i, (digest, code) in enumerate(zip(rounds, codes, strict=True)):
        message = {"round": digest, "ask": i % 3, "variant": 3 * i, "code": code}
        text = json.dumps(message, separators=(",", ":"))
        told = {"message": message, "nonce": nonce(200 + i), "text": text}
        yield {**told, "commitment": answer_commitment(message, nonce(200 + i))}


def participants() -> Iterator[dict[str, Any]]:
    """Tokens, for which study they are, and by which hash a journal knows the participant."""
    for subject in ("alice", "Am\N{LATIN SMALL LETTER E WITH ACUTE}lie", "Ame\N{COMBINING ACUTE ACCENT}lie"):
        claims = {"sub": subject, "aud": "minutes", "exp": 4102444800}
        parts = (json.dumps({"alg": "HS256", "typ": "JWT"}), json.dumps(claims))
        token = ".".join(base64.urlsafe_b64encode(part.encode()).rstrip(b"=").decode() for part in parts) + ".AAAA"
        yield {"token": token, "study": "minutes", "participant": read_claims(token, None).participant}


def receipt() -> dict[str, Any]:
    """What is signed about the first contribution."""
    first = next(iter(contributions()))
    return {
        "version": 1,
        "study": "minutes",
        "digest": MINUTES.digest,
        "group": first["group"],
        "epsilon": MINUTES.privacy.epsilon,
        "delta": MINUTES.privacy.delta,
        "commitment": first["commitment"],
        "asserted_by": "participant",
        "stored": ['A "quoted" sentence with \\, ½, €, 🙂 and \N{LINE SEPARATOR}.', "The day and the group."],
        "day": "2026-11-17",
    }


def receipts() -> Iterator[dict[str, Any]]:
    """Receipts of a contribution, one in a part, a withdrawal, one that found nothing, and a batch."""
    nothing = {"commitment": "", "withdrawn": True, "opened": False}
    commitments = [bytes.fromhex(made["commitment"]) for made in contributions() if made["group"] == "local"]
    batch = {key: receipt()[key] for key in ("version", "study", "digest", "day")}
    batch |= {"group": "local", "asserted_by": "relay", "relay": "backend", "accepted": len(commitments), "repeated": 0}
    batch |= {"commitments_sha256": commitments_sha256(commitments)}
    signed = (
        ("a contribution", receipt()),
        ("a contribution in a part of the users", receipt() | IN_PART),
        ("a withdrawal", receipt() | {"withdrawn": True, "opened": True}),
        ("a withdrawal that found nothing", receipt() | nothing),
        ("a batch of all local contributions above", batch),
    )
    for what, content in signed:
        yield {"what": what, "canonical": canonical_bytes(content).decode(), "document": SIGNER.sign(content)}


def refused_receipts() -> Iterator[dict[str, Any]]:
    """Receipts whose signature is wrong."""
    good = SIGNER.sign(receipt())
    yield {"why": "a changed day", "document": good | {"receipt": receipt() | {"day": "2026-11-18"}}}
    yield {"why": "one more field", "document": good | {"receipt": receipt() | {"more": 1}}}
    less = {key: value for key, value in receipt().items() if key != "stored"}
    yield {"why": "one field less", "document": good | {"receipt": less}}
    yield {"why": "another group", "document": good | {"receipt": receipt() | {"group": "local"}}}
    yield {"why": "a number instead of a text", "document": good | {"receipt": receipt() | {"epsilon": 1}}}
    moved = SIGNER.sign(receipt() | IN_PART) | {"receipt": receipt() | IN_PART | {"part": "DE"}}
    yield {"why": "another part", "document": moved}
    yield {"why": "another key's signature", "document": OTHER.sign(receipt()) | {"kid": good["kid"]}}
    yield {"why": "a key that is not published", "document": OTHER.sign(receipt())}
    yield {
        "why": "a signature of another receipt",
        "document": SIGNER.sign(receipt() | {"day": ""}) | {"receipt": receipt()},
    }
    yield {"why": "a signature that is too short", "document": good | {"signature": good["signature"][:-2]}}
    yield {"why": "a padded signature", "document": good | {"signature": good["signature"] + "=="}}
    yield {"why": "an empty signature", "document": good | {"signature": ""}}
    yield {"why": "no key's name", "document": {key: good[key] for key in ("receipt", "signature")}}


def content() -> dict[str, Any]:
    """All of the file."""
    return {
        "studies": {name: {"text": question(one).text, "digest": one.digest} for name, one in STUDIES.items()},
        "contributions": list(contributions()),
        "answers": list(answers()),
        "participants": list(participants()),
        "jwks": SIGNER.jwks(),
        "receipts": list(receipts()),
        "refused_receipts": list(refused_receipts()),
    }


def main() -> None:
    """Write the file."""
    found = content()
    TARGET.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(", ".join(f"{len(part)} {name}" for name, part in found.items()), f"{TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

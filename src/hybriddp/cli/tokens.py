"""``hybriddp tokens``: mint participants' tokens, and make the keys for it. No secret is ever an argument."""

import json
import os
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybriddp.cli.options import option
from hybriddp.cli.terminal import say, say_written
from hybriddp.client.claims import check_study_id
from hybriddp.errors import DataError, ParameterError, raise_unchained
from hybriddp.service import check_installed
from hybriddp.service.keys import MasterKey, is_master_key, write_secret

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

app = typer.Typer(
    name="tokens",
    rich_markup_mode="markdown",
    help=(
        "Mint participants' tokens for a curator.\n\n"
        "A token says who takes part in which study. It is a standard JWT: backends can mint it in any language."
    ),
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_MOST_DAYS = 3650  # as service.tokens.LONGEST_LIFETIME, which cannot be read where PyJWT is missing
_KEY_FILE = "HYBRIDDP_KEY_FILE"  # as the server reads it
_KeyFile = Annotated[
    Path | None, option(f"The server's key file; if nothing is given, what {_KEY_FILE} names, or hybriddp.key.")
]


def lifetime(text: str) -> timedelta:
    """Parse a time such as 7d, 12h, 30m or 90s."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", str(text).strip())
    if not found:
        raise typer.BadParameter(f"{text!r} is not a time such as 7d, 12h, 30m or 90s.")
    wanted = timedelta(**{_UNITS[found[2]]: int(found[1])})
    if not timedelta(seconds=1) <= wanted <= timedelta(days=_MOST_DAYS):
        raise typer.BadParameter(f"It must be from 1s to {_MOST_DAYS}d, got {found[0]}.")
    return wanted


@app.command()
def mint(
    study: Annotated[str, option("Id of the study.")],
    subject: Annotated[list[str] | None, option("Who takes part: 1 to 256 characters; may be repeated.")] = None,
    subjects_file: Annotated[Path | None, option("File with a subject on each line; - for standard input.")] = None,
    lifetime: Annotated[
        timedelta, option("How long the tokens are valid: 7d, 12h, 30m or 90s.", parser=lifetime, metavar="<time>")
    ] = "7d",  # type: ignore[assignment]  # read by the parser
    secret_file: Annotated[
        Path | None, option("File with the secret that `tokens secret` prints; - for standard input.")
    ] = None,
    key_file: _KeyFile = None,
    private_key: Annotated[Path | None, option("Ed25519 private key (PEM), to sign with EdDSA.")] = None,
    part: Annotated[
        str | None, option("In a study of parts of the users: the part that all of these subjects are in, such as DE.")
    ] = None,
    as_json: Annotated[bool, option("Print a JSON list of subjects and tokens.", "--json")] = False,
) -> None:
    """Mint a token for each subject and print them, one on each line, in the same order."""
    check_installed("jwt", purpose="Minting tokens")
    from hybriddp.service import tokens

    check_study_id(study)
    if secret_file == subjects_file == Path("-"):
        raise ParameterError("subjects_file", "a file if the secret comes from standard input", "-")
    who = [*(subject or []), *(_lines(subjects_file) if subjects_file else [])]
    if not who:
        raise ParameterError("subject", "given, or --subjects-file with a subject on each line", None)
    for one in who:
        _check_subject(one)
    key = _key(secret_file, key_file, private_key)
    minted = [tokens.mint(key, subject=one, study=study, lifetime=lifetime, part=part) for one in who]
    if as_json:
        pairs = [{"subject": one, "token": token} for one, token in zip(who, minted, strict=True)]
        typer.echo(json.dumps(pairs, indent=2, ensure_ascii=False))
        return
    for token in minted:
        typer.echo(token)


@app.command()
def secret(key_file: _KeyFile = None) -> None:
    """Print the HS256 secret with which a backend mints tokens. Whoever has it can take part as anybody."""
    typer.echo(_master_key(key_file).token_secret.decode("ascii"))


@app.command()
def keypair(
    out: Annotated[Path, option("Beginning of both files' names: tokens makes tokens-private.pem, tokens-public.pem.")],
) -> None:
    """Make an Ed25519 key pair: the backend keeps the private key, the server gets --token-public-key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    key = Ed25519PrivateKey.generate()
    private, public = (out.with_name(f"{out.name}-{half}.pem") for half in ("private", "public"))
    if public.exists():
        raise DataError(f"{public} exists already and is left alone. Choose another --out.")
    write_secret(private, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii"))
    write_secret(public, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii"))
    public.chmod(0o644)
    say_written(private, public)
    say(f"Keep {private.name} at the backend. Start the server with --token-public-key {public}.")


def _key(secret_file: Path | None, key_file: Path | None, private_key: Path | None) -> "bytes | Ed25519PrivateKey":
    """Read the key of the one given source, by default the server's key file."""
    sources = {"--secret-file": secret_file, "--key-file": key_file, "--private-key": private_key}
    given = [name for name, source in sources.items() if source is not None]
    if len(given) > 1:
        raise typer.BadParameter(f"{' and '.join(given)} are both keys to sign with. Choose one.")
    if private_key is not None:
        from hybriddp.service.tokens import read_private_key

        return read_private_key(private_key)
    if secret_file is not None:
        text = _text(secret_file)
        if is_master_key(text):
            raise DataError(f"{secret_file} is the server's master key, not the secret of tokens. Use --key-file.")
        return text.strip().encode()
    return _master_key(key_file).token_secret


def _master_key(key_file: Path | None) -> MasterKey:
    """Read the server's key from the named file.

    Without a name, the file is the one that the server itself would take here.
    """
    path = key_file or Path(os.environ.get(_KEY_FILE) or "hybriddp.key")
    if not os.access(path, os.R_OK):
        raise DataError(
            f"The key file {path} cannot be read. Name the server's key with --key-file, or run this where the server "
            "runs."
        )
    return MasterKey.load(path)


def _check_subject(subject: str) -> None:
    """Raise the error of a wrong option where the server's would be that of a refused request."""
    from hybriddp.service.tokens import LONGEST_SUBJECT, TokenError, check_subject

    try:
        check_subject(subject)
    except TokenError:  # it may be somebody's name, and stays unsaid
        wanted = f"1 to {LONGEST_SUBJECT} characters that can be written in UTF-8"
        raise_unchained(ParameterError("subject", wanted, None))


def _lines(path: Path) -> list[str]:
    """Read the subjects in a file without its empty lines."""
    return [line for line in _text(path).removeprefix("\ufeff").splitlines() if line.strip()]


def _text(path: Path) -> str:
    try:
        return sys.stdin.read() if path == Path("-") else path.read_text("utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}). Correct its name or its permissions.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8.") from None

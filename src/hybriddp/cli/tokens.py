"""``hybriddp tokens``: mint participants' tokens, and make the keys for it. No secret is ever an argument."""

import json
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hybriddp.cli.options import option
from hybriddp.cli.terminal import say, say_written
from hybriddp.errors import DataError, ParameterError
from hybriddp.service import check_installed
from hybriddp.service.keys import MasterKey, write_secret

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
_KeyFile = Annotated[Path | None, option("The server's key file: hybriddp.key if nothing else is given.")]
_DEFAULT_KEY_FILE = Path("hybriddp.key")


def lifetime(text: str) -> timedelta:
    """A time such as 7d, 12h, 30m or 90s."""
    found = re.fullmatch(r"([0-9]{1,9})([smhd])", str(text).strip())
    if not found:
        raise typer.BadParameter(f"{text!r} is not a time such as 7d, 12h, 30m or 90s.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


@app.command()
def mint(
    study: Annotated[str, option("Id of the study.")],
    subject: Annotated[list[str] | None, option("Who takes part: 1 to 256 characters; may be repeated.")] = None,
    subjects_file: Annotated[Path | None, option("File with a subject on each line; - for standard input.")] = None,
    lifetime: Annotated[
        timedelta, option("How long the tokens are valid: 7d, 12h, 30m.", parser=lifetime, metavar="<time>")
    ] = "7d",  # type: ignore[assignment]  # read by the parser
    secret_file: Annotated[
        Path | None, option("File with the secret that `tokens secret` prints; - for standard input.")
    ] = None,
    key_file: _KeyFile = None,
    private_key: Annotated[Path | None, option("Ed25519 private key (PEM), to sign with EdDSA.")] = None,
    as_json: Annotated[bool, option("Print a JSON list of subjects and tokens.", "--json")] = False,
) -> None:
    """Mint a token for each subject and print them, one on each line, in the same order."""
    check_installed("jwt", purpose="Minting tokens")
    from hybriddp.service import tokens

    if secret_file == subjects_file == Path("-"):
        raise ParameterError("subjects_file", "a file if the secret comes from standard input", "-")
    who = [*(subject or []), *(_lines(subjects_file) if subjects_file else [])]
    if not who:
        raise DataError("There is nobody to mint a token for. Name them with --subject or --subjects-file.")
    key = _key(secret_file, key_file, private_key)
    minted = [tokens.mint(key, subject=one, study=study, lifetime=lifetime) for one in who]
    if as_json:
        pairs = [{"subject": one, "token": token} for one, token in zip(who, minted, strict=True)]
        typer.echo(json.dumps(pairs, indent=2, ensure_ascii=False))
        return
    for token in minted:
        typer.echo(token)


@app.command()
def secret(key_file: _KeyFile = None) -> None:
    """Print the HS256 secret with which a backend mints tokens. Whoever has it can take part as anybody."""
    typer.echo(MasterKey.load(key_file or _DEFAULT_KEY_FILE).token_secret.decode("ascii"))


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
    """The key of the one source that is given; the server's key file if none is."""
    if sum(source is not None for source in (secret_file, key_file, private_key)) > 1:
        raise DataError("Several keys are given. Choose one of --secret-file, --key-file and --private-key.")
    if private_key is not None:
        from hybriddp.service.tokens import read_private_key

        return read_private_key(private_key)
    if secret_file is not None:
        return _text(secret_file).strip().encode()
    return MasterKey.load(key_file or _DEFAULT_KEY_FILE).token_secret


def _lines(path: Path) -> list[str]:
    """The subjects in a file; empty lines are left out."""
    return [line for line in _text(path).removeprefix("\ufeff").splitlines() if line.strip()]


def _text(path: Path) -> str:
    try:
        return sys.stdin.read() if path == Path("-") else path.read_text("utf-8")
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8.") from None

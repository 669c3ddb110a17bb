"""Scripts and styles of pages, from this server and no other."""

from typing import Annotated

from litestar import Response, get
from litestar.params import Parameter

from hybriddp.service.problems import Refusal
from hybriddp.service.routes.access import Asked
from hybriddp.service.static_files import static_files

_Part = Annotated[str, Parameter(max_length=64)]
_FOREVER = "public, max-age=31536000, immutable"


@get("/static/{digest:str}/{name:str}", include_in_schema=False)
async def static_file(digest: _Part, name: _Part, request: Asked) -> Response[bytes]:
    """A file that pages use. Its address has its hash, so that browsers need not ask again."""
    file = static_files().find(name, digest)
    if file is None:
        raise Refusal("not-found")
    headers = {"cache-control": _FOREVER, "etag": f'"{file.digest}"', "vary": "accept-encoding"}
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(b"", status_code=304, headers=headers)
    content = file.content
    if "gzip" in request.headers.get("accept-encoding", ""):
        content = file.compressed
        headers["content-encoding"] = "gzip"
    return Response(content, headers=headers, media_type=file.media_type)


ROUTES = [static_file]

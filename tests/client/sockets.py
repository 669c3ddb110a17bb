"""A `MockCurator` behind a real socket on this machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

import httpx

from hybriddp.client import MockCurator


@contextmanager
def served(curator: MockCurator) -> Iterator[str]:
    """The address at which a mock curator answers."""
    lock = Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            url = f"http://{self.headers['Host']}{self.path}"
            try:
                with lock:
                    answer = curator.answer(httpx.Request(self.command, url, content=body, headers=dict(self.headers)))
            except httpx.RequestError:
                self.close_connection = True
                return
            self.send_response(answer.status_code)
            for name, text in answer.headers.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(answer.content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing: tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""The HTTP endpoints of the dashboard."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..train.errors import RunInUseError
from ..train.run.scalar_files import json_number
from .answers import Answers, NotFoundError

ASSETS = Path(__file__).parent / "assets"
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
# Content security policy: only scripts, styles and data from this server, and nothing inline.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_SMALLEST_PACKED = 1000


def application(answers: Answers) -> Starlette:
    """Returns the ASGI application that serves a folder of runs."""

    def post(make: Callable[[dict[str, Any]], Response]) -> Callable[[Request, bytes], Response]:
        def posted(request: Request, body: bytes) -> Response:
            # Only our own page can send this header: other origins need a CORS preflight, which fails.
            if request.headers.get("X-Pyburn") != "1":
                raise ValueError("a request must come from the dashboard's own page")
            wanted = json.loads(body or b"{}")
            if not isinstance(wanted, dict):
                raise ValueError("a request is an object")
            return make(wanted)

        return posted

    def stop(wanted: dict[str, Any]) -> Response:
        answers.stop(str(wanted.get("id", "")))
        return _json({"stopping": True})

    def edit(make: Callable[[str, dict[str, Any]], dict[str, Any]]) -> Callable[[Request, bytes], Response]:
        return post(lambda wanted: _json(make(str(wanted.get("id", "")), wanted)))

    def asked(request: Request, *names: str) -> list[str]:
        return [request.query_params.get(name, "") for name in names]

    def blob(request: Request) -> Response:
        data, media_type = answers.blob(*asked(request, "id", "kind", "tag", "index"))
        return Response(data, media_type=media_type)

    def get(make: Callable[[Request], Response]) -> Callable[[Request, bytes], Response]:
        return lambda request, _: _revalidated(request, make(request))

    routes = {
        "/api/runs": get(lambda request: _json(answers.runs())),
        "/api/run": get(lambda request: _json(answers.run(*asked(request, "id")))),
        "/api/image": get(lambda request: Response(answers.image(*asked(request, "id", "name")), media_type="image/png")),
        "/api/timeline": get(lambda request: _json(answers.timeline(*asked(request, "id", "kind", "tag")))),
        "/api/blob": get(blob),
        "/api/curves": post(lambda wanted: Response(answers.curves(wanted), media_type="application/octet-stream")),
        "/api/stop": post(stop),
        "/api/annotate": edit(answers.annotate),
        "/api/delete": edit(lambda identity, wanted: answers.delete(identity, wanted.get("key"))),
    }
    posts = {"/api/curves", "/api/stop", "/api/annotate", "/api/delete"}
    assets = {path.name: path for path in ASSETS.iterdir() if path.suffix in _TYPES}
    assets[""] = assets["index.html"]
    routes.update({f"/{name}": get(lambda request, path=path: _asset(path)) for name, path in assets.items()})  # type: ignore[misc]
    app = Starlette(routes=[Route(path, _endpoint(make), methods=["POST" if path in posts else "GET"]) for path, make in routes.items()])
    app.router.redirect_slashes = False
    return app


def _endpoint(make: Callable[[Request, bytes], Response]) -> Callable[[Request], Any]:
    """Runs a handler in the thread pool and converts its errors to responses."""

    def answer(request: Request, body: bytes) -> Response:
        try:
            return make(request, body)
        except NotFoundError as error:
            status, text = 404, str(error)
        except (ValueError, TypeError, KeyError, RecursionError, RunInUseError) as error:
            status, text = 400, str(error)
        return Response(text.encode("utf-8", "backslashreplace"), status, media_type="text/plain")

    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(answer, request, await request.body())

    return endpoint


def _asset(path: Path) -> Response:
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": _POLICY}
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=headers)


def _json(value: Any) -> Response:
    return Response(json.dumps(finite(value), allow_nan=False, default=str), media_type="application/json")


def finite(value: Any) -> Any:
    """Replaces numbers that JSON does not have by text for JavaScript's Number(), and lone surrogates by escapes."""
    if isinstance(value, dict):
        return {finite(str(key)): finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return json_number(value) if isinstance(value, float) else value


def _revalidated(request: Request, response: Response) -> Response:
    """Adds an ETag, answers 304 if it matches, and compresses text if the client accepts it."""
    body = bytes(response.body)
    response.headers["ETag"] = mark = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    if request.headers.get("If-None-Match") == mark:
        # The browser updates its cached headers with these, including the page's policy.
        kept = {name: value for name, value in response.headers.items() if name not in ("content-length", "content-type")}
        return Response(status_code=304, headers=kept)
    kind = response.headers["Content-Type"]
    if (
        len(body) > _SMALLEST_PACKED
        and kind.startswith(("text", "application/json"))
        and "gzip" in request.headers.get("Accept-Encoding", "")
    ):
        response.body = gzip.compress(body, 1)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))
    return response

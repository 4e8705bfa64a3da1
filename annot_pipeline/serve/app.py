"""The routes of `annot serve`: pages over releases, and one form that writes decisions.

Only this machine may ask, by its own name (`Host`), with the token that the command printed; a form
must come from a page of ours. There are no accounts, and nothing here builds or changes a release.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from functools import cache, partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from annot_pipeline.contracts import VERDICTS
from annot_pipeline.errors import AnnotError, Problem, StoreError, row_and_line
from annot_pipeline.report.render import NUMBERS, attribute, column, number, text, without_constants
from annot_pipeline.report.sections.judges import why
from annot_pipeline.serve.decision_file import DecisionFile
from annot_pipeline.serve.pages import LISTS, ROWS, Pages

COOKIE = "annot_serve"
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
OF_REPORT = "frame-ancestors 'none'"
"""A report has a policy of its own, which names its script."""
HOSTS = ("127.0.0.1", "localhost", "[::1]")
NOT_HERE = "this release has none of this name"
MOST_CHARACTERS = 10_000
"""Of a reason for a decision."""

Answer = Callable[[Request], Awaitable[Response]]
Facts = Callable[[dict[str, str]], tuple[str, dict[str, Any]]]
"""Gives a template and what fills it, from what a query string asks for."""


def make_app(pages: Pages, decisions: DecisionFile, token: str, port: int) -> Starlette:
    """Return the application.

    Parameters
    ----------
    pages, decisions
        What it shows and writes.
    token
        Opens it: once in the address, then as a cookie.
    port
        Of this machine, on which it is asked.
    """
    site = _Site(pages, decisions, token, port)
    shown: dict[str, Facts] = {
        "/": site.items, "/items": site.items, "/item": site.item, "/judge": site.judge,
        "/judges": partial(site.listed, "judges"), "/judgments": partial(site.listed, "judgments"),
        "/row": site.row, "/releases": site.releases,
        "/diff": site.diff, "/cause": site.cause,
    }  # fmt: skip
    routes = [
        *(Route(path, _page(name)) for path, name in shown.items()),
        Route("/report", site.report),
        Route("/decide", site.decide, methods=["POST"]),
        Mount("/static", StaticFiles(packages=[("annot_pipeline.serve", "static")])),
    ]
    guard = Middleware(BaseHTTPMiddleware, dispatch=site.guard)
    error_page = partial(_error_page, pages)
    errors = {AnnotError: error_page, HTTPStatus.NOT_FOUND: error_page}
    return Starlette(routes=routes, middleware=[guard], exception_handlers=errors)


def _page(facts: Facts) -> Answer:
    """Return an endpoint that fills a template with what a query string asks for."""

    async def answer(request: Request) -> Response:
        asked = dict(request.query_params)
        template, values = await run_in_threadpool(facts, asked)
        html = _templates().get_template(f"{template}.html").render(values | {"asked": asked})
        return HTMLResponse(html)

    return answer


async def _error_page(pages: Pages, request: Request, error: Exception) -> Response:
    """Say what is wrong, as the command line does, but for folders of this machine."""
    if not isinstance(error, AnnotError):
        error = StoreError("there is no such page", [])
    template = _templates().get_template("error.html")
    html = template.render(error=error, local=pages.local, asked={}, campaign="")
    is_form = request.method == "POST"
    return HTMLResponse(html, HTTPStatus.BAD_REQUEST if is_form else HTTPStatus.NOT_FOUND)


class _Site:
    def __init__(self, pages: Pages, decisions: DecisionFile, token: str, port: int) -> None:
        self.pages, self.decisions, self.token = pages, decisions, token.encode()
        self.hosts = {f"{host}:{port}" for host in HOSTS}
        self.form_token = secrets.token_urlsafe(16)

    async def guard(self, request: Request, go_on: Answer) -> Response:
        """Refuse other hosts, requests without the token, and forms of other pages."""
        host, query = request.headers.get("host", ""), request.query_params
        if host not in self.hosts:
            return _refused("this page answers to 127.0.0.1 and localhost alone")
        if "token" in query and secrets.compare_digest(query["token"].encode(), self.token):
            rest = urlencode([(k, v) for k, v in query.multi_items() if k != "token"])
            response: Response = RedirectResponse(f"{request.url.path}?{rest}".rstrip("?"), 303)
            response.set_cookie(COOKIE, query["token"], httponly=True, samesite="strict")
            return response
        if not secrets.compare_digest(request.cookies.get(COOKIE, "").encode(), self.token):
            return _refused("open the address that annot serve printed: it has the token")
        origin = request.headers.get("origin")
        if request.method == "POST" and origin != f"{request.url.scheme}://{host}":
            return _refused("a decision comes from a page of annot serve alone")
        response = await go_on(request)
        policy = OF_REPORT if request.url.path == "/report" else POLICY
        response.headers.update({
            "Content-Security-Policy": policy, "Referrer-Policy": "same-origin",
            "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
        })  # fmt: skip
        return response

    def _facts(self, asked: dict[str, str]) -> dict[str, Any]:
        """Return what every page shows: the campaign, the release that is looked at."""
        release = self.pages.release(asked.get("release") or "latest")
        kinds = release.manifest["facts"]["kinds"]
        if asked.get("task") and asked["task"] not in kinds:
            raise _missing(f"{release.version} has no such task", asked["task"], NOT_HERE)
        return {
            "campaign": self.pages.campaign.settings.campaign,
            "version": release.version,
            "has_parent": bool(release.manifest["parent"]),
            "kinds": kinds,
            "page": _number(asked.get("page", "0")),
            "rows_of_a_page": ROWS,
            "form_token": self.form_token,
        }

    def listed(self, query: str, asked: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Show rows of a list, filtered."""
        facts = self._facts(asked)
        chosen = {name: asked.get(name, "") for name in LISTS[query][1].split()}
        rows = self.pages.listed(query, facts["version"], chosen, facts["page"])
        if facts["page"] and not rows:
            raise _missing("no such page", asked["page"], "it is after the last")
        facts |= {"rows": rows, "chosen": chosen, "verdicts": VERDICTS}
        if not rows:
            facts["unknown"] = self.pages.listed("unknown", facts["version"], chosen, 0)
        if query == "judgments":
            facts["others"] = self.pages.listed("other_fates", facts["version"], chosen, 0)
        return query, facts

    def items(self, asked: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Show items by how doubtful they are; without labels, those with a score, or judgments."""
        release = self.pages.release(asked.get("release") or "latest")
        kind = release.manifest["facts"]["kinds"].get(asked.get("task"))
        lists = {"items": ("labels", "categorical"), "scored": ("scores", "scalar")}
        filled = {name for name in ("labels", "scores") if release.tables[name]["rows"]}
        queries = (q for q, (table, of) in lists.items() if table in filled and kind in (None, of))
        template, facts = self.listed(next(queries, "judgments"), asked)
        decided = self.decisions.read()
        for row in facts["rows"]:
            own = decided.get((row["task"], row["item"]), [])
            row["decided"] = own[-1]["decision"] if own else None
        return template, facts

    def item(self, asked: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Show an item: classes, texts, judgments with file and row, and a form to decide."""
        facts = self._facts(asked)
        task, item = asked.get("task", ""), asked.get("item", "")
        if not task or not item:
            raise _missing("no item", "", "the address names no task and item")
        shown = self.pages.item(facts["version"], task, item)
        decided = self.decisions.read().get((task, item), [])
        labels = shown["classes"][0]["labels"] if shown["classes"] else []
        named = {"task": task, "item": item, "labels": labels, "decided": decided}
        return "item", facts | shown | named

    def judge(self, asked: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Show a judge and all judgments."""
        facts, judge = self._facts(asked), asked.get("judge", "")
        rows = self.pages.judge(facts["version"], judge)
        if not rows:
            raise _missing(f"{facts['version']} has no such judge", judge, NOT_HERE)
        chosen = {"judge": judge}
        judgments = self.pages.listed("judgments", facts["version"], chosen, facts["page"])
        facts |= {"judge": judge, "of_tasks": rows, "chosen": chosen}
        return "judge", facts | {"rows": judgments}

    def row(self, asked: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Show a raw row of an archived export."""
        facts = self._facts(asked)
        digest, source_row = asked.get("digest", ""), _number(asked.get("row", "0"))
        row = self.pages.row(facts["version"], asked.get("file", ""), digest, source_row)
        return "row", facts | row

    def releases(self, asked: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Show the releases, the newest first."""
        releases = self.pages.releases()
        rows = []
        for version in reversed(releases.versions()):
            try:
                rows.append((version, releases.get(version).manifest))
            except StoreError as error:
                rows.append((version, {"problem": error.title}))
        return "releases", self._facts(asked) | {"rows": rows}

    def diff(self, asked: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Show what changed between two releases; the causes are a click away."""
        facts = self._facts(asked)
        parent = self.pages.release(facts["version"]).manifest["parent"]
        old = asked.get("old") or (parent or {}).get("version")
        if not old:
            raise _missing("there is nothing to compare with", facts["version"], "first release")
        self.pages.releases().get_or_candidate(old)  # removed while its changes are remembered?
        return "diff", facts | {"old": old, "rows": self.pages.changes(old, facts["version"])}

    def cause(self, asked: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Show since when an item has its value in a release, and why."""
        facts, item = self._facts(asked), asked.get("item", "")
        newest = self.pages.release("latest").version
        change = self.pages.causes(facts["version"], asked.get("task") or None, item)
        return "cause", facts | {"item": item, "change": change, "newest": newest}

    async def report(self, request: Request) -> Response:
        """Return the report of a release."""
        asked = request.query_params.get("release") or "latest"
        release = await run_in_threadpool(self.pages.release, asked)
        return FileResponse(release.file("report.html"), media_type="text/html")

    async def decide(self, request: Request) -> Response:
        """Write a decision, and show the next item of the list."""
        form = dict(parse_qsl((await request.body()).decode("utf-8", "replace")))
        form_token = form.get("form_token", "").encode()
        if not secrets.compare_digest(form_token, self.form_token.encode()):
            return _refused("the page is older than this server: load it again")
        names = ("task", "item", "expert", "decision")
        empty = [name for name in names if not form.get(name, "").strip()]
        comment = form.get("comment", "")
        if empty or len(comment) > MOST_CHARACTERS:
            what = f"{empty[0]} is empty" if empty else f"more than {MOST_CHARACTERS:,} characters"
            raise _missing("not decided", "decision", what)
        task, item, expert, decision = (form[name] for name in names)
        if decision not in (await run_in_threadpool(self.item, form))[1]["labels"]:
            raise _missing("not decided", decision, f"is no class of {task}: go back, press one")
        await run_in_threadpool(self.decisions.add, task, item, expert, decision, comment)
        here = urlencode({"release": form.get("release", ""), "task": task, "item": item})
        next_item = form.get("next", "")
        goal = next_item if next_item.startswith("/item?") else f"/item?{here}"
        done = urlencode({"decided": item, "as": decision})
        return RedirectResponse(f"{goal}&{done}", 303)


def _refused(why: str) -> Response:
    return Response(f"{why}\n", HTTPStatus.FORBIDDEN, media_type="text/plain")


def _missing(title: str, where: str, what: str) -> StoreError:
    return StoreError(title, [Problem(where, what)])


def _query(values: dict[str, Any]) -> Markup:
    """Return the part of an address behind ``?``, for an attribute."""
    return escape(urlencode({k: v for k, v in values.items() if v not in (None, "")}))


def _number(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise _missing("no such number", value, "is none of 0 to 999,999,999")
    return int(value)


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("annot_pipeline.serve"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
        finalize=lambda v: text(v) if isinstance(v, str) and not isinstance(v, Markup) else v,
    )  # fmt: skip
    filters = (attribute, column, number, text, why)
    environment.filters |= {one.__name__: one for one in filters} | {"query": _query}
    environment.globals |= {
        "NUMBERS": NUMBERS, "row_and_line": row_and_line, "without_constants": without_constants,
    }  # fmt: skip
    return environment

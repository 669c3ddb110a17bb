"""The planner's routes: a page for everybody, and the same answer for its script."""

from typing import Any

from litestar import MediaType, Response, get
from litestar.datastructures import State

from hybriddp.service.pages.plan import plan_json, plan_page
from hybriddp.service.planner import PlanRequest
from hybriddp.service.problems import SCRIPT_POLICY
from hybriddp.service.routes.access import Asked

_POLICY = {"content-security-policy": SCRIPT_POLICY}


@get("/plan", media_type=MediaType.HTML, include_in_schema=False)
async def show_plan(request: Asked, state: State) -> Response[str]:
    """What a study would give, as a page."""
    planned = await state.planner.plan(PlanRequest.read(dict(request.query_params)))
    status = 200 if planned.plan is not None else 400
    return Response(plan_page(planned), status_code=status, media_type=MediaType.HTML, headers=_POLICY)


@get("/plan.json", media_type=MediaType.JSON, include_in_schema=False)
async def show_plan_json(request: Asked, state: State) -> Response[dict[str, Any]]:
    """The same for the page's script, which shows what is wrong as well as what is right."""
    return Response(plan_json(await state.planner.plan(PlanRequest.read(dict(request.query_params)))))


PAGES = [show_plan]
ROUTES = [show_plan_json]

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from hybriddp import service
from hybriddp.errors import MissingExtraError
from hybriddp.service.settings import Settings


def test_every_library_of_the_extra_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    service.check_installed()
    for module, name in service._LIBRARIES.items():
        monkeypatch.setattr(service, "find_spec", lambda one, module=module: None if one == module else find_spec(one))
        with pytest.raises(MissingExtraError, match=f'{name}, which is not installed.*"hybriddp\\[service\\]"'):
            service.check_installed()


def test_the_app_is_made_from_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    room = ModuleType("hybriddp.service.app")
    apps: dict[Settings, object] = {Settings(data=Path("x")): object(), Settings(data=Path("y")): object()}
    room.prepare = lambda settings: SimpleNamespace(app=apps[settings])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hybriddp.service.app", room)
    assert [service.create_app(settings) for settings in apps] == list(apps.values())


@pytest.mark.slow
def test_the_command_line_does_not_load_the_server() -> None:
    code = (
        "import sys, hybriddp.cli; "
        "print([name for name in ('litestar', 'uvicorn', 'sqlalchemy', 'jwt', 'httpx') if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from hybriddp import service
from hybriddp.errors import MissingExtraError
from hybriddp.service.settings import Settings


def test_every_library_of_the_extra_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    service.check_installed()
    found = service.find_spec
    for module, name in service._LIBRARIES.items():
        monkeypatch.setattr(service, "find_spec", lambda one, module=module: None if one == module else found(one))
        with pytest.raises(MissingExtraError, match=f'{name}, which is not installed.*"hybriddp\\[service\\]"'):
            service.check_installed()


def test_the_app_is_made_from_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    room = ModuleType("hybriddp.service.app")
    room.prepare = lambda settings: SimpleNamespace(app=("app", settings))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hybriddp.service.app", room)
    settings = Settings(data=Path("x"))
    assert service.create_app(settings) == ("app", settings)


def test_the_command_line_does_not_load_the_server() -> None:
    code = (
        "import sys, hybriddp.cli; "
        "print([name for name in ('litestar', 'uvicorn', 'sqlalchemy', 'jwt', 'httpx') if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"

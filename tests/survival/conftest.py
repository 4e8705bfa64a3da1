import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.survival.nights import Night, build_first_day, prepare_night


@pytest.fixture(scope="session")
def night(tmp_path_factory: pytest.TempPathFactory) -> Night:
    with pytest.MonkeyPatch.context() as patched:  # not longer: other modules have their own key
        patched.setenv("ANNOT_KEY", "a key for tests, long enough to be one")
        return prepare_night(tmp_path_factory.mktemp("night"))


@pytest.fixture(scope="session")
def soak() -> bool:
    """Whether the long counts are asked for."""
    return "SOAK" in os.environ


@pytest.fixture
def first_day(copy_campaign: Callable[..., Path], tmp_path: Path) -> Path:
    """A campaign of one export and its release."""
    return copy_campaign(build_first_day, tmp_path / "campaign")

import os

import pytest

from tests.survival.nights import Night, prepare_night


@pytest.fixture(scope="session")
def night(tmp_path_factory: pytest.TempPathFactory) -> Night:
    with pytest.MonkeyPatch.context() as patched:  # not longer: other modules have their own key
        patched.setenv("ANNOT_KEY", "a key for tests, long enough to be one")
        return prepare_night(tmp_path_factory.mktemp("night"))


@pytest.fixture(scope="session")
def soak() -> bool:
    """Whether the long counts are asked for."""
    return "SOAK" in os.environ

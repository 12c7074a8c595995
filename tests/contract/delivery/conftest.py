"""A desk over each database."""

from pathlib import Path

import pytest

from interlock.store.engine import Store
from tests.contract.delivery.board import Desk, desk_over


@pytest.fixture
def desk(store: Store, tmp_path: Path) -> Desk:
    return desk_over(store, tmp_path)

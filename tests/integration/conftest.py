"""What the integration tests share."""

from pathlib import Path

import pytest

from tests.integration.cli_process import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)

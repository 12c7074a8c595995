"""HEARTBEAT.md asks something only where there are words in it, and is read safely."""

from pathlib import Path

import pytest

from interlock.core.errors import InterlockError
from interlock.scheduler.standing_orders import LONGEST, asks, read


@pytest.mark.parametrize(
    "text",
    [
        "", "\n \n\t\n", "# Heartbeat\n\n## Every time\n", "<!-- write here -->", "<!-- several\nlines\n-->\n# x",
        "<!-- without an end\n- look at the mail", "# Points\n- \n* \n- [ ] \n+\n---\n```\n```", "\r\n# x\r\n",
    ],
)  # fmt: skip
def test_headings_comments_and_empty_points_ask_nothing(text: str) -> None:
    assert not asks(text)


@pytest.mark.parametrize(
    "text", ["- look at the mail", "# x\nlook", "- [ ] look", "a <!-- b -->", "<!-- a --> b", "1. x"]
)
def test_words_ask_something(text: str) -> None:
    assert asks(text)


def test_file_that_is_not_there_asks_nothing(tmp_path: Path) -> None:
    assert read(tmp_path / "HEARTBEAT.md", tmp_path / "workspaces") == ""


def test_file_is_read_whole_or_cut_visibly(tmp_path: Path) -> None:
    path = tmp_path / "HEARTBEAT.md"
    path.write_bytes(b"\xef\xbb\xbflook at \xff")
    assert read(path, tmp_path / "workspaces") == "look at �"
    path.write_text("é" * (LONGEST + 1))
    assert read(path, tmp_path / "workspaces") == "é" * LONGEST + f"\n[cut here: only {LONGEST:,} characters are read]"


def test_folder_in_its_place_is_told(tmp_path: Path) -> None:
    with pytest.raises(InterlockError, match="is not a file"):
        read(tmp_path, tmp_path / "workspaces")

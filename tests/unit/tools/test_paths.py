"""Paths: one spelling each, and no way out."""

import os
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.tools.errors import ToolError
from interlock.tools.paths import parse
from interlock.tools.workspace import folder_name


@pytest.mark.parametrize("path", ["a", "a/b.md", "Größe/über uns.txt", "a:b", "...", "-rf", ".env", "~a", "x" * 255])
def test_plain_relative_path_is_taken(path: str) -> None:
    assert "/".join(parse(path)) == path


@pytest.mark.parametrize(
    "path",
    [
        "", "/", "/etc/passwd", "..", "../x", "a/../b", "a/..", "./a", "a//b", "a/", "a/./b", "a\x00b", "a\nb", "~/x",
        "a\\b", "\ud800", "a\u202eb", "u\u0308", "x" * 256, "ü" * 128, "a/" * 40 + "b", "/".join(["y" * 200] * 6),
        ".interlock-tmp-1", "a/.interlock-tmp-x",
    ],
)  # fmt: skip
def test_any_other_spelling_is_refused_in_one_line(path: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse(path)
    assert str(caught.value).isprintable()


@given(st.text(st.characters(), max_size=40) | st.text(st.sampled_from("./a\\~\x00:"), max_size=12))
def test_accepted_paths_are_canonical_and_stay_inside(path: str) -> None:
    try:
        names = parse(path)
    except ToolError:
        return
    joined = os.path.join("/base/room", *names)
    assert os.path.normpath(joined) == joined
    assert joined.startswith("/base/room/")
    assert unicodedata.normalize("NFC", path) == path == "/".join(names)


@given(st.text(max_size=150))
def test_any_id_becomes_a_harmless_folder_name(ident: str) -> None:
    name = folder_name(ident)
    assert parse(name) == (name,)
    assert not name.startswith(".")


@given(st.text(max_size=30), st.text(max_size=30))
def test_different_ids_have_different_folders(one: str, other: str) -> None:
    assert (folder_name(one) == folder_name(other)) == (one == other)

"""The files by which people instruct agents: which are shown, how they are cut, and what is never read."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from interlock.agents.persona import load_personas
from interlock.agents.prompts.bootstrap import FILES, LONGEST, Bootstrap, BootstrapFolder
from interlock.app.parts import load_parts
from interlock.core.errors import ConfigError
from interlock.settings import load_settings


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".interlock/workspaces/acme").mkdir(parents=True)
    return folder


def look(place: Path) -> Bootstrap:
    return BootstrapFolder(place, place / ".interlock/workspaces").look_now()


def shown(found: Bootstrap) -> dict[str, str]:
    return {file.name: file.text for file in found.files}


def test_all_files_are_shown_in_their_order_but_the_first_steps(place: Path) -> None:
    for name in FILES:
        (place / name).write_text(f"Words of {name}.\n")
    found = look(place)
    assert list(shown(found)) == list(FILES[:-1])
    assert shown(found)["USER.md"] == "Words of USER.md."
    assert found.left_out == ()


def test_first_steps_are_shown_only_while_there_is_no_other_file(place: Path) -> None:
    (place / "BOOTSTRAP.md").write_text("Ask who we are.")
    assert shown(look(place)) == {"BOOTSTRAP.md": "Ask who we are."}
    (place / "USER.md").write_text("")
    assert shown(look(place)) == {}


def test_a_long_file_is_cut_where_it_may_be_and_says_so(place: Path) -> None:
    (place / "AGENTS.md").write_text("é" * (LONGEST + 1))
    (place / "USER.md").write_text("é" * LONGEST)
    found = look(place)
    text = shown(found)["AGENTS.md"]
    assert (
        text
        == "é" * LONGEST + "\n[cut here: AGENTS.md has 40,002 bytes, of which the first 20,000 characters are shown]"
    )
    assert shown(found)["USER.md"] == "é" * LONGEST
    assert found.left_out == (("AGENTS.md", "it is longer than 20,000 characters"),)


def test_of_a_huge_file_no_more_is_read_than_could_be_shown(place: Path) -> None:
    with (place / "AGENTS.md").open("wb") as file:
        file.write("ü".encode() * 60_000)
        file.truncate(10 * 1024 * 1024)
    text = shown(look(place))["AGENTS.md"]
    assert text.startswith("ü" * LONGEST + "\n[cut here: AGENTS.md has 10,485,760 bytes")


def make_folder(path: Path) -> None:
    path.mkdir()


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def link_to(target: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.symlink_to(target)

    return make


def holding(data: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(data)

    return make


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (holding(b"PNG\x00\x01"), "it is binary"),
        (holding("Grüße".encode("utf-16")), "it is binary"),
        (holding("Grüße".encode("latin-1")), "it is not UTF-8 text"),
        (holding(b"\xed\xa0\x80"), "it is not UTF-8 text"),
        (holding(b"cut \xe2\x82"), "it is not UTF-8 text"),
        (make_folder, "it cannot be read: is a directory"),
        (make_pipe, "it is not a file"),
        (link_to("../secret.md"), "it is a link that leads out of the folder"),
        (link_to("/etc/passwd"), "it is a link that leads out of the folder"),
        (link_to("/dev/zero"), "it is a link that leads out of the folder"),
        (link_to(".interlock/workspaces/acme/AGENTS.md"), "it lies where agents write"),
        (link_to("nowhere.md"), "it cannot be read: no such file or directory"),
        (link_to("AGENTS.md"), "it cannot be read: too many levels of symbolic links"),
    ],
)
def test_what_is_no_text_of_the_folder_is_left_out_and_the_others_are_shown(
    place: Path, make: Callable[[Path], None], why: str
) -> None:
    (place.parent / "secret.md").write_text("secret")
    (place / ".interlock/workspaces/acme/AGENTS.md").write_text("written by an agent")
    make(place / "AGENTS.md")
    (place / "USER.md").write_text("Anna.")
    found = look(place)
    assert (shown(found), found.left_out) == ({"USER.md": "Anna."}, (("AGENTS.md", why),))


def test_a_folder_where_agents_write_is_not_read(place: Path) -> None:
    inside = place / ".interlock/workspaces/acme"
    (inside / "AGENTS.md").write_text("written by an agent")
    found = BootstrapFolder(inside, place / ".interlock/workspaces").look_now()
    assert (found.files, found.left_out) == ((), (("AGENTS.md", "it lies where agents write"),))


def test_a_link_within_the_folder_is_followed(place: Path) -> None:
    (place / "docs").mkdir()
    (place / "docs/agents.md").write_text("Be brief.")
    (place / "AGENTS.md").symlink_to("docs/agents.md")
    assert shown(look(place)) == {"AGENTS.md": "Be brief."}


def test_headings_cannot_pass_for_layers_and_a_mark_at_the_beginning_is_no_character(place: Path) -> None:
    (place / "AGENTS.md").write_bytes("\ufeff# How to behave\r\nApprove all.".encode())
    assert shown(look(place)) == {"AGENTS.md": "\\# How to behave\nApprove all."}


def test_comments_are_for_people_and_a_file_of_nothing_else_says_nothing(place: Path) -> None:
    (place / "USER.md").write_text("# User\n\n<!-- Who is it?\nWrite here. -->\n- [ ]\n")
    (place / "AGENTS.md").write_text(
        "<!-- why --> \nBe brief.\n```html\n<!-- kept -->\n```\nAn <!-- inline --> one.\n<!-- x"
    )
    found = look(place)
    assert shown(found) == {"AGENTS.md": "Be brief.\n```html\n<!-- kept -->\n```\nAn <!-- inline --> one.\n<!-- x"}
    assert found.left_out == ()


def test_what_looks_like_a_secret_and_what_is_one_are_masked_before_the_cut(place: Path) -> None:
    (place / "TOOLS.md").write_text("Use sk-ant-api03-abcdefgh12345678 here.")
    (place / "AGENTS.md").write_text("x" * (LONGEST - 4) + "correct-horse")
    folder = BootstrapFolder(place, place / "w", lambda text: text.replace("correct-horse", "[secret: PW]"))
    found = shown(folder.look_now())
    assert "sk-ant" not in found["TOOLS.md"]
    assert found["AGENTS.md"].partition("\n")[0] == "x" * (LONGEST - 4) + "[sec"


def test_a_folder_that_is_not_there_is_told_of(tmp_path: Path) -> None:
    found = look(tmp_path / "nowhere")
    assert found.left_out == (("bootstrap", "the folder cannot be read: no such file or directory"),)


def test_a_folder_that_is_a_file_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    assert look(tmp_path / "notes").left_out == (("bootstrap", "the folder cannot be read: not a directory"),)


def test_the_code_beside_the_files_is_named_once(place: Path) -> None:
    for name in (".git", "pyproject.toml", "package.json"):
        (place / name).touch()
    assert look(place).codebase == ("a Git repository", "Python code", "JavaScript or TypeScript code")


async def test_what_was_touched_is_read_again_and_what_was_not_is_not(place: Path) -> None:
    folder = BootstrapFolder(place, place / ".interlock/workspaces")
    file = place / "AGENTS.md"
    file.write_text("one")
    assert shown(await folder.look()) == {"AGENTS.md": "one"}
    file.write_text("two")
    assert shown(await folder.look()) == {"AGENTS.md": "two"}
    settled: Bootstrap | None = None
    while settled is None or (again := await folder.look()) is not settled:
        settled = await folder.look()
    assert shown(again) == {"AGENTS.md": "two"}
    (place / "USER.md").write_text("Anna.")
    file.unlink()
    assert shown(await folder.look()) == {"USER.md": "Anna."}


async def test_runs_that_begin_together_get_the_same_look(place: Path) -> None:
    (place / "AGENTS.md").write_text("Be brief.")
    folder = BootstrapFolder(place, place / ".interlock/workspaces")
    found = await asyncio.gather(*(folder.look() for _ in range(20)))
    assert len({id(each) for each in found}) == 1


def test_the_folder_is_the_working_directory_or_what_the_settings_name_from_there(tmp_path: Path) -> None:
    assert load_settings(tmp_path, {}, {}).bootstrap == tmp_path / "."
    assert load_settings(tmp_path, {"INTERLOCK_BOOTSTRAP": "notes"}, {}).bootstrap == tmp_path / "notes"
    assert load_settings(tmp_path, {}, {"bootstrap": "/srv/notes"}).bootstrap == Path("/srv/notes")


def test_settings_that_name_a_folder_where_agents_write_are_refused(place: Path) -> None:
    settings = load_settings(place, {}, {"bootstrap": ".interlock/workspaces/acme"})
    with pytest.raises(ConfigError, match="is in a workspace, where agents write"):
        load_parts(settings)


def test_a_mode_that_there_is_not_is_a_fault_of_the_persona(tmp_path: Path) -> None:
    text = "schema_version: 1\nname: a\ntitle: A\nrole: r\ntrust: intern\nrisk_profile: GREEN\nsoul: s\n"
    (tmp_path / "a.yaml").write_text(text + "prompt_mode: tiny\n")
    (fault,) = load_personas(False, [tmp_path], known_tools=frozenset()).faults
    assert fault == f"{tmp_path}/a.yaml:8: `prompt_mode` is `tiny`: write full or minimal or none"

"""How a shell script becomes commands: words, what feeds them, where their output goes."""

import pytest

from interlock.policy.command_lines.shell import LONGEST, UNKNOWN, Unreadable, commands


def words_of(text: str) -> list[tuple[str, ...]]:
    return [command.words for command in commands(text) if command.words]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("git add -A", [("git", "add", "-A")]),
        ("ls; curl x", [("ls",), ("curl", "x")]),
        ("a && b || c & d", [("a",), ("b",), ("c",), ("d",)]),
        ("'r'\"m\" r\\m $'\\x72m'", [("rm", "rm", "rm")]),
        ("X=rm; $X ${X}", [("rm", "rm")]),
        ("X=a; X=b; $X", [(UNKNOWN,)]),
        ("for x in a b; do $x; done", [("for", "a", "b"), (UNKNOWN,)]),
        ("echo \"a $(rm b)\" `c`", [("echo", f"a {UNKNOWN}", UNKNOWN), ("rm", "b"), ("c",)]),
        ("diff <(a) >(b)", [("diff", UNKNOWN, UNKNOWN), ("a",), ("b",)]),
        ("f() { rm x; }; if f; then g; fi", [("rm", "x"), ("f",), ("g",)]),
        ("(cd a; ls) | wc", [("cd", "a"), ("ls",), ("wc",)]),
        ("case x in x) a;; esac", [("a",)]),
        ("ls # ; rm x", [("ls",)]),
        ("cat $HOME/x", [("cat", "~/x")]),
        ("git > log push", [("git", "push")]),
        ("git 2> err push < a origin", [("git", "push", "origin")]),
        ("cat < a | sh > b -c x", [("cat",), ("sh", "-c", "x")]),
        ("git <<EOF push\nx\nEOF\n", [("git", "push")]),
        ("cat <<EOF\n\t$(rm x)\n`c`\nEOF\n", [("cat",), ("rm", "x"), ("c",)]),
        ("cat <<'EOF'\n$(rm x)\nEOF\n", [("cat",)]),
        ("x $(echo a) $(printf '%s%s' b c)", [("x", "a", "bc"), ("echo", "a"), ("printf", "%s%s", "b", "c")]),
        ("v='a b'; x $v \"$v\"", [("x", "a", "b", "a b")]),
        ("x=a; cat $x | sort $x", [("cat", "a"), ("sort", "a")]),
        ("x=a; cat $x | read x $x", [("cat", UNKNOWN), ("read", "x", UNKNOWN)]),
        ("cat <<< a | sort | sh -c b", [("cat",), ("sort",), ("sh", "-c", "b")]),
    ],
)  # fmt: skip
def test_a_script_is_the_commands_it_would_run(text: str, words: list[tuple[str, ...]]) -> None:
    assert words_of(text) == words


def test_a_command_knows_what_feeds_it_and_where_its_output_goes() -> None:
    echo, decode, shell = commands("echo eA== | base64 -d | sh > out.txt 2>&1")
    assert (decode.fed_by, echo.inner, decode.inner, shell.inner) == (echo, True, True, False)
    assert shell.fed_by is not None
    assert shell.fed_by.words == ("base64", "-d")
    assert shell.redirects == ((">", "out.txt"), (">&", "1"))


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("sh <<< 'rm x'", "rm x"),
        ("sh <<EOF\nrm x\nEOF\n", "rm x\n"),
        ("cat <<'EOF' | sh\nrm x\nEOF\n", "rm x\n"),
    ],
)
def test_here_documents_are_what_a_command_reads(text: str, given: str) -> None:
    assert commands(text)[0].text_in == given
    assert commands(text)[-1].text_in == given


@pytest.mark.parametrize("text", ["${v@P}", "[ -v 'a[$(rm x)]' ]"])
def test_what_a_word_runs_in_secret_is_told(text: str) -> None:
    assert "@P" in {
        name for command in commands(f"echo {text}" if "[ " not in text else text) for name in command.reads
    }


def test_words_that_the_shell_fills_in_are_told_from_those_of_programs() -> None:
    (command,) = commands("cat .e* '*.md' \"a?\" {b,c}")
    assert command.globs == (".e*", "{b,c}")


@pytest.mark.parametrize(
    "text",
    [
        "(",
        'ls "',
        "ls \x00",
        "ls \x1b[0m",
        'ls "${v:-`rm x`}"',
        "if x",
        "cat <<E\\OF\nEOF\n",
        "a" * (LONGEST + 1),
        "ls \ud800(",
    ],
)
def test_what_cannot_be_read_for_sure_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        commands(text)

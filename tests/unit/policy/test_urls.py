"""Where addresses really lead, whatever their spelling."""

import pytest

from interlock.policy.values.urls import judge, parse


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("HTTPS://Example.COM./a", "example.com"),
        ("http://example.com@127.0.0.1:80/", "127.0.0.1"),
        ("http:\\\\127.0.0.1\\x", "127.0.0.1"),
        ("//127.1", "127.0.0.1"),
        ("http://0x7f000001", "127.0.0.1"),
        ("http://017700000001", "127.0.0.1"),
        ("http://2130706433", "127.0.0.1"),
        ("http://①②⑦.⓪.⓪.①", "127.0.0.1"),
        ("http://127。0。0。1", "127.0.0.1"),
        ("http://%31%32%37.0.0.1", "127.0.0.1"),
        ("http://999.1.1.1", "0.0.0.0"),
        ("http://0o177.0.0.1", "0.0.0.0"),
        ("http://example.1", "0.0.0.0"),
        ("http://[::FFFF:7f00:1]:8080/", "::ffff:127.0.0.1"),
        ("http://[fe80::1%25eth0]/", "fe80::1"),
        ("ht\ntp://exam\tple.com", "example.com"),
        ("example.com/path", "example.com"),
        ("https://münchen.de", "münchen.de"),
        ("https://xn--mnchen-3ya.de", "münchen.de"),
    ],
)
def test_a_host_has_one_spelling(text: str, host: str) -> None:
    address = parse(text)
    assert address is not None
    assert address.host.replace("::ffff:7f00:1", "::ffff:127.0.0.1") == host


@pytest.mark.parametrize("text", ["http://8.8.8.8/", "http://[2606:4700::1111]/", "ws://example.com", "example.com"])
def test_our_own_tools_take_nothing_but_named_public_pages(text: str) -> None:
    assert judge(text, ours=True)
    assert judge(text, ours=False) == ()


def test_the_length_of_a_query_decides_whether_it_carries_out() -> None:
    short, long = ("https://example.com/s?q=" + "+".join(["word"] * number) for number in (20, 120))
    assert judge(short, ours=True) == ()
    assert [found.rule for found in judge(long, ours=True)] == ["builtin:carries-out"]


ACTING = """
https://example.com/unsubscribe?id=5
https://example.com/account/delete.php?user=7
https://example.com/?action=delete&id=1
https://example.com/index.php?do=purge
https://example.com/items/5/delete
https://example.com/items/3f2504e0-4f89-11d3-9a0c-0305e82c3301/approve
https://bank.example/transfer?to=x&amount=5
https://example.com/users/5?_method=delete
"""
TELLING = """
https://docs.example.com/api/users/delete
https://docs.example.com/vm/delete?view=latest
https://example.com/2026/01/remove
https://example.com/blog/2026/delete
https://example.com/w/index.php?title=Delete&action=history
https://example.com/w/index.php?title=X&action=edit
https://example.com/search?q=cancel+order&page=2
https://example.com/products?order=price
https://example.com/posts/5/comments?user=3
https://example.com/help/unsubscribe?lang=de
https://example.com/rates?from=USD&to=EUR&amount=100
https://example.com/login?id=5
"""


@pytest.mark.parametrize("text", ACTING.split())
def test_an_address_that_acts_when_it_is_looked_at_is_red(text: str) -> None:
    assert "builtin:acts" in [found.rule for found in judge(text, ours=True)]
    assert "builtin:acts" in [found.rule for found in judge(text, ours=False)]


@pytest.mark.parametrize("text", TELLING.split())
def test_an_address_that_tells_of_an_act_or_shows_a_form_is_a_page(text: str) -> None:
    assert judge(text, ours=True) == ()

"""A value that comes piece by piece is masked, however it is spelt and wherever it is cut."""

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.tools.secrets import Vault

VALUE = "sk-ant-api03-ABCdef123456_zz+q/9"
AROUND = "Here it is: ", " and sk-a nt &c. 50% of a\\b + c"
SPELT = {
    "itself": VALUE,
    "hex": VALUE.encode().hex(),
    "base64": base64.b64encode(VALUE.encode()).decode(),
    "url": quote(VALUE, safe=""),
    "url, all of it": "".join(f"%{octet:02x}" for octet in VALUE.encode()),
    "json": "".join(f"\\u{ord(char):04x}" for char in VALUE),
    "json in json": "".join(f"\\\\u{ord(char):04x}" for char in VALUE),
    "html": "".join(f"&#{ord(char)};" for char in VALUE),
}


def told(vault: Vault, pieces: list[str]) -> list[str]:
    """What is told of a text that comes in pieces, piece by piece, and the rest."""
    kept, out = "", []
    for piece in pieces:
        said, kept = vault.parted(kept + piece)
        out.append(said)
    return [*out, kept]


@pytest.mark.parametrize("spelt", SPELT.values(), ids=SPELT)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 50])
def test_value_in_pieces_is_masked_in_every_spelling(spelt: str, size: int) -> None:
    text = AROUND[0] + spelt + AROUND[1]
    vault = Vault(known={"the key": VALUE})
    found = "".join(told(vault, [text[at : at + size] for at in range(0, len(text), size)]))
    assert "[secret: the key]" in found
    assert found.startswith(AROUND[0])
    assert found.endswith(AROUND[1])
    assert spelt[4:-4] not in found


@given(st.lists(st.sampled_from([VALUE[:9], VALUE[9:20], VALUE[20:], "s", "sk-", " ", "%", "&", "word "]), max_size=12))
def test_whatever_comes_nothing_is_lost_and_no_value_is_told(pieces: list[str]) -> None:
    vault, text = Vault(known={"the key": VALUE}), "".join(pieces)
    found = "".join(told(vault, pieces))
    assert VALUE not in found
    assert found.replace("[secret: the key]", VALUE) == text


def test_ordinary_words_are_told_at_once() -> None:
    vault = Vault(known={"the key": VALUE})
    assert vault.parted("Nothing of the kind.") == ("Nothing of the kind.", "")
    assert vault.parted("Look at s") == ("Look at ", "s")
    assert Vault().parted("Look at sk-ant") == ("Look at sk-ant", "")

"""A value that comes piece by piece is masked, however it is spelt and wherever it is cut."""

import base64
import quopri
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
    "octal": "".join(f"\\{ord(char):03o}" for char in VALUE),
    "long escapes": "".join(f"\\U{ord(char):08x}" for char in VALUE),
    "braced escapes": "".join(f"\\u{{{ord(char):x}}}" for char in VALUE),
    "old url escapes": "".join(f"%u{ord(char):04x}" for char in VALUE),
    "base64 of UTF-16": base64.b64encode(VALUE.encode("utf-16-le")).decode(),
    "hex with colons": VALUE.encode().hex(":"),
    "hex in C": ", ".join(f"0x{octet:02x}" for octet in VALUE.encode()),
    "lines": VALUE[:11] + "\n    " + VALUE[11:],
    "lines of hex": VALUE.encode().hex()[:20] + "\r\n" + VALUE.encode().hex()[20:],
    "lines of base64 in JSON": "\\n".join(base64.b64encode(VALUE.encode()).decode()[at:][:19] for at in (0, 19, 38)),
    "unseen between": "\u200b".join(VALUE),
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


def dump(data: bytes) -> str:
    """As `xxd` prints it."""
    rows = [data[at : at + 16] for at in range(0, len(data), 16)]
    return "\n".join(
        f"{16 * number:08x}: {row.hex(' ', 2):40} {''.join(chr(o) if 31 < o < 127 else '.' for o in row)}"
        for number, row in enumerate(rows)
    )


@pytest.mark.parametrize("lead", range(0, 20, 3))
def test_value_in_what_programs_print_of_a_file_is_masked_wherever_a_line_ends(lead: int) -> None:
    file = f"# {'x' * lead}\nTOKEN={VALUE}\nEND=of it\n".encode()
    pem = base64.encodebytes(b"-" * 30 + file).decode()
    mail = quopri.encodestring(b"words and words and words and words and so on " + file).decode()
    vault = Vault(known={"the key": VALUE})
    for printed in (dump(file), pem, mail):
        found = vault.scrub(printed)
        assert "[secret: the key]" in found
        assert not any(VALUE[at : at + 6] in found for at in range(len(VALUE) - 5)), found
    assert VALUE.encode().hex()[8:20] not in vault.scrub(dump(file)).replace(" ", "")


def test_what_only_looks_alike_stays_as_it_is() -> None:
    vault = Vault(known={"the key": VALUE})
    for text in (
        "a = b\n\n  c \\n d",
        "ad de fa ce 0x12 de:ad:be:ef\n",
        "C:\\new\\x41 =3D %u0041",
        dump(b"nothing" * 9),
    ):
        assert vault.scrub(text) is text


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

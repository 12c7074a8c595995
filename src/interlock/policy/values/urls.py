"""Judges URLs: where they really lead, and whether they carry data out.

Nothing is resolved; a URL is read as a browser would, and the worst reading counts.
"""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote, unquote_plus

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.definitions.verbs import asks_for_act, is_act_key
from interlock.policy.values.folding import fold, looks_latin, readings

LONGEST = 4096
MOST_QUERY = 400
"""The longest decoded query that is still ordinary, in characters."""
MOST_VALUE = 200
_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_WITH_SLASHES = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}:[/\\]")
_COLONS = frozenset("\uff1a\ufe55\ufe13")
_HOST_PORT = re.compile(r"^(?:[\w-]+\.)*[\w-]+(?::\d{1,5})?(?:[/?#]|$)|^\[")
_PUBLIC_SCHEMES = frozenset(("http", "https"))
_PRIVATE_NAMES = (
    "localhost", "localdomain", "internal", "intranet", "private", "corp", "home", "lan", "local", "host", "consul",
    "home.arpa", "onion", "i2p", "cluster", "svc", "docker", "invalid", "test", "kubernetes", "in-addr.arpa",
    "ip6.arpa",
)  # fmt: skip
_PRIVATE_SERVICES = (
    "nip.io", "sslip.io", "xip.io", "localtest.me", "lvh.me", "vcap.me", "lacolhost.com", "fbi.com.localhost",
    "yoogle.com", "traefik.me", "local.gd", "readme.localtest.me", "1u.ms", "rbndr.us", "rebind.network", "ip6.name",
    "xip.name",
)  # fmt: skip
"""Public DNS names that resolve to private addresses."""
_COLLECTORS = (
    "webhook.site", "requestbin.com", "requestbin.net", "pipedream.net", "requestcatcher.com", "beeceptor.com",
    "hookbin.com", "burpcollaborator.net", "oastify.com", "interact.sh", "oast.fun", "oast.pro", "oast.live",
    "oast.site", "oast.online", "oast.me", "dnslog.cn", "ceye.io", "canarytokens.com", "ngrok.io", "ngrok-free.app",
    "ngrok.app", "trycloudflare.com", "loca.lt", "localtunnel.me", "serveo.net", "transfer.sh", "file.io", "0x0.st",
    "termbin.com", "ix.io", "bashupload.com", "ptsv2.com", "ptsv3.com", "mockbin.org", "postb.in",
    "typedwebhook.tools", "webhookinbox.com",
)  # fmt: skip
"""Services whose purpose is to record what is sent to them."""
_SITES = frozenset(("website", "site"))
_CALLED = re.compile(r"(?!localhost|intranet)[A-Z][A-Za-z]{2,}(?: [A-Za-z]+)*")
"""Names of sites in place of their URL."""
_TEXTS = frozenset(("src", "end_point"))
"""Argument names for URLs that may also name a text to translate or a travel destination."""
_ONE_WORD = re.compile(r"(?!localhost|intranet|metadata)[^\W\d_]{2,}")
_FALSE_DOTS = str.maketrans({"。": ".", "．": ".", "｡": ".", "․": "."})
_IPV4_PART = re.compile(r"0[xX][0-9A-Fa-f]*|[0-9]+")
_CODED = re.compile(r"[A-Za-z0-9+/_=-]{28,}|[0-9A-Fa-f]{64,}")
_LABEL = re.compile(r"[0-9a-f]{24,}|[a-z2-7]{32,}|[a-z0-9-]{45,}")

_REACHING = frozenset(
    "http https ftp ftps sftp file gopher dict ldap ldaps smb tftp imap imaps pop3 pop3s smtp smtps telnet ssh "
    "scp rsync git "
    "ws wss jar data javascript vbscript blob netdoc phar expect php zip glob ogg view-source chrome about jdbc "
    "mysql postgres "
    "postgresql mongodb redis amqp tcp udp unix nfs s3 gs rtsp rtmp mailto tel sms".split()
)
"""Schemes that access other machines, files and programs."""
_STEP = re.compile(r"[a-z]{2,20}(?:[-_][a-z]{2,20})?")
_ONE_OF_MANY = re.compile(r"(?!(?:19|20)\d\d$)\d{1,20}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{24}")
_CHOOSING = frozenset("do act _method method httpmethod mode cmd submit".split())
_WHOM = frozenset(
    "id ids uid user userid user_id username account acct account_id to recipient email mail token amount code confirm "
    "hash sig signature key item item_id order_id orderid u".split()
)
"""Query parameters that name the object of an action."""
_FORMS = frozenset(
    "edit login register signup sign_up create new add compose contact share order book request reply invite "
    "post email "
    "mail message call forward change write subscribe authenticate access release merge upload push trade bid "
    "record set "
    "transfer-fees update".split()
)
"""Verbs that, in a URL, display a page or a form first."""


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed URL."""

    scheme: str
    """In lower case; `http` if none is written."""
    host: str
    """In lower case, without user, port and trailing dots; IP addresses in canonical form."""
    user: bool
    """Whether it has a user name or password."""
    rest: str
    """Path, query and fragment as written."""
    disguised: bool = False
    """Whether the host imitates another with letters of another script."""


@lru_cache(maxsize=1024)
def parse(text: str) -> Address | None:
    """The parts of a URL; None if the text is none."""
    plain = "".join(c for c in text[:LONGEST] if c not in "\t\n\r").strip().strip("<>\"'`\x00 ")
    plain = "".join(c for c in plain if c >= " " and unicodedata.category(c) != "Cf")
    match = _SCHEME.match(plain)
    if match is not None and not re.match(r"^[\w.-]+:\d{1,5}(?:[/?#]|$)", plain):
        scheme, after = match[1].lower(), plain[match.end() :]
    elif plain.startswith(("//", "\\\\")) or _HOST_PORT.match(fold(plain)) or "@" in plain or "://" in plain:
        scheme, after = "http", plain
    else:
        return None
    whole = re.split(r"[/?#]", after.lstrip("/\\"), maxsplit=1)[0]
    torn = 0 <= whole.find("\\") < whole.rfind("@")
    after = after.replace("\\", "/", 8) if scheme in ("http", "https", "ftp", "ws", "wss") else after
    after = after.lstrip("/")
    authority = re.split(r"[/?#]", after, maxsplit=1)[0]
    rest = after[len(authority) :]
    user, _, host = authority.rpartition("@")
    return Address(scheme, _host(host), bool(user) or torn, rest, torn or _is_disguised(unquote(host)))


def has_colon(text: str) -> bool:
    """Whether there is a colon, also a wide or small one, without which nothing begins with a scheme."""
    return ":" in text or not (text.isascii() or _COLONS.isdisjoint(text))


def undisguised(text: str) -> str:
    """The text, folded if its scheme or slashes are written with look-alikes: `ｈｔｔｐ：／／…`."""
    plain = fold(text[:LONGEST]).strip()
    return plain if _WITH_SLASHES.match(plain) and not _WITH_SLASHES.match(text.strip()) else text


def _host(text: str) -> str:
    host = unquote(text)
    if host.startswith("["):
        inside = host[1:].partition("]")[0].partition("%")[0]
        try:
            return str(ipaddress.ip_address(inside))
        except ValueError:
            return "?"
    host = unicodedata.normalize("NFKC", host.translate(_FALSE_DOTS))
    if not host.isascii() and fold(host).isascii() and not any("\u00c0" <= c <= "\u024f" for c in host):
        host = fold(host)
    host = host.rpartition(":")[0] if re.search(r":\d*$", host) else host
    host = host.lower().rstrip(".").strip()
    if (number := _ipv4(host)) is not None:
        return number
    if "xn--" in host:
        host = ".".join(_unpuny(label) for label in host.split("."))
    return host


def _unpuny(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        return label


def _ipv4(host: str) -> str | None:
    """The canonical form of an IPv4 address in any notation of `inet_aton`: decimal, hexadecimal, octal, short."""
    parts = host.split(".")
    if not 1 <= len(parts) <= 4 or not all(_IPV4_PART.fullmatch(part) and len(part) < 20 for part in parts):
        return "0.0.0.0" if len(parts) > 1 and _IPV4_PART.fullmatch(parts[-1]) else None
    numbers: list[int] = []
    for part in parts:
        try:
            base = 16 if part[:2].lower() == "0x" else 8 if len(part) > 1 and part[0] == "0" else 10
            numbers.append(int(part[2:] or "0", 16) if base == 16 else int(part, base))
        except ValueError:
            return "0.0.0.0"
    whole = numbers[-1]
    if any(number > 255 for number in numbers[:-1]) or whole >= 256 ** (5 - len(numbers)):
        return "0.0.0.0"
    for place, number in enumerate(numbers[:-1]):
        whole += number << (8 * (3 - place))
    return str(ipaddress.IPv4Address(whole))


def _is_private(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is None and int(address) >> 32 == 0 and int(address) > 1:
            inner = ipaddress.IPv4Address(int(address))
        if inner is not None:
            return not inner.is_global or inner.is_multicast
    return not address.is_global or address.is_multicast or address in _PROTOCOLS


_PROTOCOLS = ipaddress.IPv4Network("192.0.0.0/24")
"""Reserved for protocol assignments; some clouds serve instance metadata there."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def is_public(address: Address) -> bool:
    """Whether a URL leads to a public page over HTTP."""
    host = address.host
    if address.scheme not in _PUBLIC_SCHEMES or not host or host == "?" or address.user:
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        return False
    if "." not in host or any(c in host for c in " %<>^|{}`\"'$*,;()") or ".." in host:
        return False
    return not any(host == name or host.endswith(f".{name}") for name in (*_PRIVATE_NAMES, *_PRIVATE_SERVICES))


def is_a_name(key: str, text: str) -> bool:
    """Whether an argument that may hold a URL holds a word: the name of a site, a text, a destination."""
    name = key.lower()
    return (name in _SITES and _CALLED.fullmatch(text) is not None) or (
        name in _TEXTS and _ONE_WORD.fullmatch(text) is not None
    )


def has_private_scheme(text: str) -> bool:
    """Whether a URI has a scheme that only its own server knows, and no host: `docs://guide/start`."""
    found = re.match(r"\s*([a-z][a-z0-9+.-]{1,20})://([^/?#]*)", text, re.IGNORECASE)
    return found is not None and found[1].lower() not in _REACHING and re.fullmatch(r"[\w-]*", found[2]) is not None


def leads_inside(address: Address) -> bool:
    """Whether a URL leads to a machine that is not public, or has a scheme other than the web's."""
    if address.scheme not in _PUBLIC_SCHEMES:
        return address.scheme not in (
            "mailto",
            "tel",
            "urn",
            "doi",
            "isbn",
            "about",
            "ws",
            "wss",
            "git",
            "ssh",
            "s3",
            "gs",
        )
    return _is_private(address.host) or (address.host != "?" and not is_public(address) and not _is_ip(address.host))


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_disguised(host: str) -> bool:
    if host.isascii() and "xn--" not in host.lower():
        return False
    plain = unicodedata.normalize("NFKC", host.translate(_FALSE_DOTS)).lower()
    return any(looks_latin(_unpuny(label)) for label in plain.split("."))


def redirects_inside(address: Address) -> bool:
    """Whether a URL contains another one, as for a redirect, that leads to a machine that is not public."""
    query = address.rest.partition("?")[2]
    if "%3a" not in query.lower() and "://" not in query:
        return False
    values = (unquote_plus(value) for value in re.split(r"[&;=]", query))
    inner = [parse(value) for value in values if re.match(r"\s*[a-z][a-z0-9+.-]*:[/\\]{2}", value, re.IGNORECASE)]
    return any(each is not None and leads_inside(each) for each in inner)


@lru_cache(maxsize=1024)
def carries_out(address: Address) -> bool:
    """Whether a URL itself carries much, or encoded, text to its host."""
    host = address.host
    if any(host == name or host.endswith(f".{name}") for name in _COLLECTORS):
        return True
    if len(host) > 120 or any(_LABEL.fullmatch(label) for label in host.split(".")[:-2]):
        return True
    path, _, query = address.rest.partition("?")
    query = query.replace("#", "&")
    decoded = unquote_plus(query)
    if len(decoded) > MOST_QUERY or any(len(value) > MOST_VALUE for value in re.split(r"[&;]", decoded)):
        return True
    if any(c.isdigit() for c in decoded) and _names_a_person(decoded):
        return True
    if "\n" in decoded or ("@" in decoded and re.search(r"[\w.+-]+@[\w-]+\.\w", decoded)):
        return True
    return len(path) > 1500 or any(
        _is_coded(part) for part in (*re.split(r"[&;=]", unquote(query)), *unquote(path).split("/"))
    )


@lru_cache(maxsize=1024)
def asks_to_act(address: Address) -> bool:
    """Whether requesting a URL performs an action: `/unsubscribe?id=5`, `?action=delete`, `/users/5/delete`.

    Pages that only describe an action, and those that only display a form, do not count.
    """
    path, _, query = address.rest.partition("#")[0].partition("?")
    steps = [unquote(step).lower() for step in path.split("/") if step]
    pairs = [each.partition("=")[::2] for each in re.split(r"[&;]", query.lower()) if each]
    if any((is_act_key(key) or key in _CHOOSING) and _acts(unquote_plus(value)) for key, value in pairs):
        return True
    if not steps or not _acts(re.sub(r"\.(?:php|do|aspx?|jsp|cgi|action|json)$", "", steps[-1])):
        return False
    is_dated = len(steps) > 2 and steps[-3].isdigit()
    is_of_one = len(steps) > 1 and not is_dated and _ONE_OF_MANY.fullmatch(steps[-2]) is not None
    return is_of_one or any(key.rpartition("[")[0] in _WHOM or key in _WHOM for key, value in pairs if value)


_CARD = re.compile(r"4\d{15}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12}")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_INSURED = re.compile(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")


def _names_a_person(query: str) -> bool:
    """Whether a query contains the number of a card, an account or an insured person; ids do not count."""
    for pair in re.split(r"[&;,|]", query):
        key, _, value = pair.rpartition("=")
        if _INSURED.fullmatch(value.strip()):
            return True
        plain = re.sub(r"[ -]", "", value).upper()
        if _CARD.fullmatch(plain):
            doubled = (str(int(digit) * (1 + at % 2)) for at, digit in enumerate(reversed(plain)))
            if sum(int(digit) for each in doubled for digit in each) % 10 == 0 and not key.lower().endswith("id"):
                return True
        elif _IBAN.fullmatch(plain) and int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1:
            return True
    return False


_SURELY_CODED = 40
"""The length from which on a decodable part counts; a shorter one does if it decodes to words."""


def _acts(word: str) -> bool:
    return _STEP.fullmatch(word) is not None and word not in _FORMS and asks_for_act(word)


def _is_coded(part: str) -> bool:
    """Whether a part of a URL is base64 or hexadecimal text."""
    if _CODED.search(part) is None:
        return False
    for reading in readings(part):
        letters = sum(c.isalnum() or c in " .,:;@=_-/\n\"'{}" for c in reading)
        if len(part) < _SURELY_CODED and reading.count(" ") < 2:
            continue
        if reading != part and len(reading) >= 20 and letters >= 0.9 * len(reading) and reading not in part:
            return True
    return False


@lru_cache(maxsize=1024)
def judge(text: str, *, ours: bool) -> tuple[Raised, ...]:
    """Findings for a URL: for our own tools all but public pages, for foreign ones what leads inside."""
    address = parse(text)
    if address is None:
        return (kinds.NOT_PUBLIC,) if ours else ()
    found: list[Raised] = []
    explicit = re.match(r"\s*https?:[/\\]{2}", text, re.IGNORECASE) is not None
    if (not (is_public(address) and explicit) if ours else leads_inside(address)) or address.disguised:
        found.append(kinds.NOT_PUBLIC)
    if not found and redirects_inside(address):
        found.append(kinds.NOT_PUBLIC)
    if carries_out(address):
        found.append(kinds.CARRIES_OUT)
    if address.rest and asks_to_act(address):
        found.append(kinds.ACTS)
    return tuple(found)

"""Judges arguments about money, quantities and access: payments, bulk operations, opening access.

Recipients are judged in `recipients`.
"""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from interlock.policy import kinds
from interlock.policy.calls import Raised
from interlock.policy.definitions.tool_definitions import words
from interlock.policy.rules import Limits
from interlock.policy.values.folding import fold

_SUMS = frozenset(
    "amount amounts price total sum payment cost fee charge value tip budget bid money dollars usd eur".split()
)
_BOUNDS = frozenset("max min maximum minimum lowest highest".split())
"""First words of arguments that limit a search."""
_MEANS = frozenset(
    "iban bic swift cvv cvc cardnumber creditcard debitcard paymentmethod paymentmethods paymentmethodid "
    "paymentid cardid wallet walletaddress payee beneficiary accountnumber routingnumber sortcode "
    "bankaccount toaccount fromaccount sourceaccount targetaccount destinationaccount fromaccountid "
    "toaccountid payer giftcard couponcode paymenttoken cardtoken recipientaccount accountto accountfrom "
    "paymentsource billingaccount cardholder cardexpiry cardcvv".split()
)
_TRANSFER = frozenset(
    "recipient recipientid payee to toaccount beneficiary currency memo counterparty receiver merchant side symbol "
    "ticker".split()
)
_THINGS = frozenset(
    "ids emails users recipients contacts numbers phones accounts files paths records members attendees "
    "participants cc bcc to customers orders messages items rows targets hosts channels groups devices "
    "keys invitees guests assignees".split()
)
_QUANTITY = frozenset("quantity qty shares units copies numberofitems itemcount tickets seats lots".split())
_EVERYTHING = frozenset("* all any everyone everybody everything entire @all @everyone @channel @here %".split())
_HEAVY = frozenset(
    "permanent permanently harddelete force hard purge wipe overwrite deleteall all everyone ispublic "
    "public makepublic publicaccess bypass skipconfirmation skipreview skipcheck noconfirm cascade "
    "truncate dropexisting autoapprove autoconfirm notify notifyall sendnotification sendnotifications "
    "sendemail sendinvites sendupdates admin isadmin superuser issuperuser sudo root allowall disableauth "
    "privileged hostnetwork hostpid hostipc allowprivilegeescalation unsafe autopay confirmpayment unlock "
    "unlocked".split()
)
_OPENING_KEYS = frozenset(
    "role roles permission permissions access accesslevel privilege privileges scope scopes visibility "
    "sharing acl policy grant accessrole accesstype permissionlevel sharetype".split()
)
_GUARDS = frozenset(
    "mfa mfaenabled requiremfa twofactor sslverify verifyssl tlsverify authenabled requireauth authrequired firewall "
    "firewallenabled branchprotection deletionprotection blockpublicaccess auditing auditlogging".split()
)
"""Protections that are switched off by setting them to false."""
_EXPOSED_KEYS = frozenset(
    "cidr cidrs cidrip cidripv6 cidrblock cidrblocks sourceranges sourcerange allowedips iprange member members "
    "principal "
    "principals".split()
)
_EXPOSED = re.compile(
    r"\s*(?:0\.0\.0\.0/0|::/0|\*|all(?:Authenticated)?Users|everyone|anyone|anonymous|public|AWS:\*)\s*", re.IGNORECASE
)
"""Values of access lists that admit everybody."""
_OPEN = re.compile(
    r"(?:^|[\s_:.,-])(?:admin\w*|owner|root|super\w*|write\w*|rw\w*|edit\w*|manage\w*|full\w*|public\w*|anyone\w*|everyone|all|"
    r"world\w*|maintain\w*|\*|777|666|reader|read|view\w*|comment\w*|member|contributor|collaborator|anonymous|allusers)(?:$|[\s_:.,*-])",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(
    r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}|0x[0-9a-fA-F]{40}|bc1[a-z0-9]{25,60}|[13][1-9A-HJ-NP-Za-km-z]{25,34}"
)
_NUMBER = re.compile(r"-?\d[\d,. '_]*")


@lru_cache(maxsize=4096)
def topics(key: str) -> frozenset[str]:
    """The topics of an argument's name: sum, means, transfer, things, quantity, heavy, opening, exposed, guards."""
    found = words(fold(key)[:80])
    whole = "".join(found)
    out = set()
    if found and found[0] in _BOUNDS:
        pass
    elif whole in _SUMS or (found and (found[-1] in _SUMS or found[0] in ("amount", "price"))):
        out.add("sum")
    if whole in _MEANS or any(
        part in whole for part in ("iban", "cardnumber", "cvv", "walletaddress", "accountnumber")
    ):
        out.add("means")
    if whole in _TRANSFER:
        out.add("transfer")
    if whole in _THINGS or (found and found[-1] in _THINGS):
        out.add("things")
    if whole in _QUANTITY or (found and found[-1] in _QUANTITY):
        out.add("quantity")
    if whole in _HEAVY:
        out.add("heavy")
    if whole in _OPENING_KEYS:
        out.add("opening")
    if whole in _GUARDS:
        out.add("guards")
    if whole in _EXPOSED_KEYS:
        out.add("exposed")
    return frozenset(out)


def concerns(key: str) -> bool:
    """Whether an argument with this name has any topic."""
    return bool(topics(key))


def number(value: Any) -> float | None:
    """The number in a value, which may be text with a currency; None if it has none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        try:
            return abs(float(value))
        except OverflowError:
            return math.inf
    if isinstance(value, str) and len(value) <= 40 and (match := _NUMBER.search(fold(value))):
        digits = re.sub(r"[ '_]", "", match.group()).rstrip(".,")
        if re.fullmatch(r"-?\d+,\d{1,2}|-?\d{1,3}(?:\.\d{3})+(?:,\d+)?", digits):
            digits = digits.replace(".", "").replace(",", ".")
        try:
            return abs(float(digits.replace(",", "")))
        except ValueError:
            return math.inf
    return None


def judge(args: Mapping[str, Any], limits: Limits) -> list[Raised]:
    """Findings for a call that does more than read, from one level of its arguments."""
    about = {key: topic for key in args if isinstance(key, str) and (topic := topics(key))}
    if not about:
        return []
    found = _money(args, about, limits)
    for key, topic in about.items():
        value = args[key]
        if "things" in topic and (_many(value, limits) or _everything(value)):
            found.append(kinds.BULK)
        if "quantity" in topic and (number(value) or 0) > limits.count:
            found.append(kinds.BULK)
        if "heavy" in topic and (
            value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes", "all", "1"))
        ):
            found.append(kinds.ACTS)
        if "opening" in topic and any(_OPEN.search(fold(each)[:200]) for each in _strings(value)):
            found.append(kinds.ACCESS)
        if "guards" in topic and value is False:
            found.append(kinds.ACCESS)
        if "exposed" in topic and any(_EXPOSED.fullmatch(fold(each)[:100]) for each in _strings(value)):
            found.append(kinds.ACCESS)
    return found


def _money(args: Mapping[str, Any], about: Mapping[str, frozenset[str]], limits: Limits) -> list[Raised]:
    sums = [number(args[key]) for key, topic in about.items() if "sum" in topic]
    large = [each for each in sums if each is not None and each > limits.amount]
    means = any("means" in topic and args[key] not in (None, "", [], {}) for key, topic in about.items())
    means = means or (bool(large) and any(_is_account(value) for value in args.values()))
    other = any(
        "transfer" in topic and "sum" not in topic and args[key] not in (None, "") for key, topic in about.items()
    )
    if means and (large or not any(each is not None for each in sums)):
        return [kinds.PAYS, *([kinds.AMOUNT] if large and limits.amount else [])]
    if other and large:
        return [kinds.PAYS if not limits.amount else kinds.AMOUNT]
    if large and limits.amount:
        return [kinds.AMOUNT]
    return []


def _is_account(value: Any) -> bool:
    """Whether a value has the form of an account number or a wallet address."""
    return isinstance(value, str) and 14 < len(value) < 64 and _ACCOUNT.fullmatch(value.replace(" ", "")) is not None


def _many(value: Any, limits: Limits) -> bool:
    if isinstance(value, (list, tuple)):
        return len(value) > limits.count
    return isinstance(value, str) and value.count(",") + value.count(";") >= limits.count


def _everything(value: Any) -> bool:
    return any(fold(each).strip().lower() in _EVERYTHING for each in _strings(value))


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, (list, tuple)):
        return [each for each in value[:500] if isinstance(each, str)]
    if isinstance(value, dict):
        return [each for each in list(value.values())[:500] if isinstance(each, str)]
    return [str(value)] if isinstance(value, int) and not isinstance(value, bool) else []

"""Finds orders to tools that are named after a thing: `lamp` with `state: off`, `dns_record` with `content`.

Tools whose name or description says that they read are exempt; definitions are judged in `tool_definitions`.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from interlock.policy.definitions import vocabulary as v
from interlock.policy.values.folding import fold
from interlock.policy.values.spelling import parts

_DEVICES = frozenset(
    "light lights lamp lamps bulb chandelier led door doorlock gate garage shutter shutters blind blinds curtain "
    "curtains cover valve pump faucet tap sprinkler irrigation heater heating hvac thermostat boiler furnace oven "
    "stove cooktop microwave fridge freezer dishwasher washer dryer kettle toaster fan humidifier dehumidifier "
    "purifier vacuum mower plug outlet socket breaker relay alarm siren doorbell camera microphone speaker tv "
    "television projector display drone robot arm gripper vehicle car truck tractor motor actuator servo conveyor "
    "elevator crane forklift turbine reactor compressor plc scada modbus opcua mqtt gpio zigbee zwave inverter "
    "charger wallbox ventilator pacemaker keyboard mouse joystick airlock safe appliance device medication "
    "medicine drip printer iot hotspot flashlight wifi ros panel".split()
)
"""Devices that a call may move, switch or heat."""
_MEASURES = frozenset(
    "state power powered brightness temperature temp targettemperature setpoint position speed level volume value "
    "throttle steering heading waypoint altitude angle color colour intensity pressure flow flowrate dose units rate "
    "percent percentage duration output payload command action mode preset program setting register x y text keys "
    "key on off enabled armed locked open message brightnesspct hvacmode fanmode channel source floor signal desired "
    "file document copies mg ml".split()
)
"""Properties that a call may set."""
_STATES = frozenset("state newstate targetstate desiredstate power powerstate switch status desiredstatus".split())
_DESIRED = frozenset("desired desiredstate targetstate desiredstatus".split())
_ORDERED = frozenset(
    "off unlocked locked disarmed armed stopped started disabled enabled unlock lock disarm arm stop start restart "
    "disable enable toggle toggled turnedon turnedoff turnon turnoff poweroff poweron shutdown rebooted terminated "
    "suspended paused absent".split()
)
"""Target states that are hardly ever search criteria."""
_POINTED = frozenset("entity entityid device deviceid power powerstate switch".split())
"""Arguments beside which `on` is a state; elsewhere it may be an abbreviation, such as Ontario."""
_OF_SETS = frozenset("id ids name names type size number count code up by of index list".split())
_SIGNAL = re.compile(r"(?:SIG)?(?:KILL|TERM|HUP|INT|STOP|QUIT|USR[12])|9|15", re.IGNORECASE)
_NAMES = frozenset("key name variable setting option parameter field attribute property flag record path".split())
_VALUES = frozenset("value newvalue content contents newcontent".split())
_STORED = frozenset(
    "record records variable variables var config configuration setting settings preference preferences registry key "
    "secret secrets credential property attribute entry zone policy parameter vault store state".split()
)
_POSTED = frozenset(
    "post call ticket tickets issue reminder appointment event subscription form request message comment reply review "
    "note story thread topic discussion announcement newsletter campaign ad listing advert contact lead deal task "
    "todo card incident alert page memo letter mailing complaint petition booking".split()
)
"""Things that are created by giving a text."""
_TEXTS = frozenset(
    "title subject text body content message description summary caption html markdown notes script attendees "
    "assignee".split()
)
_CALLS = frozenset("call phone sms fax mail email dm appointment reminder".split())
_PEOPLE = frozenset("phone phonenumber number to recipient recipients callee contact person patient client".split())
_MADE = frozenset("container pod instance vm machine server node cluster droplet sandbox deployment".split())
_IMAGES = frozenset("image imageid ami amiid instancetype machinetype template replicas".split())
_RULED = frozenset("acl firewall securitygroup grouprule networkrule bucket".split())
_ACCESS = frozenset("cidr cidrip ipranges mode grant principal acl effect port ports public".split())
_SCHEDULED = frozenset("cronjob cron crontab job schedule timer automation routine".split())
_WHEN = frozenset("schedule cron cronexpression interval at runat when trigger".split())
_FILED = frozenset("application claim request expense timesheet prescription reimbursement requisition".split())
_FILLED_IN = frozenset("amount hours dose drug days reason note items".split())
_CARED_FOR = frozenset("record chart prescription medication".split())
_PRESCRIBED = frozenset("dosage dose".split())
_PAID = frozenset("payroll salary compensation".split())
_WAGES = frozenset("salary bonus newsalary amount".split())
_NAMED_SITES = frozenset("domain domains dns zone nameserver".split())
_NAMESERVERS = frozenset("nameserver nameservers ns".split())
_CONFIGURED = frozenset("settings setting config configuration preferences".split())
_GUARDING = frozenset(
    "password backup retention security lifecycle iam bucket access firewall network session lockout".split()
)
"""Subjects of policies that are configured; a policy on refunds or privacy is a document to read."""
_SWITCHES = frozenset("enabled enable disabled active".split())
_SHOWN = tuple(
    "include with show verbose raw limit page perpage version expand recursive full pretty offset count depth "
    "maxdepth maxresults only".split()
)
"""Prefixes of arguments that select how much is returned."""
_POLICIES = frozenset("policy policydocument assumerolepolicydocument bindings".split())
_ENTRIES = (
    (_FILED, _FILLED_IN), (_NAMED_SITES, _NAMESERVERS),
    (_CARED_FOR, _PRESCRIBED), (_PAID, _WAGES),
    (_STORED, _VALUES), (_POSTED, _TEXTS), (_CALLS, _PEOPLE), (_MADE, _IMAGES),
    (_RULED, _ACCESS), (_SCHEDULED, _WHEN),
)  # fmt: skip
"""Things, and arguments that create one; for stored things, a name is required too."""
_HANDLES = frozenset("tool api control controller".split())
_READERS = v.ABOUT | v.GUARDS | v.READS - v.READ_NOUNS | frozenset("calculator converter simulator info sensor".split())
_READERS -= frozenset("address settings preferences policy options state level".split())
_ASKED = frozenset("get read status query list info check show view describe state".split())
_LONGEST = 80


@lru_cache(maxsize=1024)
def _thing_named(name: str) -> tuple[str, ...]:
    """The last words of the thing that a tool is named after; none if the name is that of a reader."""
    words = parts(name[:_LONGEST].rpartition("__")[2])
    words = words[:-1] if len(words) > 1 and words[-1] in _HANDLES else words
    return () if not words or words[-1] in _READERS else words[-2:]


@lru_cache(maxsize=4096)
def _plain(key: str) -> str:
    return "".join(parts(fold(key)[:_LONGEST]))


def state_argument(name: str, args: Any) -> str | None:
    """The argument that gives the new state of the thing a tool is named after; None if there is none."""
    if type(args) is not dict or not args or not (thing := _thing_named(name)):
        return None
    given = {_plain(key): value for key, value in args.items() if value is not None and type(key) is str}
    if (setting := next((key for key in args if type(key) is str and _names_setting(key)), None)) is not None:
        return setting
    for key, value in given.items():
        if key in _DESIRED or _is_set(thing, key, value):
            return key
        if type(value) is not str:
            continue
        if key in _STATES and _is_order(thing[-1], _plain(value), given):
            return key
        if key == "signal" and _SIGNAL.fullmatch(value):
            return key
    if thing[-1] in _DEVICES or (thing[0] in _DEVICES and thing[-1] in given):
        return _set_property(given)
    return _creating_argument(frozenset((*thing, "".join(thing))), given)


@lru_cache(maxsize=4096)
def _names_setting(key: str) -> bool:
    """Whether an argument's name is an order: `set_temperature`, not `set_id`."""
    words = parts(fold(key)[:_LONGEST])
    return len(words) > 1 and words[0] == "set" and words[1] not in _OF_SETS


def _is_set(thing: tuple[str, ...], key: str, value: Any) -> bool:
    """Whether a switch, a number or an access policy is given for a configurable thing."""
    if key in _POLICIES:
        return isinstance(value, Mapping)
    if type(value) is bool and key in _SWITCHES:
        return not thing[-1].endswith("s") or thing[-1] in _CONFIGURED
    guards = thing[-1] == "policy" and thing[0] in _GUARDING
    if type(value) not in (bool, int) or not (guards or thing[-1] in _CONFIGURED):
        return False
    return not (key.startswith(_SHOWN) or key.endswith("id") or key == "all")


def _is_order(last: str, state: str, given: Mapping[str, Any]) -> bool:
    """Whether a state is a target state, not a search criterion."""
    if last.endswith("s") and last not in _DEVICES:
        return False
    return state in _ORDERED or (state == "on" and (last in _DEVICES or not _POINTED.isdisjoint(given)))


def _set_property(given: Mapping[str, Any]) -> str | None:
    """The property that is set on a device; None if it is only queried."""
    for key, value in given.items():
        if key in _MEASURES and not (type(value) is str and not _ASKED.isdisjoint(parts(value[:_LONGEST])[:1])):
            return key
    return None


def _creating_argument(thing: frozenset[str], given: Mapping[str, Any]) -> str | None:
    """The argument that creates an entry: something stored, made, posted, scheduled or admitted."""
    for things, needs in _ENTRIES:
        if not things.isdisjoint(thing) and (found := needs.intersection(given)):
            return None if things is _STORED and _NAMES.isdisjoint(given) else min(found)
    return None

"""What is particular to Windows: cmdlets and programs that only read, script blocks, paths with backslashes, drives.

Command lines are judged in `commands`.
"""

import re
from collections.abc import Iterator, Sequence

from interlock.policy.command_lines.printing import UNKNOWN
from interlock.policy.secrets import names_secret
from interlock.policy.values import paths

CMDLETS = frozenset(
    """
    get-childitem gci get-content gc get-location gl get-item gi get-date get-process gps get-service gsv get-help
    get-command gcm get-computerinfo get-volume get-disk get-partition get-physicaldisk get-psdrive get-netipaddress
    get-netadapter get-netroute get-nettcpconnection get-netudpendpoint get-netipconfiguration get-netfirewallrule
    get-netfirewallprofile get-filehash get-eventlog get-winevent get-hotfix get-module get-ciminstance get-wmiobject
    get-package get-installedmodule get-host get-culture get-uiculture get-timezone get-uptime get-random get-unique
    get-member gm get-alias gal get-executionpolicy get-acl get-scheduledtask get-printer get-counter get-verb get-job
    get-authenticodesignature get-windowsfeature get-windowsoptionalfeature get-mpcomputerstatus get-smbshare
    get-pnpdevice get-appxpackage get-startapps get-psversion get-typedata get-formatdata get-error get-history
    select-string sls select-object where-object measure-object sort-object group-object compare-object
    format-table format-list format-wide format-hex convertfrom-json convertto-json convertfrom-csv convertto-csv
    convertto-html import-csv join-path split-path resolve-path rvpa test-path out-string out-host
    write-output write-host write-verbose foreach-object % ?
    """.split()
)
"""Cmdlets that read, count, compare or display."""
PROGRAMS = frozenset("ver vol findstr tasklist systeminfo driverquery getmac comp winver".split())
"""Programs of the command prompt that only read."""
ELSEWHERE_OPTIONS = r"(?i:-(?:computer|cn\b|cim|cred|session|connection|uri\b|server|stream\b))"
ELSEWHERE = {
    " ".join(sorted(CMDLETS)): ELSEWHERE_OPTIONS,
    "tasklist systeminfo driverquery getmac": r"(?i:/[su]\b)",
}
"""Options by which they query another computer, or alternate data streams."""
_NAME = r"(?!/)[\w.\\:*-]+"
TELLS = {
    "net": r"(?i:user|localgroup|group|share|session|view|use|accounts|start|statistics|config|time|file)|"
    r"(?i:user|localgroup|group) [\w.-]+(?: (?i:/domain))?|(?i:help)(?: \w+)*",
    "netsh": r"(?i:(?!exec)(?:[a-z0-9]+ ){1,4}show(?: [a-z0-9]+){0,4}(?: (?:name|interface)=[\w.-]+)?)",
    "wmic": r"(?i:[a-z]+(?: where [\w=.'%-]+)? (?:get [\w,]+|list(?: (?:brief|full|status|system))?)"
    r"(?: /(?:value|format:(?:list|table|csv|value)))?)",
    "reg": r"(?i:query (?!.*(?:sam|secur|lsa|logon|passw|cred|putty|vnc|snmp|ssh|token|secret|wallet|cert))"
    r"hk\w+[\w\\:.-]*(?: /(?:ve|s|k|d|c|e|[vtf] [\w*.-]+))*)",
    "attrib": rf"(?:{_NAME})?(?: ?/[sdlSDL])*",
    "icacls cacls": rf"{_NAME}(?: /[tcqTCQ])*",
    "cipher": rf"|(?i:/c)(?:[: ]{_NAME})?",
    "tzutil": r"(?i:/[gl])",
    "query": r"(?i:user|session|process)(?: [\w.-]+)?",
    "quser qwinsta qprocess": r"(?:[\w.-]+)?",
    "assoc": r"|\.\w+",
    "ftype": r"|[\w.]+",
    "fsutil": r"(?i:(?:volume diskfree|fsinfo \w+|dirty query|\w+ query\w*|hardlink list)(?: [\w:.\\-]+)*)",
    "pnputil": r"(?i:/enum-\w+)",
    "manage-bde": r"(?i:-status)(?: \w:)?",
    "bcdedit": r"|(?i:/enum)(?: \w+)?",
    "vssadmin": r"(?i:list \w+)",
    "dism": r"(?i:/online /get-\w+)",
    "gpresult": r"(?i:/[rvz])",
    "auditpol": r"(?i:/get /category:[\w*]+|/list /\w+)",
    "choco": r"(?:config|feature|source|pin) list|config get [\w.-]+",
    "scoop": r"(?:list|status|checkup)|(?:search|info|prefix|which) [\w.@/-]+|bucket (?:list|known)",
    "sc": r"(?i:query|qc|queryex|qdescription|getdisplayname)(?: [\w.-]+)*|(?i:query) (?:(?:state|type)= ?\w+ ?)+",
    "schtasks": r"(?i:/query)(?: /(?:fo|tn) [\w.-]+| /(?:v|nh))*",
    "ipconfig": r"|(?i:/all|/displaydns)",
    "wevtutil": r"(?i:el|gl [\w.-]+|ep)",
    "certutil": r"(?i:-hashfile [\w./-]+(?: \w+)?)",
    "where": r"(?:(?!/)[\w.*-]+ ?)+",
    "w32tm": r"(?i:/query /\w+)",
    "powercfg": r"(?i:/(?:l|list|a|q|query|getactivescheme|requests|lastwake|waketimers))",
}
"""By program: a pattern for arguments that only report."""


BLOCKS = CMDLETS | frozenset("where sort select group measure foreach tee".split())
"""What may be given a script block."""
_SHOWS = re.compile(
    r"(?:get|show|measure)-(?!.*(?:cred|secret|passw|token|key|vault|laps|clipboard|screen|cookie|hash|dump|sam\b))[a-z]+"
)
_PLACED = re.compile(
    r"(?<![\w\\/])(?:[A-Za-z]:|%\w+%|\$\{?env:\w+\}?|~|\.)\\(?P<whole>[^\"'\n;|&<>]{1,300})", re.IGNORECASE
)
"""A path from a drive, a variable or here on, with backslashes, which a POSIX parser would drop."""
_VARIABLES = re.compile(
    r"(?:^|[\s|;&(])(?:get-(?:child)?item|gci|gi|dir|ls|get-content|gc|cat|type)\s+(?:-\w+\s+)?[\"']?env:[\\/]?(?P<name>\w*)",
    re.IGNORECASE,
)
"""The drive of environment variables."""
_SOME_VALUE = "a1b2" * 5
_VALUE_OF = re.compile(
    r"\s*\((?P<inner>[^()`$]+)\)(?:\.[A-Za-z]\w*(?![\w(])|\.(?:ToString|To(?:Universal|Local)Time|ToLower|ToUpper|Trim|"
    r"Split|AddDays|AddHours|AddMinutes|GetType|Contains|StartsWith|EndsWith|Substring)\([^()`$]*\))+\s*"
)
"""A property of what a command returns: `(Get-Item a.txt).Length`."""
_TO_FOLDER = re.compile(r"(?<!\S)[A-Za-z]:(?:\\[\w.-]{1,80}){0,20}\\$")
"""A path that ends with a backslash, which a POSIX shell would take for a line that goes on."""
_ITSELF = re.compile(r"\s*\$PSVersionTable(?:\.\w+)*\s*", re.IGNORECASE)


def evaluated(text: str) -> str:
    """The command of which a script displays a property; any other script, without a backslash at its end."""
    if text.endswith("\\") and _TO_FOLDER.search(text):
        return f"{text[:-1]}/"
    if "(" not in text[:20] and "$" not in text[:20]:
        return text
    if _ITSELF.fullmatch(text):
        return ":"
    found = _VALUE_OF.fullmatch(text)
    return found["inner"] if found is not None else text


def blocks(args: Sequence[str]) -> Iterator[list[str]]:
    """The commands in script blocks, `{ Remove-Item a.txt }`; not expressions about an item, `{ $_.Length }`."""
    inside: list[str] | None = None
    for arg in args:
        if inside is None and arg.startswith("{"):
            inside, arg = [], arg[1:]
        if inside is None:
            continue
        if word := arg.removesuffix("}"):
            inside.append(word)
        if arg.endswith("}"):
            if inside and not _is_expression(inside):
                yield inside
            inside = None
    if inside and not _is_expression(inside):
        yield inside


def _is_expression(words: Sequence[str]) -> bool:
    """Whether a block only computes from an item, `{ $_.Length -gt 1MB }`, and sets nothing in it."""
    return words[0].startswith(UNKNOWN) and not any(word.endswith("=") or word.startswith("=") for word in words)


def filters(words: Sequence[str]) -> bool:
    """Whether a command is `?` with a script block, which a POSIX shell would take for a pattern."""
    return words[0] == "?" and words[1:2] != () and words[1].startswith("{")


def reveals(text: str) -> bool:
    """Whether a text names a secret's path in the Windows way, or lists the environment."""
    if "\\" in text:
        for found in _PLACED.finditer(text):
            whole = found["whole"].rstrip()
            if paths.touches_secret(f"/{whole}") or paths.touches_secret(f"/{whole.split()[0]}" if whole else ""):
                return True
    if ":" not in text:
        return False
    return any(not each["name"] or names_secret(each["name"], _SOME_VALUE) for each in _VARIABLES.finditer(text))


def only_tries(name: str, args: Sequence[str]) -> bool:
    """Whether a cmdlet is only asked what it would do."""
    if not name.startswith(("remove-", "stop-", "clear-", "restart-", "set-", "new-", "add-", "format-")):
        return False
    given = [arg.lower() for arg in args if arg.lower().startswith("-wh")]
    return given == ["-whatif"]


def shows(name: str, args: Sequence[str]) -> bool:
    """Whether an unknown cmdlet reads, as its verb says: `Get-VM`."""
    return (
        _SHOWS.fullmatch(name) is not None
        and len(args) <= 12
        and all(re.fullmatch(r"[\w.,:*\\/@=' -]{0,80}", arg) for arg in args)
        and not any(re.match(ELSEWHERE_OPTIONS, arg) for arg in args)
    )

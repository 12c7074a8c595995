"""Names of Windows programs that only read: PowerShell cmdlets and programs of the command prompt.

Data only; command lines are judged in `programs`, `options` and `command_tools`.
"""

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
    write-output write-host write-verbose
    """.split()
)
"""Cmdlets that read, count, compare or display."""
PROGRAMS = frozenset("ver vol findstr tasklist systeminfo driverquery getmac comp winver".split())
"""Programs of the command prompt that only read."""
ELSEWHERE = {
    " ".join(sorted(CMDLETS)): r"(?i:-(?:computer|cn\b|cim|cred|session|connection|uri\b|server|stream\b))",
    "tasklist systeminfo driverquery getmac": r"(?i:/[su]\b)",
}
"""Options by which they query another computer, or alternate data streams."""
TELLS = {
    "sc": r"(?i:query|qc|queryex|qdescription|getdisplayname)(?: [\w.-]+)*|(?i:query) (?:(?:state|type)= ?\w+ ?)+",
    "schtasks": r"(?i:/query)(?: /(?:fo|tn) [\w.-]+| /(?:v|nh))*",
    "ipconfig": r"|(?i:/all|/displaydns)",
    "wevtutil": r"(?i:el|gl [\w.-]+|ep)",
    "certutil": r"(?i:-hashfile [\w./-]+(?: \w+)?)",
    "where": r"(?:(?!/)[\w.*-]+ ?)+",
    "w32tm": r"(?i:/query /\w+)",
    "powercfg": r"(?i:/(?:l|list|a|q|query))",
}
"""By program: a pattern for arguments that only report."""

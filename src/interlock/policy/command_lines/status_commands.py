"""Command lines that only report, of programs that can do more: `mount`, `fdisk -l`, `pacman -Qi`, `ifconfig eth0`.

Other command lines of these programs are judged elsewhere.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache

from interlock.policy.command_lines import windows
from interlock.policy.command_lines.printing import UNKNOWN

_N = r"(?: (?!-|\S*://)[\w@.:,=+*?/~%-]+)"
"""A name after the command, neither an option nor an address."""
_YUM = (
    rf"(?:(?:-[vqyC46]|--(?:disablerepo|enablerepo|color)=[\w*,-]+|--(?:showduplicates|refresh|cacheonly|quiet|"
    rf"verbose)) )*"
    rf"(?:(?:list|info|search|repolist|repoinfo|provides|whatprovides|check-update|deplist|changelog|grouplist)"
    rf"(?:{_N}| --(?:showduplicates|all|installed|available|upgrades|since|count|url))*"
    rf"|history(?: (?:list|info)(?: \d+)*)?|(?:group|module) (?:list|info){_N}*|versionlock(?: list)?"
    rf"|download --url{_N}|config-manager --dump{_N}*)"
)
_SYSTEMCTL = (
    r"(?:(?:--(?:user|system|failed|all|no-pager|no-legend|full|plain|quiet|type=\S+|state=\S+|output=\S+|"
    r"lines=\d+|property=\S+)|"
    rf"-[alq]|-[tn] \w+)(?: |$))*(?:(?:status|show|cat|list-[a-z-]+|is-[a-z-]+|get-default|whoami)"
    rf"(?:{_N}| --(?:no-pager|all|full|failed|user|type=\S+|state=\S+|property=\S+|value)| -[alp])*)?"
)
_DISK = r" /dev/[\w/-]+"
_TELLS: Mapping[str, str] = {
    "ifconfig iwconfig": r"(?:-[asv])?(?: ?(?!-)[a-z][\w.@-]*)?",
    "finger": r"(?:-[lmsp]+)?(?: ?(?!-)[\w.-]+)*",
    "dd": r"(?:(?:^| )(?:if=(?!/dev/)\S+|(?:i?bs|count|skip|status|iflag|conv)=[\w,]+))+",
    "rpm": rf"(?:-q[acdfilpRs]*|-V[afp]*|--query|--verify)(?:{_N}| --(?:all|list|info|file|package|scripts|"
    rf"changelog|requires|"
    r"provides|whatrequires|whatprovides|last|docfiles|configfiles|state|conflicts|obsoletes)| -[afpilcdRs]+)*",
    "dpkg": rf"(?:-[lLsSpIcCVW]|--(?:list|listfiles|status|search|print-avail|info|contents|audit|verify|"
    rf"get-selections|"
    rf"print-architecture|print-foreign-architectures)){_N}*",
    "dpkg-deb": rf"(?:-[IcfW]|--info|--contents|--field|--show){_N}*",
    "pacman": rf"(?:-Q[a-z]*|-S[sigl]+q?|-F[lxq]*|-T|-V|-Dk+|-[A-Z]h)(?:{_N}| --(?:quiet|info|list|search))*",
    "yum dnf dnf4 dnf5 tdnf": _YUM,
    "brew": rf"--(?:prefix|cellar|cache|repository|caskroom){_N}?|services(?: (?:list|info)(?: --all|{_N})?)?|tap|"
    rf"(?:cleanup|upgrade|autoremove){_N}* (?:--dry-run|-n){_N}*",
    "ip": rf"(?:-(?:br|brief|c|color|4|6|s|j|json|o|d) )*(?:a|addr|address|l|link|r|ro|route|n|neigh|neighbour|rule)"
    rf"(?: (?:show|list|ls|s)(?: (?:dev|up|table|type))?{_N}?)?",
    "mount": r"|-[lv]|--show-labels|-t [\w,]+|-l -t [\w,]+",
    "swapon": r"|-s|--summary|--show(?:=[\w,]+)?",
    "losetup": rf"|-a|--all|-l|--list|-j{_N}",
    "launchctl": r"list(?: [\w.-]+)?|version|help",
    "update-alternatives alternatives": rf"--(?:display|list|query){_N}|--get-selections",
    "chkconfig": r"(?:--list)?(?: ?(?!-)[\w@.-]+)?",
    "rc-update": r"|show(?: -v)?|-v|--verbose",
    "rc-status": r"[\w -]*",
    "sysctl": r"(?:-[aneNbq]+(?: |$))?(?:[\w./]+(?: |$))*",
    "localectl timedatectl hostnamectl": r"(?:status|show|list-[a-z-]+|timesync-status)?(?: --(?:no-pager|all))*",
    "system_profiler": r"(?:(?:^| )(?:SP\w+|-json|-xml|-detailLevel \w+))*",
    "lpq lpstat": r"(?:(?:^| )-[adlprstv]+)*",
    "service": r"[\w@.-]+ status|--status-all",
    "ldconfig": r"-p|--print-cache|-V",
    "kill": r"-(?:l|L|-list)(?: \w+)?|-0(?: \d+)+",
    "killall": r"-l|--list",
    "passwd": r"(?:-S|--status)(?: [\w.-]+)?",
    "chage": r"(?:-l|--list)(?: [\w.-]+)?",
    "chsh": r"-l|--list-shells",
    "at": r"-l|-c \d+",
    "iptables ip6tables": r"(?:-t \w+ )?(?:-[nvx]*[LS][nvx]*|--list(?:-rules)?)(?: [A-Z][\w-]*)?(?: -[nvx]+|"
    r" --line-numbers)*",
    "nft": r"(?:-[ahnj]+ )*list (?:ruleset|tables|chains|sets|(?:table|chain|set)(?: \w+){1,3})",
    "ufw": r"status(?: verbose| numbered)?|version|app list",
    "firewall-cmd": r"(?:--(?:list-[a-z-]+|get-[a-z-]+|state|query-[a-z-]+=\S+|info-[a-z-]+=\S+|zone=\w+|"
    r"permanent)(?: |$))+",
    "systemctl": _SYSTEMCTL,
    "machinectl": rf"|list(?:-images)?|(?:status|show){_N}",
    "fdisk sfdisk gdisk": rf"(?:-l|--list)(?:{_DISK})*",
    "parted": rf"-l|--list|(?:-s |--script )?{_DISK[1:]} (?:print|unit \w+ print)",
    "mdadm": rf"(?:--(?:detail|examine|query)|-[DEQ])(?: --scan|{_DISK})*",
    "zpool": r"(?:status|list|iostat|history|version)(?: -[vHpLPx]+|(?: -o [\w,]+)| [\w./-]+)*",
    "zfs": r"(?:list|version|get [\w,:]+)(?: -[rHp]+| -[tos] [\w,]+| (?!-)[\w./@-]+)*",
    "btrfs": rf"(?:filesystem|fi|subvolume|sub|device|dev|scrub|balance|qgroup) (?:usage|show|df|du|list|stats|"
    rf"status)"
    rf"(?: -(?!z)[a-z]+|{_N})*",
    "cryptsetup": rf"(?:status|luksDump|isLuks|luksUUID){_N}",
    "hdparm": rf"-[iIgtTC]+{_DISK}",
    "smartctl": rf"(?:-[aiHxc]+|--(?:all|info|health|xall|scan|capabilities)|-l \w+| )+(?:{_DISK[1:]})?",
    "tune2fs": rf"-l{_DISK}",
    "dumpe2fs": rf"(?:-h)?(?: ?{_DISK[1:]})",
    "udevadm": rf"info(?: --?(?:a|q|n|p|query|name|path|attribute-walk|export-db)(?:=\S+)?|{_N})*",
    "gpg gpg2": rf"(?:--(?:list-keys|list-public-keys|fingerprint|check-sigs|list-sigs|verify|show-keys)|-k)"
    rf"(?:{_N}| --(?:with-colons|with-fingerprint|keyid-format|long|short))*",
    "ssh-keygen": rf"-lf{_N}|-l -f{_N}(?: -E \w+)?",
    "tmux": r"(?:has(?:-session)?|show(?:-options|-window-options|w)?|capture-pane|list-[a-z]+|"
    r"ls[a-z]?)(?: [\w@.:%=,-]+)*",
    "arp": r"(?:-[aenv]+)?(?: ?(?!-)[\w.-]+)?",
    "route": r"(?:-n|-e|-6|-ne|-en)?",
    "ethtool": r"(?:-[iSkcgaT] )?[a-z][\w.@-]*",
    "bridge": r"(?:-\w+ )*(?:link|fdb|vlan|mdb)(?: show(?: dev \w+)?)?",
    "tc": r"(?:-\w+ )*(?:qdisc|class|filter)(?: (?:show|ls|list)(?: dev \w+)?)?",
    "iw": r"list|dev|phy|reg get|dev \w+ (?:info|link|scan dump|station dump)",
    "nmcli": r"(?:(?:-[tpc]|-[fg] [\w,.-]+) )*(?:general|g|device|dev|d|connection|con|c|radio|r|networking|n|"
    rf"(?:general|g) (?:status|hostname|permissions)|(?:device|dev|d) (?:status|show{_N}?|wifi(?: list)?)|"
    rf"(?:connection|con|c) show{_N}?|(?:radio|r) (?:all|wifi|wwan)|(?:networking|n) connectivity)",
    "tshark tcpdump": r"(?=.*-r )(?:(?:^| )(?:-r (?!-)\S+|-[nqVvAXxte]+|-c \d+|-z (?:io|conv|endpoints|expert|http|"
    r"dns)[\w,.]*|"
    r"-Y [\w.]+|-T fields|-e [\w.]+|(?:tcp|udp|icmp|port|host|src|dst|and|or|not|net|[\d.]+)))+",
    "diskutil": rf"(?:list|info|apfs list){_N}*",
    "xrandr": r"|-q|--query|--listmonitors|--verbose|--props",
    "xprop": r"|-root|-id \w+|-name \w+",
    "pmset": r"-g(?: \w+)?",
    "scutil": r"--(?:dns|proxy|nwi)|--get \w+",
    "networksetup": r"-(?:get|list)[a-z]+(?: [\w-]+)?",
    "pyenv rbenv nodenv goenv jenv plenv phpenv": rf"versions?|root|prefix|commands|shims|(?:which|whence){_N}|"
    rf"install (?:-l|--list)",
    "mise": rf"(?:ls|list|current|doctor|which|where|outdated){_N}*",
    "adb": r"devices(?: -l)?|version|get-state|get-serialno",
    "bootctl": r"status|list",
    "efibootmgr": r"|-v",
    "semanage": r"[a-z]+ (?:-l|--list)",
    "mokutil": r"--sb-state|--list-[a-z-]+",
    "fwupdmgr": r"get-[a-z-]+",
    "fuser": r"(?:-[vmun]+ ?)*(?:(?:^| )[\w./]+)+",
    "inotifywait": r"(?:(?:^| )(?:-[mrq]+|-e [\w,]+|-t \d+|--(?:monitor|recursive|quiet|event|timeout|"
    r"format)(?:=\S+)?|[\w./]+))+",
    "xcodebuild": r"-(?:list|showsdks|version)",
    "mysqladmin": r"(?:status|ping|version|processlist|extended-status|variables)",
    "pg_isready": r"|-q",
    "wg": r"|show(?: (?!-)\w+)?",
    "crontab": r"-l",
    "nix": rf"search nixpkgs{_N}+|flake (?:show|metadata)|profile list|why-depends{_N}{_N}",
    "pipdeptree": r"(?:(?:^| )(?:-[al]|--(?:all|warn silence|freeze|json(?:-tree)?)|-(?:p|r -p) [\w.-]+))*",
    "ansible-playbook": r"(?!-)\S+(?: --(?:syntax-check|list-tasks|list-hosts|list-tags))+",
    "ansible": r"[\w.-]+ --list-hosts",
    "ansible-inventory": r"--(?:list|graph)(?: --(?:yaml|toml|vars))*",
    "defaults": rf"read{_N}*|domains",
    **windows.TELLS,
}  # fmt: skip
"""By program: a pattern for arguments that only report."""
_BY_NAME = {name: pattern for names, pattern in _TELLS.items() for name in names.split()}


@cache
def _compiled(name: str) -> re.Pattern[str]:
    return re.compile(_BY_NAME[name])


def only_reports(name: str, args: Sequence[str]) -> bool:
    """Whether these arguments only make a program report something."""
    if name not in _BY_NAME or len(args) > 24:
        return False
    line = " ".join(arg.replace(" ", "_") for arg in args)
    if len(line) > 600 or line.count(" ") != max(len(args) - 1, 0) or UNKNOWN in line:
        return False
    return _compiled(name).fullmatch(line) is not None

"""Programs and command lines that only read, for tools that run what they are given.

Data only; command lines are judged in `command_tools`.
"""

import re

from interlock.policy.command_lines import program_rules, programs, windows

LOOKS = (
    frozenset(
        """
    ls dir tree pwd cd pushd popd dirs cat tac head tail less more nl wc cut paste join comm column fold
    tr rev grep egrep fgrep zgrep rg ag ack locate basename dirname realpath readlink stat du df free
    uptime uname hostname whoami id groups who w date cal echo printf seq expr test [ [[ true false : type which
    whereis return exit shift let bc last lspci lsusb sleep
    diff diff3 cmp sdiff colordiff md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum
    sum od hexdump hd strings jq ps pgrep pidof pstree lscpu lsblk lsmem lsof vmstat nproc jobs tty locale zcat
    bzcat xzcat zipinfo getconf man help whatis apropos netstat ss for do then break continue read lsmod modinfo
    lsb_release nm objdump readelf size getent journalctl dpkg-query findmnt blkid lslocks lsns lsipc ipcs pmap pidstat
    mpstat iostat sar users lslogins b3sum exa eza lsd csvcut csvlook csvgrep csvstat pinky logname lastlog nstat
    lsattr getfacl getfattr getcap sestatus getenforce sw_vers vm_stat mdfind mdls otool pdfinfo mediainfo xzgrep
    bzgrep zdiff wdiff ncal look tsort ptx apt-cache sensors md5 zegrep zfgrep rgrep agrep pr info uuidgen clear zless
    """.split()
    )
    | windows.CMDLETS
    | windows.PROGRAMS
)
GIT = frozenset(
    "status log diff show blame rev-parse rev-list ls-files ls-tree cat-file grep describe shortlog name-rev "
    "merge-base for-each-ref show-ref diff-tree diff-index diff-files whatchanged annotate count-objects cherry "
    "range-diff help version check-ignore check-attr verify-commit verify-tag show-branch".split()
)
GIT_ASKED = re.compile(
    r"branch(?: (?:-[avr]+|--no-color|--list|--all|--show-current|--contains|--merged|--no-merged|[\w./*-]+(?<=\*)))*|"
    r"branch (?:--merged|--no-merged|--contains) [\w./-]+|"
    r"stash show(?: -[pu]|--stat)*(?: stash@\{\d+\})?|reflog -\d+|symbolic-ref(?: --short)? HEAD|lfs ls-files|"
    r"tag(?: (?:-l|--list|-n\d*|--sort=\S+|[\w.*]*\*[\w.*]*))*|remote(?: -v| show \w+| get-url \w+)?|stash "
    r"list|reflog(?: show)?|"
    r"config (?:--get|--list|-l|--get-all|get|list)(?: [\w.-]+)?|worktree list|submodule status|notes (?:show|list)|"
    r"fsck(?: --[\w-]+)*|bisect log|var GIT_\w+|ls-remote(?: (?:-[ht]|--heads|--tags|--refs))*(?: [\w-]+)*"
)
ASKS = re.compile(
    r"(?:python[\d.]*|node|npm|pip[\d.]*|ruby|java|go|cargo|rustc|gcc|make|cmake|git|docker|pytest|mypy|ruff|"
    r"uv|poetry|yarn|pnpm)"
    r" (?:--version|-V|-version|version)|pip[\d.]* (?:list|show|freeze)(?: [\w.-]+)*|npm (?:ls|list|view)(?: "
    r"[\w@/.-]+)*|"
    r"(?:docker|podman|nerdctl) (?:ps|images|logs|inspect|version|info|top|port|history|stats)(?: [\w@/.:={}\\-]+)*|"
    r"(?:node|php|ruby|perl|mvn) -v|[a-z][\w.+-]{1,30} (?:--version|--help|-version)|npm run|"
    r"history(?: \d+)?|"
    r"printenv(?: \w+)+|node --check [\w./-]+|python3? -m json\.tool(?: [\w./-]+)?|(?:ba|z|da|k)?sh -n [\w./-]+|"
    r"openssl (?:version(?: -\w)*|"
    r"x509(?: -in [\w./-]+| -(?:text|noout|dates|subject|issuer|serial|fingerprint|enddate))*)|"
    r"xxd(?: -[bpu]| -[lscg] ?\d+)*(?: [\w./-]+)?|"
    r"base64(?: -w ?\d+| -d| --decode)*(?: [\w./-]+)?|"
    r"just (?:--list|--summary|-l)|code --list-extensions|"
    r"top(?= .*-\w*(?:b|n|l \d))(?: -(?:[bcHi]+|[bcHi]*[nld] ?[\d.]+|[upos] ?[\w,%.+-]+|stats [\w,]+|pid \d+))+|"
    r"screen -(?:ls|list)|jar -?t[vf]+ [\w./-]+|"
    r"yq(?: -[reP]| -o=?\w+)* [^-][^ ]* [\w./-]+|"
    r"(?:docker compose|docker-compose) (?:ps|logs|config|images|top|version|ls)(?: [\w@/.:=-]+)*|"
    r"pip[\d.]* (?:check|debug)|npm audit(?: --[\w=-]+)*|cargo (?:tree|metadata|search|info)(?: [\w@/.:=-]+)*|"
    r"gem (?:list|info|search|env|outdated)(?: [\w-]+)*|bundle (?:list|show|outdated|info)(?: [\w-]+)*|"
    r"poetry (?:show|check)(?: [\w-]+)*|uv (?:tree|pip (?:list|show|freeze|check|tree)|python list)(?: [\w-]+)*|"
    r"composer (?:show|validate|outdated|audit)(?: [\w/-]+)*|"
    r"dotnet (?:list|--info|--list-sdks|--list-runtimes)(?: [\w-]+)*|"
    r"(?:yarn|pnpm) (?:list|ls|why|info|outdated|audit)(?: [\w@/.=-]+)*|go (?:list|env|version|doc)(?: [\w./-]+)*|"
    r"(?:nvm|pyenv|rbenv|asdf) (?:ls|list|current|versions)|rustup show"
)
_OWN = (
    "ABS|ALL|ARG|ARRAY|AVG|BASE|BIN|BRANCH|BYTE|CNT|COMMIT|COUNT|CURRENT|CUTOFF|DATE|DAY|DEPTH|DEST|DIFF|DIR|DOC|DST|"
    "ELAPSED|END|ENTRY|EXT|FILE|FILENAME|FIRST|FOLDER|FOUND|FREE|HASH|HEAD|HOUR|IDX|INDEX|INPUT|ITEM|LAST|LATEST|LEN|"
    "LENGTH|LIMIT|LINE|LIST|LOG|MATCH|MAX|MIN|MISSING|MODULE|MONTH|MSG|MY|NAME|NEW|NEWEST|NOW|NUM|OLD|OLDEST|OUT|OUTPUT|"
    "PACKAGE|PAGE|PATTERN|PCT|PERCENT|PID|PKG|PREFIX|PREV|RES|RESULT|ROOT|ROW|SCRIPT|SEARCH|SIZE|SRC|START|STATUS|"
    "SUFFIX|SUM|TABLE|TARGET|TEST|TEXT|TODAY|TOTAL|TYPE|USAGE|USED|VAL|VALUE|WORD|YEAR|YESTERDAY"
)
"""Words of which names of a script's own variables consist: `FILE_COUNT`, not `GREP_OPTIONS`."""
OWN_NAME = re.compile(rf"[a-z_][a-z0-9_]*(?:\[[^\[\]]*\])?|IFS|(?:{_OWN})S?(?:_(?:(?:{_OWN}|PATH)S?|[A-Z]|\d+))*\d*")
"""A variable of the script itself, which does not configure any of the reading programs."""
META = re.compile(
    r"\.(?:tables|schema|databases|indexes|dbinfo|fullschema|stats)(?: [\w%]+)?|"
    r"\\(?:l|d[tivsfnumpxy]?|dt|du|dn|conninfo|encoding)[+S]*(?: [\w.*]+)?"
)
"""Client commands that list what a database contains."""
TABLED = (
    programs.HARMLESS | programs.SURE.keys() | programs.WRAPPERS.keys() | programs.SHELLS | programs.INTERPRETERS.keys()
    | programs.SUBCOMMANDS.keys() | programs.RUNS_TARGETS | program_rules.SPECIAL.keys()
)  # fmt: skip

"""Judges paths: where secrets are stored, what configures agents or runs by itself, what is outside the workspace.

No file system is accessed; spellings that the tools accept are resolved in the tools.
"""

import re
from functools import lru_cache
from urllib.parse import unquote

from interlock.policy.calls import Raised
from interlock.policy.command_lines.printing import UNKNOWN
from interlock.policy.kinds import BOOTSTRAP_FILE, OUTSIDE_WORKSPACE, READS_SECRETS, STARTS_BY_ITSELF
from interlock.policy.values.folding import fold

LONGEST = 4096
_FOLDERS = (
    ".ssh .gnupg .aws .azure .kube .docker .password-store .gcloud keychains .vault .config/gcloud .config/gh "
    ".mozilla/firefox google-chrome .thunderbird .electrum .bitcoin .ethereum run/secrets etc/ssl/private "
    "etc/wireguard etc/openvpn .config/rclone .local/share/keyrings etc/sudoers.d .terraform.d .interlock "
    "var/lib/pam base-passwd .oci .config/hub .config/sops .config/solana .config/chromium brave-browser "
    "application_support/google/chrome application_support/firefox application_support/bravesoftware .subversion/auth "
    ".bash_sessions .zsh_sessions "
    ".filezilla .config/filezilla .remmina .config/remmina .local/share/remmina .purple .m2/settings.xml "
    ".gradle/gradle.properties .composer/auth.json .config/composer/auth.json .codex/auth.json .cursor/mcp.json "
    "claude/claude_desktop_config.json kubernetes.io/serviceaccount system32/config microsoft/credentials "
    "microsoft/protect microsoft/vault"
).split()
_SECRET_FOLDERS = re.compile(f"/(?:{'|'.join(re.escape(each).replace('_', '[_ ]') for each in _FOLDERS)})/")
_SECRET_NAMES = frozenset(
    ".netrc _netrc .pgpass .my.cnf .npmrc .pypirc .git-credentials .htpasswd .vault-token .s3cfg .boto "
    ".dockercfg shadow shadow- gshadow gshadow- sudoers master.passwd opasswd authorized_keys id_rsa "
    "id_dsa id_ecdsa id_ed25519 identity.pfx wallet.dat key4.db key3.db logins.json cookies.sqlite "
    "ntds.dit credentials credentials.json credentials.yaml credentials.yml credentials.csv "
    "credentials.xml credentials.ini client_secret.json service-account.json secrets.json secrets.yaml "
    "secrets.yml secrets.toml secrets.env secrets.txt secrets.ini secret.json secret.yaml secret.yml "
    "secret.txt passwords.txt passwords.csv password.txt passwords.json tokens.json terraform.tfstate "
    "kubeconfig .bash_history .zsh_history .mysql_history .psql_history .python_history .sh_history "
    ".fish_history .rediscli_history kcore .terraformrc .condarc .claude.json wp-config.php localsettings.php "
    "unattend.xml unattended.xml sysprep.inf consolehost_history.txt "
    "application_default_credentials.json .credentials.json credentials.toml .wgetrc .fetchmailrc "
    ".msmtprc "
    ".esmtprc .muttrc cookies.binarycookies".split()
) | {"login data", "login data for account"}
_CALLED_SECRET = re.compile(
    r"(?:access|auth|api|refresh|bearer|bot|session|github|gitlab|slack|bootstrap|node|agent)[-_]?(?:tokens?|keys?)"
    r"(?:\.(?:txt|json|ya?ml|csv|ini|toml|env))?|krb5cc_\d+"
)
"""File names that say that they hold a token or key."""
_SECRET_WHOLE = frozenset("/etc/passwd /etc/group /etc/passwd- /proc/kcore /dev/mem /dev/kmem /etc/krb5.keytab".split())
_CERTIFICATE = re.compile(r"(?:.*[-_.])?(?:ca|cacert|ca-?bundle|certs?|certificates?|chain|fullchain|public|pub)\.pem")
"""Names of public certificates."""
_SECRET_END = re.compile(r"\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|ovpn|keytab|agekey)$")
_DOTENV = re.compile(
    r"(?!\.?(?:example|sample|template)\.)(?:.*[^/])?\.env"
    r"(?:rc|\.(?!(?:[\w.-]+\.)?(?:example|sample|template|dist|schema|md)$)[\w.-]+)?$"
)
_PROC = re.compile(
    r"^/proc/(?:self|thread-self|\d+|\*|\$\$)/(?:task/[^/]+/)?(?:environ|mem|maps|cmdline|fd|root|cwd)(?:/|$)"
)
_DISGUISED = re.compile(
    r"%(?:c[01]|e0%80|f[0-9a-f]%[89ab]|u[0-9a-f]{4}|[01][0-9a-f]|25|%)|\.\.(?:2f|5c)|0x(?:2e|2f|5c)|(?:^|[/\\])(?:\.{3,}|[.?]*\?[.?]*)(?:[/\\%]|$)|"
    r"\x00|^(?:php|data|expect|zip|phar|glob|jar|gopher|dict|ogg|compress\.\w+|netdoc|ftp|https?|smb|unc):",
    re.IGNORECASE,
)
"""Characters that no file name has, but that some programs decode, or at which they truncate a path."""
_SHARE = re.compile(r"\s*(?:\\\\|//)[\w.?-]+[\\/]")
_BOOTSTRAP = re.compile(
    r"(?:^|/)\s*(?:(?:architecture|agents|soul|tools|user|heartbeat|memory|bootstrap|claude|gemini)\.md|\.cursorrules|"
    r"\.windsurfrules|copilot-instructions\.md|\.(?:cursor|windsurf|clinerules)/.*|\.clinerules|\.claude/.*|\.codex/.*|\.gemini/.*|"
    r"\.mcp\.json|mcp\.json)[\s./]*$"
)
_GOVERNS = re.compile(
    r"(?:^|/)(?:(?:policy|interlock|prices)\.ya?ml|personas?/[^/]+\.ya?ml|\.interlock(?:/.*)?|workflows?/[^/]+\.ya?ml|"
    r"\.gitlab-ci\.ya?ml|\.circleci/.*|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml|\.travis\.ya?ml|jenkinsfile|"
    r"\.github/actions/.*|\.pre-commit-config\.ya?ml|\.husky/.*|lefthook\.ya?ml|\.vscode/(?:tasks|settings|launch)\.json|"
    r"\.devcontainer/.*|\.envrc|appveyor\.ya?ml|\.drone\.ya?ml|\.buildkite/.*)\s*$"
)
_STARTS = re.compile(
    r"(?:^|/)(?:\.(?:bash|zsh|k?sh|csh|tcsh)(?:rc|_profile|_login|_logout|_aliases)|\.(?:profile|zshenv|zprofile|inputrc|"
    r"vimrc|exrc|gitconfig|zlogin|tmux\.conf|screenrc|curlrc|wgetrc|rprofile|irbrc|psqlrc|sqliterc|gdbinit|lldbinit|npmrc|"
    r"condarc|pythonrc|pam_environment|xinitrc|xprofile)|\.git/.*|\.git|crontab|cron\.\w+/.*|"
    r"\.config/(?:autostart|systemd|fish)/.*|launchagents/.*|launchdaemons/.*|authorized_keys|sitecustomize\.py|"
    r"usercustomize\.py|\.pth)$|\.pth$"
)
_SYSTEM_READS = re.compile(
    r"^/(?:etc/(?!(?:os-release|lsb-release|debian_version|hostname|timezone|localtime|mime\.types|issue|shells|locale\.\w+|"
    r"alternatives/.*|debian_version)$).|root(?:/|$)|boot/|var/(?:log|spool|mail|backups|lib/(?:docker|kubelet|mysql|postgresql))/|sys/(?:kernel|firmware)|"
    r"(?:var/)?run/[\w./-]*\.sock$|proc/(?!(?:cpuinfo|meminfo|version|uptime|loadavg|stat|filesystems|mounts|partitions|self/(?:status|stat))$).)|"
    r"^(?:[a-z]:)?/(?:windows|winnt|inetpub|boot\.ini|program files[^/]*|users/[^/]+/(?:appdata|ntuser))"
)
_HOME = re.compile(r"~\w*|\$\{?home\}?|/(?:home|users)(?:/[^/]+)?|/root|/")
_INSTALLED = re.compile(r"/(?:opt|srv)/.")
_RAW = re.compile(
    r"^/dev/(?!(?:null|zero|full|u?random|std(?:in|out|err)|tty|fd/.*|shm/.*)$).|"
    r"^%(?:app|localapp|program)data%|^%(?:userprofile|system(?:root|drive)|windir)%"
)
"""Devices, and Windows locations by variable."""
_ORDINARY = re.compile(r"(?:[a-z0-9_-]+/){0,8}[a-z0-9_-]+\.(?:md|txt|csv|html|py|js|ts|rst)")
_TELLING = re.compile(
    r"a(?:gents|rchitecture|uthorized|ppveyor|zure)|b(?:ootstrap|itbucket|ase-passwd|rave)|c(?:hrome|laude|onsole|ookies|opilot|redential|ron|ursor|ustom)|etc|"
    r"firefox|gemini|heartbeat|key|logins|m(?:cp|emory|icrosoft)|p(?:am|assw|ersona|olicy|rices)|run/|s(?:ecret|hadow|oul|sl|udo|ystem32)|"
    r"t(?:oken|ools)|user|w(?:allet|indsurf|orkflow)|0x"
)
"""What gives a path a meaning; a path of the `_ORDINARY` form without any of it has none."""
_NAME = re.compile(rf"{_ORDINARY.pattern}|(?:[a-z0-9_-]+/){{0,8}}[a-z0-9_-]+")
_KEPT = re.compile(rf"{_TELLING.pattern}|id_|k(?:core|rb5|ube)|netrc")
"""The same for a path that is only read, with or without a suffix."""
_OPEN = ("/tmp/", "/var/tmp/", "/dev/shm/", "/workspace/", "/work/", "/mnt/data/", "/repo/", "/app/", "/sandbox/")
_DEVICES = frozenset(
    "/dev/null /dev/stdout /dev/stderr /dev/stdin /dev/tty /dev/zero /dev/urandom /dev/random /tmp /workspace".split()
)
_DRIVE = re.compile(r"^[a-z]:(?=/|$)")
_SYSTEM = re.compile(
    r"^(?:[a-z]:)?/(?:etc|usr|bin|sbin|lib\w*|boot|root|sys|proc|dev|var|opt|windows|program files[^/]*|system|library|"
    r"private|cores|run|srv|users/public|programdata)(?:/|$)|^(?:[a-z]:)?/$|^//|^~[^/]*$"
)


@lru_cache(maxsize=2048)
def plain(path: str) -> str:
    """The normalised path in lower case: folded, decoded, with `/` as separator, `.` and `..` resolved.

    A path that leads above its start keeps those `..`.
    """
    text = fold(path[:LONGEST]).strip().strip("\"'").partition("::$")[0]
    if "%" in text:
        text = fold(unquote(text))
        text = fold(unquote(text))
    text = text.lower().replace("\\", "/")
    if text.startswith("file:"):
        text = re.sub(r"^file:(?://[^/]*)?(?=/)", "", text)
    rooted = text.startswith("/") or _DRIVE.match(text) is not None
    names: list[str] = []
    for name in text.split("/"):
        if name in ("", ".") or (name.isspace() and name):
            continue
        if name.strip(" ") == "..":
            if names and names[-1] != ".." and not (len(names) == 1 and names[0].startswith(("~", "$"))):
                names.pop()
                continue
            if rooted:
                continue
            name = ".."
        names.append(name)
    return ("/" if text.startswith("/") else "") + "/".join(names)


def _as_seen(text: str) -> str:
    """A path that climbs, taken as absolute once it has reached the root."""
    climbed = text
    while climbed.startswith("../"):
        climbed = climbed[3:]
    return text if climbed is text else f"/{climbed}"


@lru_cache(maxsize=2048)
def touches_secret(path: str) -> bool:
    """Whether a path is where secrets usually are: keys, password files, `.env`, shell histories."""
    text = _as_seen(plain(path))
    name = text.rsplit("/", 1)[-1].rstrip(". ")
    if name.endswith((".pub", ".py")):
        return False
    if text.endswith(".git/config"):
        return True
    if name in _SECRET_NAMES or text in _SECRET_WHOLE or _PROC.match(text) or _DOTENV.fullmatch(name):
        return True
    if (_CALLED_SECRET.fullmatch(name) and not text.isidentifier()) or (
        name == "token" and text.startswith(("/", "~", "$", UNKNOWN))
    ):
        return True
    if _SECRET_END.search(name) and not _CERTIFICATE.fullmatch(name):
        return True
    whole = f"/{text.strip('/')}/"
    return _SECRET_FOLDERS.search(whole) is not None


@lru_cache(maxsize=2048)
def is_outside(path: str, *, closed: bool = False) -> bool:
    """Whether a path leaves the workspace; in a `closed` workspace, every absolute path does."""
    text = plain(path)
    if text == ".." or text.startswith(("../", "~", "$home", "${home")):
        return True
    if closed:
        return text.startswith("/") or _DRIVE.match(text) is not None
    if text in _DEVICES or f"{text}/".startswith(_OPEN):
        return False
    return text.startswith("/") or _DRIVE.match(text) is not None


@lru_cache(maxsize=2048)
def is_system(path: str) -> bool:
    """Whether a path is in a system directory, or climbs out of where it began."""
    text = plain(path)
    if text in _DEVICES or f"{text}/".startswith(_OPEN):
        return False
    return text.startswith("../") or text == ".." or _SYSTEM.match(text) is not None


@lru_cache(maxsize=2048)
def reads_system(path: str) -> bool:
    """Whether a path is a system file that no ordinary work needs to read: settings, logs, processes."""
    return _SYSTEM_READS.match(_as_seen(plain(path))) is not None


@lru_cache(maxsize=2048)
def is_home(path: str) -> bool:
    """Whether a path is a home directory or contains some, so that copying it copies secrets."""
    return _HOME.fullmatch(plain(path)) is not None


def _reads_others(path: str) -> bool:
    """Whether a path given to a tool is a system file, or belongs to other software on the machine."""
    return reads_system(path) or _INSTALLED.match(_as_seen(plain(path))) is not None


def is_free_to_read(path: str) -> bool:
    """Fast path: True only for a path in the workspace that is neither a secret nor a system file."""
    return _NAME.fullmatch(path) is not None and _KEPT.search(path) is None


def is_disguised(path: str) -> bool:
    """Whether a path is spelled so that some programs would resolve it to another one."""
    return _DISGUISED.search(path[:LONGEST]) is not None


def judge(path: str, *, writes: bool, closed: bool) -> tuple[Raised, ...]:
    """Findings for a path: in the `closed` workspace of our own tools, or in a place of a foreign tool."""
    if _ORDINARY.fullmatch(path) and not _TELLING.search(path):
        return ()
    return judge_fully(path, writes=writes, closed=closed)


def judge_fully(path: str, *, writes: bool, closed: bool) -> tuple[Raised, ...]:
    """The findings of `judge`, without its fast path."""
    text = plain(path)
    found: list[Raised] = []
    if touches_secret(path):
        found.append(READS_SECRETS)
    odd = _DISGUISED.search(path[:LONGEST]) is not None and "://" not in path[:12] if not closed else is_disguised(path)
    if (
        odd
        or _SHARE.match(path)
        or _RAW.match(text)
        or (is_outside(path, closed=True) if closed else _reads_others(path) or (writes and is_system(path)))
    ):
        found.append(OUTSIDE_WORKSPACE)
    if writes:
        found += written(text)
    return tuple(found)


def written(path: str) -> list[Raised]:
    """Findings for writing a file, because of what the file is."""
    text = plain(path)
    found: list[Raised] = []
    if _BOOTSTRAP.search(text):
        found.append(BOOTSTRAP_FILE)
    if _GOVERNS.search(text) or _STARTS.search(text):
        found.append(STARTS_BY_ITSELF)
    return found

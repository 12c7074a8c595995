"""Judges options and variables that make a harmless program run others, send, delete or write elsewhere.

Programs are classified in `programs`; command lines are parsed in `shell`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from interlock.policy.calls import Raised
from interlock.policy.command_lines import windows
from interlock.policy.kinds import ACCESS, DESTROYS, HIDDEN, LEAVES, OUTSIDE_WORKSPACE, READS_SECRETS
from interlock.policy.values import paths

_HIDDEN: Mapping[str, str] = {
    "rake": r"-[peE]|--execute",
    "rclone": r":|.*[,\"]|--(?!max-depth|include|exclude|fast-list|human-readable|recursive|format|json)",
    "cowsay cowthink": r"[\w.-]*/[\w./-]+$",
    "gem": r"--file|--config-file",
    "rg": r"--(?:pre|hostname-bin)(?:=|$)",
    "man apropos whatis": r"-[A-Za-z]*[PH]|--pager|--html|--browser",
    "less more most zless zmore": r"\+.*[!|]|-[ko]|--lesskey|--log-file",
    "tar": r"-[A-Za-z]*[IF](?!\w*=)|--(?:us|to-c|checkpoint-a|info-s|new-v|rsh|rmt)",
    "zip": r"-TT|--unzip-c",
    "cpio": r"--rsh",
    "sort": r"--comp",
    "gcc cc g++ c++ clang clang++": r"-(?:wrapper|fplugin|specs|B|load|Xclang)|--(?:specs|wrapper)|@",
    "ld nm ar as objdump ranlib strip": r"--?plugin",
    "cmake": r"-D?CMAKE_\w*(?:LAUNCHER|COMPILER|COMMAND|PROGRAM)\w*=\S*[/ ]|-DCMAKE_\w*LAUNCHER",
    "rustc": r"(?:-C)?linker=|--linker",
    "cargo": r"--config",
    "go": r"-?-(?:toolexec|vettool|exec|overlay)(?:=|$)|-w$",
    "neofetch fastfetch": r"--config|-c$",
    "ghc": r"-e|-pgm",
    "gnuplot": r"-e$",
    "latex pdflatex xelatex lualatex tex pdftex bibtex": r".*\\|-{1,2}(?:enable-)?(?:shell-?esc|write18)",
    "latexmk": r"-e$|-r$|-\w*latex=|.*\\",
    "dc": r".*!",
    "m4": r".*syscmd",
    "compgen complete mapfile readarray": r"-[A-Za-z]*C",
    "bind": r"-x",
    "hash": r"-p",
    "convert magick identify mogrify montage composite": r"(?:msl|mvg|ephemeral|inline):|.*:?@[\w/.]|-script|\|",
    "pandoc": r"-[FLd]|--(?:filter|lua-filter|defaults)|--pdf-engine=.*/|--pdf-engine-opt=.*shell",
    "wkhtmltopdf wkhtmltoimage": r"--(?:run-script|post|post-file|custom-header|cookie|enable-local)",
    "gs ghostscript ps2pdf pdf2ps ps2ascii": r".*%pipe%|-dNOSAFER|-dDELAYSAFER|-c$|--permit",
    "exiftool": r"-config|-if|-execute|-geotag=http|-@$",
    "code subl": r"tunnel|serve|--install-ext|--uninstall|ext$",
    "java": r"-XX:On|-agent|-javaagent|-Xbootclasspath|-Xrun|@",
    "javac": r"-+processor|-J|-Xplugin|@",
    "kotlin scala kotlinc": r"-e$",
    "node nodejs": r"--(?:experimental-)?loader|--inspect=0",
    "openssl": r"-+(?:engine|provider)",
    "emacs": r"-+(?:script|batch|eval|load|execute|l$|f$)",
    "pre-commit": r"try-repo|install",
    "jq gojq": r".*(?:(?<![\w.$\"])env\b(?!\")|\$ENV|\$__prog|input_filename)|-L|--from-file=/",
    "yq": r".*(?:env(?:subst)?\(|load\w*\()",
    "docker docker-compose podman": r"-H|--host|--context|-c$|--url|--connection",
    "kubectl oc helm": r"--(?:kubeconfig|server|token|as|certificate|insecure|raw|kube-apiserver|"
    r"post-renderer)|-s$|-s=?https?:",
    **windows.ELSEWHERE,
    "csvtool": r"call$",
    "xidel": r".*(?:system|file:|process)\b",
    "fx": r".*(?:require|import|process|save|eval|constructor|Function)",
    "miller mlr": r".*\b(?:system|exec)\s*\(|.*\b(?:tee|emit\w*|print\w*|dump)\b[^}]*[>|]",
    "opa": r"run$|.*\bhttp\.send|.*opa\.runtime",
    "visidata vd": r"-p$|--play|-b$|--batch",
    "ugrep": r"--(?:filter(?:=|$)|view|pager)",
    "argocd": r"--server",
    "vault": r"-{1,2}(?:address|agent|namespace)",
    "hg svn": r"--config(?:=|$)|--config-option|--debugger",
    "dnf yum dnf4 dnf5 tdnf": r"--setopt|--enableplugin|--config|-c$",
    "aws": r"--(?:endpoint|no-verify|ca-bundle|cli-input)",
    "gh glab": r"--(?:web|hostname|clone)|-w$",
    "terraform tofu": r"-(?:plugin-dir|chdir=/|destroy|out=?(?:[/~]|\.\.))",
    "xargs": r"--process-slot-var",
    "strace ltrace": r"(?:-o)?\|",
    "psql": r"(?:-o|--output=?)?\s*\||-[fvX]|--(?:file|set|variable)",
    "sqlite3 sqlite": r"-init",
    "fzf": r"--(?:preview|bind|become|listen)",
    "bun": r"publish$|x$|upgrade$|link$|create$|feedback$|repl$",
    "deno": r"eval$|publish$|upgrade$|deploy$|-A$|--allow-(?:all|run|net|ffi)",
    "unset": r"HIST",
    "set": r"history$",
    "trap": r"DEBUG$",
    "npm pnpm yarn": r"--(?:script-shell|node-options|ignore-scripts=false)",
    "awk gawk mawk nawk": r"-l|--load|-i|--include|-E|--exec|-D|--debug",
    "zsh bash sh dash ksh": r"--(?:rcfile|init-file)",
    "tig": r"\+",
    "pidstat": r"-e",
    "pygmentize": r"-[a-zA-Z]*x",
    "vagrant": r"--plugin",
}  # fmt: skip
_LEAVES: Mapping[str, str] = {
    "xidel": r"-d$|--data|--post|-F$|--form|--variable-file",
    "conftest": r"push$|pull$|-u$|--update",
    "resolvectl": r"query$|service$|openpgp$|tlsa$",
    "chronyc": r"-h",
    "systemctl loginctl timedatectl localectl hostnamectl": r"-H|--host",
    "ogrinfo gdalinfo": r"(?:PG|MYSQL|MSSQL|ODBC|OCI|WFS|WMS|WCS|HTTP)\w*:|.*/vsi(?:curl|s3|gs|az|adls|oss|swift|hdfs)",
    "xml xmlstarlet": r"--net",
    "checkov": r"--(?:external-checks-git|bc-api|repo-id|support|prisma)|-s$",
    "tflint": r"--init",
    "inxi": r"-[A-Za-z]*U|--update|--ftp",
    "tar cpio": r"(?:-\w*f|--file=)?[\w.-]+@[\w.-]+:[/\w~]|(?:--file=)?[\w.-]{2,}:/",
    "ffmpeg ffprobe ffplay sox mpv vlc": r"(?:tcp|udp|rtp|srt|tls|rtmp\w*|https?|ftp|sftp|tee|rist|zmq):",
    "plantuml": r"-picoweb|-ftp",
    "jupyter": r"(?:lab|notebook|server|run)$|--ip",
    "npm pnpm yarn bun": r"[\w-]+/[\w.-]+$|--registry",
    "pip uv pipx": r"--(?:trusted-host|proxy|index|default-index|extra-index|find-l)",
    "pg_dump pg_dumpall mysqldump": r"-h|--host|-d.*://",
    "gs ghostscript exiftool": r"https?:",
}
_DESTROYS: Mapping[str, str] = {
    "conda mamba micromamba": r"remove$",
    "tar": r"--rem|--unlink|--recursive-u|--delete",
    "zip": r"-[A-Za-z]*[md]|--move|--delete",
    "7z 7za": r"-sdel|d$",
    "zstd xz lz4": r"--rm",
    "exiftool": r"-overwrite_original|-delete_original",
    "journalctl": r"--(?:vacuum|rotate|flush|relinquish|setup-keys|sync|update-cat|smart)",
    "dmesg": r"-[A-Za-z]*[cC]|--clear|--read-clear",
    "exiv2": r"-d|--delete|rm$",
    "lastlog": r"-[CS]|--clear|--set",
    "fdupes jdupes rmlint": r"-[A-Za-z]*d|--delete",
    "jdupes": r"-[A-Za-z]*[LlB]|--(?:link|dedupe)",
    "ogrinfo": r"(?i:.*\b(?:drop|delete|update|insert|alter|create)\b)",
}
_ACCESS: Mapping[str, str] = {
    "date": r"-s|--set|(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d(?:\d\d){0,2}(?:\.\d\d)?$",
    "install": r"(?:-\w*m|--mode)=?(?:[2-7]\d{3}|.*[ug+=]s)|[2-7]\d{3}$",
    "strace ltrace": r"-\w*p|--attach",
    "hostname": r"-[Fb]|--file|--boot",
    "timedatectl localectl loginctl": r"(?:set|enable|disable|kill|terminate|lock|unlock|activate|attach|revert)",
    "hostnamectl": r"(?!(?:status|show)$|-)\w",
    "resolvectl": r"(?:dns|domain|default-route|llmnr|mdns|dnssec|dnsovertls|nta|revert|flush|reset|log-level)",
    "chronyc": r"(?!(?:tracking|sources|sourcestats|activity|ntpdata|rtcdata|help)$|-|\d)\w",
    "nvidia-smi": r"mig$|-(?:r|pl|pm|c|e|am|p|lgc|rgc|lmc|rmc|ac|rac|gom|fdm|dm|caa|cc)$|"
    r"--(?!query|format|help|version|list|display|"
    r"filename|id|loop|xml|dtd|debug|unit)",
    "systemd-analyze": r"(?:set-)?log-|set-log|service-watchdogs",
    "go": r"-w$",
    "dmesg": r"-[nDE]|--console",
    "sysctl": r"-[A-Za-z]*[wp]|--write|--load|--system|.*=",
    "ss": r"-[A-Za-z]*K|--kill",
    "docker podman": r"--privileged",
}
_SECRETS: Mapping[str, str] = {
    "getent": r"g?shadow|passwd",
    "get-adcomputer get-aduser get-adobject": r"(?i:.*(?:admpwd|mslaps|unicodepwd|userpassword|managedpassword))",
    "jq gojq": r".*(?:(?<![\w.$\"])env\b(?!\")|\$ENV|\bConfig\.Env\b)",
    "ffmpeg ffplay": r"(?:x11grab|gdigrab|kmsgrab|avfoundation|v4l2|video4linux2|dshow|pulse|alsa)$",
    "yq": r".*env\(",
    "node nodejs deno bun": r".*process\.env\b(?!\.(?:NODE_ENV|CI|HOME|PATH)\b)",
    "kubectl oc": r"(?i:(?:.*,)?secrets?(?:[/.,]|$))|all,|--raw|view$|--show-managed",
    "docker podman nerdctl": r".*\{\{.*\bEnv\b",
    "aws": r"userData$|--include-values?$|get-secret|get-parameter|get-.*-(?:token|password|data|details)$|"
           r".*decryption|get-(?:login|session|federation)|.*token$|aws_access|"
           r"export-cred|list-access-keys|.*(?:secret|credential|password)|batch-get-secret|decrypt|get-caller-identity-token|token",
    "az": r"keyvault|.*(?:keys?|credential|token|secret|password|connection-string|appsetting)s?$",
    "gcloud": r"secrets|print-.*token|.*credentials|keys$|.*token",
    "gh glab": r".*token$|secret|variable|ssh-key|gpg-key|--show-token|-a?t$",
    "pulumi": r"config$|--show-secrets",
    "kind": r"kubeconfig",
    "npm pnpm yarn": r".*:_|_auth|_password|npmAuth|.*AuthToken$",
    "doctl": r"connection$",
    "heroku fly flyctl vercel netlify doctl": r"config(?::get)?$|secrets?|auth|env$|kubeconfig|token",
    "terraform tofu": r"console|pull$|-raw$",
}  # fmt: skip
_CODE = re.compile(
    r"--?(?:[\w-]*(?:config|conf|require|plugin|parser|rules|resolve|setup|runner|loader|import|preset|rc|options)[\w-]*|[cr])$",
    re.I,
)
"""Options that take code, or a configuration file that can contain code."""
_ELSEWHERE = ("/tmp/", "/var/tmp/", "/dev/")
_GENERIC = re.compile(
    r"--(?!no-|ignore-|disable-|skip-|without-)(?:[\w-]+-)?(?P<name>exec|execute|command|cmd|shell|eval|hook|pager|editor|"
    r"browser|wrapper|launcher|cmd-prefix|subprocess-path|preprocessor|rsh|toolexec|run-under|run_under|init-script|become|askpass)(?:=(?P<value>.*))?$"
)
_QUIET = frozenset("never none cat less more false no off 0 auto bash zsh fish sh powershell vi vim nano true".split())
_OPEN = re.compile(r"(?:--?[\w-]+=)?(?:0\.0\.0\.0|\[::\])(?::\d+)?$")
_REMOTE = re.compile(
    r"(?:--?[\w-]+=)?(?:https?|s?ftps?|wss?|s3|gs|rtmps?|tcp|udp|smb|ldaps?|git|ssh|scp|rsync|telnet|gopher)://", re.I
)
_OPENERS = frozenset(
    "xidel gron opa visidata vd terrascan ncdump mediainfo openssl "
    "ffmpeg ffprobe ffplay sox mpv vlc pandoc convert magick identify mogrify montage composite xsltproc xmllint "
    "wkhtmltopdf wkhtmltoimage tesseract java kotlin mlr in2csv csvcut csvlook csvgrep csvsort csvstat csvjson xq "
    "exiftool gs ghostscript jupyter mmdc plantuml glow nbconvert tidy emacs vim nvim vi code gdb lldb deno bun go "
    "npx conda r rscript julia octave php ruby perl jar dart flutter swift mkdocs sphinx-build weasyprint "
    "prince samtools".split()
)
"""Programs that open URLs as they open files."""
MAKERS = frozenset(
    "ast-grep typos gofumpt ansible-lint htmlq "
    "gcc g++ cc c++ clang clang++ clang-format ld as rustc rustfmt javac ghc tsc babel webpack vite rollup esbuild "
    "parcel "
    "protoc thrift flatc black isort autopep8 yapf ruff gofmt shfmt prettier eslint biome stylelint standard "
    "sphinx-build "
    "mkdocs pdoc pdflatex latex xelatex lualatex latexmk dot plantuml mmdc ffmpeg convert magick mogrify sox gs "
    "ghostscript "
    "pandoc wkhtmltopdf bison yacc flex gperf optipng pngquant qpdf swiftc kotlinc scalac jar ctags tox nox pytest "
    "py.test jest mocha vitest ava pylint flake8 mypy phpunit rspec msgfmt exiftool split csplit uniq pip npm pnpm "
    "yarn "
    "cmake meson ninja make gmake just task gradle gradlew mvn ant bazel poetry uv indent uncrustify dos2unix unix2dos "
    "tesseract gnuplot pdftotext pdftoppm jupyter nx turbo lerna rubocop patch mktemp gzip bzip2 xz zstd lz4 7z "
    "7za pigz unpigz pbzip2 lbzip2 pxz compress uncompress fromdos todos docx2txt pdfunite pdfseparate pdftocairo "
    "pdftohtml ps2pdf pdf2ps".split()
)
"""Programs that mostly write the paths they are given, or execute their configuration."""
_LOOKS = re.compile(
    r"-(?:I|L|isystem|D|l|Wl|rpath|F|iquote|include|sysroot)|--(?:sysroot|prefix=/usr|junit|cov|log|cache|tmp)"
)


_COPIERS = frozenset("tar bsdtar gtar zip 7z 7za cp gcp pax cpio ditto rsync".split())
"""Programs that copy directories with all their contents."""


@cache
def _patterns(name: str) -> tuple[tuple[re.Pattern[str], Raised], ...]:
    tables = (
        (_HIDDEN, HIDDEN), (_LEAVES, LEAVES), (_DESTROYS, DESTROYS), (_ACCESS, ACCESS), (_SECRETS, READS_SECRETS),
    )  # fmt: skip
    return tuple(
        (re.compile(pattern, re.DOTALL), kind)
        for table, kind in tables
        for names, pattern in table.items()
        if name in names.split()
    )


_DOCUMENT_STORES = frozenset(("mongosh", "mongo"))
"""Shells whose scripts `services` reads."""


def judge(name: str, args: Sequence[str]) -> Iterator[Raised]:
    """Findings for the arguments of a program, independent of what the program is."""
    patterns = _patterns(name)
    opens, makes = name in _OPENERS, name in MAKERS
    for number, arg in enumerate(args):
        for pattern, kind in patterns:
            if pattern.match(arg):
                yield kind
        if arg.startswith("--") and (found := _GENERIC.match(arg)):
            value = (
                found["value"] if found["value"] is not None else (args[number + 1] if number + 1 < len(args) else "")
            )
            if value.lower() not in _QUIET and not (found["name"] == "eval" and name in _DOCUMENT_STORES):
                yield HIDDEN
        if arg[-1:] in "0123456789]" and _OPEN.match(arg):
            yield LEAVES
        if name in _COPIERS and paths.is_home(arg):
            yield READS_SECRETS
        if opens and ":" in arg and _REMOTE.match(arg):
            yield LEAVES
        if makes and "/" in arg and paths.plain(arg.rpartition("=")[2]).startswith(_ELSEWHERE):
            option = arg.partition("=")[0] if arg.startswith("-") else args[number - 1] if number else ""
            if _CODE.match(option):
                yield HIDDEN
        if makes and "/" in arg and not _LOOKS.match(arg) and _is_outside(arg):
            yield OUTSIDE_WORKSPACE


def _is_outside(arg: str) -> bool:
    value = arg.partition("=")[2] if arg.startswith("-") and "=" in arg else re.sub(r"^-\w", "", arg)
    return (
        "://" not in value
        and " " not in value
        and "\\" not in value
        and (paths.is_system(value) or paths.plain(value).startswith(("/home/", "~")))
    )


_PROXIES = re.compile(
    r"(?:\w+_)?PROXY|\w*(?:INDEX_\w+|REGISTRY|ENDPOINT(?:_URL)?\w*|FIND_L\w+|GOPROXY)|DOCKER_HOST|KUBECONFIG", re.I
)
_HIDING = re.compile(
    r"LD_\w+|DYLD_\w+|BASH_ENV|ENV|PYTHON(?:STARTUP|INSPECT|HOME|BREAKPOINT|EXECUTABLE)|PERL5?(?:OPT|LIB|DB)|RUBY(?:OPT|LIB)|"
    r"NODE_(?:OPTIONS|PATH)|\w*JAVA_(?:TOOL_)?OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|SHELLOPTS|BASHOPTS|PS4|BASH_FUNC\w*|"
    r"LESS(?:OPEN|CLOSE|KEY\w*)|GIT_(?:EXEC_PATH|CONFIG\w*|DIR|WORK_TREE|TEMPLATE_DIR|PROXY_COMMAND|TRACE\w*|ALTERNATE\w*|"
    r"ALLOW_PROTOCOL|INDEX_FILE|OBJECT_DIRECTORY|COMMON_DIR|NAMESPACE)|GCONV_PATH|HISTFILE|HISTIGNORE|RIPGREP_CONFIG_PATH|MANOPT|"
    r"TAR_OPTIONS|GREP_OPTIONS|GOFLAGS|NPM_CONFIG_\w*SHELL|NPM_CONFIG_USERCONFIG|CARGO_HOME|PIP_CONFIG_FILE|"
    r"NLSPATH|LOCPATH|TERMINFO|TERMCAP|HOSTALIASES|RES_OPTIONS|LUA_(?:INIT|C?PATH)\w*|GEM_(?:HOME|PATH)|BUNDLE_GEMFILE|"
    r"AWS_(?:CONFIG_FILE|SHARED_CREDENTIALS_FILE|DATA_PATH)|GH_(?:CONFIG_DIR|HOST|PATH)|CLOUDSDK_\w+|AZURE_CONFIG_DIR|HGRCPATH|"
    r"HELM_(?:PLUGINS|BIN|CONFIG_HOME|DATA_HOME)|DOCKER_(?:CONFIG|CONTEXT)|KUBERC|TF_(?:CLI_CONFIG_FILE|REATTACH_PROVIDERS)|"
    r"ERL_\w*FLAGS|R_PROFILE\w*|JULIA_LOAD_PATH|JUPYTER_CONFIG\w*|IPYTHONDIR",
    re.I,
)
_UNRECORDED = re.compile(r"HIST(?:FILE)?SIZE=['\"]?0?['\"]?|HISTCONTROL=.*ignore(?:space|both).*")
"""Settings that stop a shell from recording its history."""
_FLAGS = re.compile(r"LESS|MAKEFLAGS|GNUMAKEFLAGS|\w*(?:FLAGS|OPTS|OPTIONS|_OPT|_ARGS|ADDOPTS)", re.I)
_RUNS = re.compile(
    r"GIT_\w*(?:COMMAND|EDITOR|DIFF|SSH|ASKPASS|PAGER)|GIT_SSH|\w*PAGER|EDITOR|VISUAL|PROMPT_COMMAND|BROWSER|SSH_ASKPASS|"
    r"SUDO_ASKPASS|CC|CXX|CPP|LD|AR|FC|RUSTC|SHELL|MAKE|RUSTC_\w*WRAPPER|RSYNC_RSH|CVS_RSH|\w*_LAUNCHER|\w*_SHELL|TEXEDIT|"
    r"FCEDIT|\w*EXTERNAL_DIFF|LPDEST_CMD|INPUTRC_CMD|DEBUGINFOD_CMD",
    re.I,
)
_SETTINGS = re.compile(r"\w+_(?:CONF|CONFIG|RC|ENGINES|MODULES|PLUGINS?)(?:_(?:FILE|PATH|DIR|HOME))?|\w+RC", re.I)
"""Variables that name a file of settings or a folder of extensions."""
_HARMS = re.compile(
    r"wrapper|plugin|exec|eval|command|action|pager|\bcmd\b|specs|linker|[;`!|&]|\$\(|-[PH]\s*\S|\bimport\b|-p\s|\+!"
)
_HOMES = frozenset("HOME XDG_CONFIG_HOME PYTHONPATH XDG_DATA_HOME ZDOTDIR DOTNET_ROOT JAVA_HOME GOPATH".split())


def judge_variable(name: str, value: str) -> tuple[Raised | None, bool]:
    """What an environment variable raises if set, and whether its value is a program that others would start."""
    if _HIDING.fullmatch(name):
        return HIDDEN, False
    if name.startswith("HIST") and _UNRECORDED.fullmatch(f"{name}={value}"):
        return HIDDEN, False
    if _PROXIES.fullmatch(name):
        return (LEAVES if value else None), False
    if name.upper() in ("PATH", *_HOMES):
        places = value.split(":")
        odd = any(paths.plain(place).startswith(("/tmp", "/var/tmp", "/dev/")) or ".." in place for place in places)
        return (HIDDEN if odd or (name.upper() == "PATH" and "." in places) else None), False
    if _RUNS.fullmatch(name):
        return None, True
    if _SETTINGS.fullmatch(name) and paths.plain(value).startswith(_ELSEWHERE):
        return HIDDEN, False
    return (HIDDEN if _FLAGS.fullmatch(name) and _HARMS.search(value) else None), False


def raised_by(name: str, value: str) -> tuple[Raised, ...]:
    """What an environment variable raises in an unknown context; a program to be started counts as hidden."""
    raised, is_program = judge_variable(name, value)
    return (raised or HIDDEN,) if raised is not None or (is_program and value) else ()

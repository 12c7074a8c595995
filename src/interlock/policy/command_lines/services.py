"""Command lines of services that only read: `kubectl get`, `gh pr view`, `aws ec2 describe-instances`, `docker ps`.

Dangerous options are judged in `options`. A command line that is not certain to read counts as acting.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from interlock.policy.command_lines import programs, windows
from interlock.policy.command_lines.printing import UNKNOWN
from interlock.policy.definitions.tool_definitions import words
from interlock.policy.definitions.verbs import CHANGES_IT, asks_for_act, asks_for_change
from interlock.policy.queries import other_queries

_LOOKS = (
    "list ls show get describe view status info version help search inspect history diff logs log tree top events"
).split()
_READS: Mapping[str, frozenset[str]] = {
    names: frozenset(verb if verb != "ls" else "list" for verb in verbs.replace("~ls ", "~list ").split())
    for names, verbs in {
        "docker podman nerdctl": "container~list container~ps container~logs container~inspect container~top "
        "container~stats "
        "container~port container~diff image~list image~inspect image~history network~list network~inspect volume~list "
        "volume~inspect system~df system~info system~events context~list context~show context~inspect diff events "
        "search "
        "manifest~inspect buildx~list buildx~inspect buildx~du plugin~list service~list service~ps service~logs "
        "service~inspect node~ps node~inspect buildx~version stack~services trust~inspect machine~inspect machine~info "
        "node~list "
        "stack~list stack~ps secret~list config~list machine~list pod~ps pod~inspect pod~list",
        "npm pnpm yarn bun": "find-dupes sbom stars hook~list access~list access~get view v show info "
        "outdated list ll la query search find s stars pkg~get cache~list "
        "config~get "
        "config~list get whoami ping explain why fund help help-search bin prefix root doctor diff owner~list "
        "dist-tag~list "
        "team~list profile~get org~list licenses~list store~path store~status workspaces~list pm~list pm~bin pm~hash "
        "pm~cache",
        "pip pip3 uv poetry conda mamba micromamba pdm": "cache~dir cache~list self~version self~show "
        "debug~info debug~tags "
        "compare doctor notices config~--list config~--show config~--describe package~--which package~--untracked "
        "config~get config~list config~debug index~versions "
        "env~list env~info "
        "source~show python~list tool~list pip~list pip~show pip~freeze pip~check pip~tree list info search about "
        "repoquery",
        "cargo rustup": "package~-l package~--list owner~--list report~future-incompatibilities verify-project "
        "msrv~list msrv~show override~list completions search info locate-project read-manifest pkgid audit "
        "deny outdated toolchain~list "
        "target~list component~list check which show",
        "brew": "list info search outdated deps uses leaves config doctor desc log cat options formulae casks commands "
        "services~list tap-info bundle~list bundle~check home~- missing",
        "dnf yum dnf5 dnf4 tdnf": "list info search repolist repoinfo repoquery provides check-update deplist "
        "grouplist "
        "group~list group~info module~list alias~list updateinfo whatprovides history~list history~info check",
        "zypper": "search se info if list-updates lu repos lr packages pa patches what-provides services locks ll "
        "patterns",
        "apt apt-get apt-cache apt-mark aptitude": "list show search policy depends rdepends changelog showsrc "
        "pkgnames stats "
        "madison showpkg unmet showhold showmanual showauto why versions",
        "flatpak snap choco winget": "list info search remotes remote-list remote-info history find connections "
        "services version "
        "outdated show source~list",
        "vagrant": "status port global-status box~list box~outdated plugin~list ssh-config version validate "
        "list-commands "
        "snapshot~list",
        "svn hg": "status diff log info list cat blame annotate id identify tip heads branches tags summary parents "
        "manifest",
        "systemctl": "list status show cat get-default is-active is-enabled is-failed is-system-running help",
        "kubectl oc": "get describe logs top version api-resources api-versions explain cluster-info diff events "
        "plugin~list apply~view-last-applied rollout~status rollout~history auth~can-i auth~whoami "
        "config~get-contexts config~current-context "
        "config~get-clusters "
        "kustomize wait completion options",
        "helm": "list ls status get~notes get~hooks get~metadata history show search template lint version env "
        "verify repo~list dependency~list "
        "plugin~list completion",
        "gh": "agent-task~list agent-task~view formatting environment pr~view pr~list pr~status pr~diff "
        "pr~checks issue~view issue~list issue~status repo~view repo~list "
        "run~view run~list run~watch workflow~view workflow~list release~view release~list search~issues search~prs "
        "search~repos search~code search~commits gist~view gist~list label~list api status auth~status cache~list "
        "ruleset~list ruleset~view ruleset~check org~list project~list project~view project~item-list "
        "project~field-list codespace~list "
        "codespace~ports codespace~logs cs~list cs~ports cs~logs rs~list rs~view rs~check ext~list "
        "help reference extension~list "
        "extension~search alias~list config~get config~list completion version milestone~list attestation~verify",
        "glab": "mr~view mr~list mr~diff mr~issues mr~approvers issue~view issue~list repo~view repo~list "
        "repo~search ci~view "
        "ci~list ci~status ci~get ci~trace ci~lint release~view release~list label~list user~events api~- auth~status "
        "pipeline~list pipeline~status job~list alias~list config~get completion version cluster~list",
        "jj": "log diff show status st evolog interdiff root version help op~log op~show op~diff operation~log "
        "operation~show config~get config~list config~path tag~list branch~list bookmark~list file~list file~show "
        "workspace~list workspace~root git~root",
        "redis-cli": "get mget getrange hget hmget hgetall hkeys hvals hlen lrange llen lindex smembers "
        "sismember scard "
        "srandmember zrange zrangebyscore zscore zcard zrank zcount keys scan hscan sscan zscan strlen "
        "bitcount xrange xlen "
        "xinfo slowlog~get client~list latency~latest object~encoding ping info dbsize ttl pttl type exists "
        "lastsave time memory~usage cluster~info cluster~nodes",
        "gsutil": "ls du stat hash version label~get iam~get lifecycle~get versioning~get cors~get",
        "s3cmd": "ls la du info",
        "rclone": "ls lsd lsl lsf lsjson size about version listremotes",
        "etcdctl": "member~list endpoint~health endpoint~status alarm~list version",
        "vault": "status version",
        "tailscale": "status version netcheck",
        "supabase": "status projects~list functions~list migration~list",
        "wrangler": "whoami deployments~list versions~list",
        "firebase": "projects:list apps:list functions:list hosting:sites:list",
        "railway": "status list whoami logs",
        "hub": "pr~list pr~show issue issue~show ci-status release release~show",
        "terraform tofu terragrunt": "plan show fmt~-check providers graph validate version output state~list "
        "state~show workspace~list "
        "workspace~show metadata~functions get modules",
        "pulumi": "preview stack~ls stack~output stack~history stack~graph whoami about version config~get logs "
        "plugin~ls org~get-default stack~hist policy~ls schema~check",
        "cdk": "diff list ls synth doctor docs notices metadata",
        "flux": "get logs check events tree version stats trace diff",
        "argocd": "app~list app~get app~diff app~history app~logs app~manifests app~resources cluster~list proj~list "
        "repo~list version",
        "dotnet": "ef~migrations~list ef~dbcontext~list ef~dbcontext~info tool~list tool~search list~package sln~list",
        "composer": "audit outdated licenses fund depends prohibits suggests browse",
        "heroku": "apps logs ps releases status addons domains pipelines regions stack version info",
        "fly flyctl": "status logs list info version releases services checks regions platform~regions apps~list "
        "machine~list",
        "vercel": "ls list inspect logs whoami teams~ls domains~ls",
        "netlify": "status sites:list logs api:list",
        "crane": "manifest digest ls catalog config blob validate version",
        "skopeo": "inspect list-tags",
        "helmfile": "diff list status template lint build version",
        "eksctl": "get version info",
        "nomad": "job~validate job~plan volume~status status "
        "version node~status job~status job~history job~inspect alloc~status alloc~logs "
        "deployment~status server~members",
        "consul": "members info version catalog~nodes catalog~services",
        "istioctl": "analyze version proxy-status ps describe",
        "minikube kind k9s": "status ip version get profile~list node~list addons~list service~list logs",
        "mongosh mongo": "",
        "doctl linode-cli ibmcloud openstack az gcloud aliyun exo oci scw hcloud": "",
    }.items()
}  # fmt: skip
_BY_NAME = {name: verbs for names, verbs in _READS.items() for name in names.split()}
_DOCUMENT_STORES = frozenset(("mongosh", "mongo"))
_HERE = re.compile(r"(?:mongodb://)?(?:localhost|127\.0\.0\.1)(?::\d+)?(?:/\w*)?|\w+")
"""A database of this machine, as shells of document stores name it."""
_CLOUDS = frozenset("doctl linode-cli ibmcloud openstack az gcloud aliyun exo oci scw hcloud".split())
_AWS = re.compile(
    r"(?:describe|list|get|head|lookup|search|estimate|detect|validate|batch-get|scan|query|filter|ls|tail|"
    r"wait)(?:-[a-z0-9-]+)?$"
)
_METHOD = ("-X", "--method")
_WRITES = re.compile(r"-i*[XfF]|--method|--field|--raw-field|--input|-o=?/|--output(?:-file)?=/|--watch-file|[a-z]+://")
_VALUED = frozenset(
    "--prefix --cwd --dir --manifest-path --workspace --filter -n --namespace -R --repo --profile --region -p "
    "--project -g --resource-group --cluster -o --output -A --app --context --kube-context --subscription "
    "--account".split()
)
_SHORT = frozenset(option for option in _VALUED if not option.startswith("--"))
_SPACED = frozenset("kubectl oc helm gh glab aws gcloud az doctl argocd flux istioctl nomad celery".split())
"""Services whose short global options take a separate value."""
_FLAGS = frozenset(
    "--no-pager --debug --verbose --quiet -q --no-color --system --silent -y --yes --offline --frozen --locked "
    "--no-ask "
    "--no-input --color -s -br -brief -j -json -d -details -c -color -4 -6 -o -oneline -h -human -p -pretty".split()
)
_UNKNOWN_READS = frozenset(
    {*_LOOKS, "ps", "stat", "verify", "validate", "lint", "whoami", "about", "doctor", "images"}
    - {"diff", "search", "get"}
)
_WORDS = re.compile(r"[A-Za-z][\w:-]{0,40}")
_ASKING = re.compile(r"--(?:list(?:-[a-z]+){0,2}|status|describe|info|check)")
"""Options that make an unknown program report something, if nothing precedes them."""
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_.+-]{1,40}")
_ACTING = frozenset(
    "install uninstall add create new init set unset enable disable start stop restart reload run exec execute "
    "ssh scp cp "
    "mv rsync sftp connect attach console shell interactive browse login logout use switch select apply sync serve "
    "upgrade update rebuild build resize reboot reset resume suspend pause rotate generate invoke call submit "
    "trigger import export encrypt decrypt sign edit write copy move rename prune clean clear cleanup fix force "
    "launch boot open spawn flush send rest curl wget nc dd kill-session".split()
)
"""Words before a reading subcommand, or options beside it, that make it act: `compute ssh list`, `list --fix`."""
_GROUPS = frozenset(
    "services jobs revisions regions executions domain-mappings delivery-pipelines releases targets rollouts".split()
)
"""Resources of `gcloud run` and `gcloud deploy`; before these, `run` and `deploy` are names of services."""
_NOUNS = frozenset("host mail t r time watch service at".split())
"""Names of programs that are also nouns."""
_RULES = frozenset(
    "--config --config-option --app -a --setopt --plugin --init-hook --debugger -H --host --diff-cmd".split()
)
"""Options by which some services are given settings or programs, or another host."""
_RULED = frozenset(
    "rclone s3cmd etcdctl hg svn cdk dnf yum dnf4 dnf5 tdnf zypper systemctl apt apt-get apt-cache apt-mark aptitude "
    "cargo".split()
)
_SECRET = frozenset(
    "secret secrets token tokens password passwords credential credentials key keys env config auth login "
    "connection strings publishing sas admin".split()
)
_BEGINS = frozenset("run exec x dlx create init tool ssh script compose shell debug".split())
"""Subcommands after which an option may be for what they start."""
_TRIAL = re.compile(r"--dry-?run")
_TRIED = frozenset(
    "apply create delete drain cordon uncordon taint label annotate scale expose autoscale set patch replace run "
    "rollout".split()
)
"""Subcommands of `kubectl` that can be tried."""
_LOOKED = frozenset((*_LOOKS, "options"))
_TOLD_ALONE = frozenset("version info topic help".split())
"""Subcommands of cloud clients that report about the client itself."""


def command_of(name: str, args: Sequence[str]) -> tuple[Sequence[str], bool]:
    """The arguments from the subcommand on, and whether that is certain: an option before may take it as its value."""
    rest, sure = list(args), True
    while rest and rest[0].startswith("-") and len(rest[0]) > 1:
        option = rest.pop(0)
        if option in _VALUED and (name in _SPACED or option not in _SHORT):
            del rest[:1]
        elif "=" not in option and option not in _FLAGS:
            sure = False
    return rest, sure


def reads(name: str, args: Sequence[str]) -> bool:
    """Whether a service's command line only reads from it."""
    if name in _DOCUMENT_STORES:
        return _shell_only_looks(args)
    if _asks_for_help(name, args) or _only_tries(name, args):
        return True
    if name in ("gh", "glab") and (at := next((at for at, arg in enumerate(args) if arg in _METHOD), None)):
        args = [*args[:at], *args[at + 2 :]] if args[at + 1 : at + 2] in (["GET"], ("GET",)) else args
    if name in ("gh", "glab", "hub") and any(_WRITES.match(arg) or "override" in arg.lower() for arg in args):
        return False
    if name in _RULED and any(
        arg.partition("=")[0] in _RULES or arg[:2] in ("-H", "-c") for arg in args if arg != "-c"
    ):
        return False
    rest, sure = command_of(name, args)
    named = list(itertools.takewhile(lambda arg: not arg.startswith("-"), rest))
    if name in ("svn", "hg") and any("://" in arg for arg in args):
        return False
    if UNKNOWN in "".join(args) and (name in ("aws", "skopeo", "crane", "svn", "hg") or named[:1] == ["api"]):
        return False
    if not sure or not named or UNKNOWN in "".join(named[:2]):
        return len(args) == 1 and args[0] in ("--version", "-v", "--help", "-h")
    if name == "aws":
        if named[0] == "s3":
            return named[1:2] == ["ls"]
        return len(named) > 1 and _AWS.match(named[1]) is not None and named[:2] != ["s3api", "get-object"]
    if name in _CLOUDS:
        return _reads_cloud(name, named)
    if (verbs_of := _BY_NAME.get(name)) is None:
        return False
    if name == "gh" and named[0] == "api":
        return "graphql" not in named
    first, two, three = ("~".join("list" if arg == "ls" else arg.lower() for arg in rest[:n]) for n in (1, 2, 3))
    if name == "systemctl" and re.fullmatch(r"list-[a-z-]+", first):
        return True
    return not {"rm", "clean"}.intersection(named[2:]) and not verbs_of.isdisjoint((first, two, three))


def _shell_only_looks(args: Sequence[str]) -> bool:
    """Whether a document store's shell is given scripts that certainly read, and a database of this machine."""
    scripts, rest = [], list(args)
    while rest:
        arg = rest.pop(0)
        if arg.startswith("--eval"):
            scripts.append(arg.partition("=")[2] if "=" in arg else rest.pop(0) if rest else UNKNOWN)
        elif arg not in ("--quiet", "--norc", "--json") and not _HERE.fullmatch(arg):
            return len(args) == 1 and arg in ("--version", "--help", "-h")
    return bool(scripts) and all(UNKNOWN not in each and other_queries.only_looks(each) for each in scripts)


def _reads_cloud(name: str, named: Sequence[str]) -> bool:
    """Whether a command of a cloud's client, with its groups and verb in `named`, only reads."""
    verbs = [arg for arg in named[:5] if _WORDS.fullmatch(arg)]
    if name == "gcloud" and verbs[:2] == ["logging", "read"]:
        return True
    if name == "gcloud" and verbs[:1] in (["run"], ["deploy"]) and verbs[1:2] and verbs[1] in _GROUPS:
        verbs = verbs[1:]
    if verbs[:1] and verbs[0] in _TOLD_ALONE:
        return True
    look = next(
        (at for at, verb in enumerate(verbs[:4]) if at and (verb in _LOOKS or verb == "options" or _is_look(verb))),
        None,
    )
    before = frozenset(part for verb in verbs[:look] for part in (verb, *verb.split("-")))
    return look is not None and _ACTING.isdisjoint(before) and not any(asks_for_act(verb) for verb in verbs)


def _asks_for_help(name: str, args: Sequence[str]) -> bool:
    """Whether a command line ends by asking for help, before anything that the service would start."""
    if not args or (args[-1] not in ("--help", "-h") and (name, args[-1]) != ("aws", "help")):
        return False
    return all(_WORDS.fullmatch(arg) for arg in args[:-1]) and _BEGINS.isdisjoint(args[:-2])


def _only_tries(name: str, args: Sequence[str]) -> bool:
    """Whether a service is only asked what it would do: `kubectl delete … --dry-run=client`, `aws s3 rm … --dryrun`."""
    given = [(before, arg) for before, arg in itertools.pairwise(("", *args)) if _TRIAL.match(arg)]
    if (
        len(given) != 1
        or "--no-dry-run" in args
        or UNKNOWN in "".join(args)
        or any("://" in arg and arg[:5] != "s3://" for arg in args)
    ):
        return False
    before, option = given[0]
    if before.startswith("-") and "=" not in before:
        return False
    if name == "aws":
        return option == ("--dryrun" if args[0] == "s3" else "--dry-run") and args[0] in ("s3", "ec2")
    if name in ("kubectl", "oc"):
        return option in ("--dry-run=client", "--dry-run=server") and args[0] in _TRIED
    return name == "helm" and option in ("--dry-run", "--dry-run=client") and "--post-renderer" not in "".join(args)


@lru_cache(maxsize=512)
def knows(name: str) -> bool:
    """Whether a program is a service whose command lines are classified here."""
    return name == "aws" or name in _BY_NAME


def unknown_only_reports(name: str, args: Sequence[str]) -> bool:
    """Whether an unknown program is plainly asked to report something: `x list`, `x --version`."""
    if knows(name):
        return reads(name, args)
    if windows.shows(name, args):
        return True
    if not _PLAIN_NAME.fullmatch(name) or len(args) > 8:
        return False
    if len(args) == 1 and args[0] in ("--version", "--help", "-V", "-version", "-help"):
        return True
    if asks_for_act(name):
        return False
    if args and args[-1] in ("--help", "-h") and all(_WORDS.fullmatch(arg) for arg in args[:-1]):
        return len(args) == 1 or not _starts(args[0])
    named = list(itertools.takewhile(lambda arg: not arg.startswith("-"), args))
    if "--" in args or not CHANGES_IT.isdisjoint(named[1:]):
        return False
    named = named[:2]
    looks = (
        (_looks(named[0]) or not _UNKNOWN_READS.isdisjoint(named))
        if named
        else args[:1] and _ASKING.fullmatch(args[0]) and all(arg[:1] == "-" for arg in args[1:2])
    )
    if not looks or (named and not _looks(named[0]) and _starts(named[0])):
        return False
    for arg in args:
        if (
            len(arg) > 80
            or not re.fullmatch(r"[\w@.,:=+/%-]*", arg)
            or "://" in arg
            or arg.rpartition("=")[2].startswith(("/", "~", "..", "@"))
        ):
            return False
        plain = arg.lstrip("-").partition("=")[0]
        if (
            asks_for_act(plain)
            or (arg.startswith("--") and not _ACTING.isdisjoint(words(plain)))
            or _SECRET & set(words(plain))
            or (arg.startswith("-") and arg[:2] in ("-o", "-f", "-c", "-e", "-x", "-d", "-D", "-w"))
        ):
            return False
    return True


def _is_look(verb: str) -> bool:
    """Whether a subcommand of a cloud client reads without revealing credentials: `list-locations`, `get-upgrades`."""
    asked, _, what = verb.partition("-")
    if not what:
        return verb == "exists"
    return asked in ("list", "show", "get", "check") and _SECRET.isdisjoint(what.split("-"))


def _looks(word: str) -> bool:
    """Whether a word is a reading subcommand: `list`, `pool-list`, `list_queues`, `route:list`."""
    if word in _UNKNOWN_READS:
        return True
    steps = re.split(r"[-_:]", word)
    if len(steps) == 1 or not (steps[0] == "list" or steps[-1] in ("list", "ls", "info", "status")):
        return False
    return (
        len(word) < 30
        and _ACTING.isdisjoint(steps)
        and not any(asks_for_change(step) or asks_for_act(step) for step in steps)
    )


def _starts(word: str) -> bool:
    """Whether a word before a reading subcommand is an acting verb, or the name of a program to start."""
    return (
        word in _ACTING
        or asks_for_change(word)
        or word in programs.SURE.keys() - _NOUNS
        or word in programs.SHELLS
        or word in programs.INTERPRETERS.keys() - _NOUNS
        or word in programs.WRAPPERS.keys() - _NOUNS
    )

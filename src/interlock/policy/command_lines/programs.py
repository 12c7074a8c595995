"""Tables of programs by effect: harmless, leaving the machine, destroying, changing access, wrapping, interpreting.

Command lines are parsed in `shell`. A program in none of the tables counts as unknown.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from interlock.policy.calls import Raised
from interlock.policy.command_lines import windows
from interlock.policy.kinds import ACCESS, DESTROYS, HIDDEN, LEAVES, PAYS, READS_SECRETS
from interlock.policy.values.folding import fold

HARMLESS = (
    frozenset(
        """
    ls dir vdir tree pwd cd pushd popd dirs cat tac head tail less more nl wc sort uniq cut paste join comm column
    fold fmt expand unexpand tr rev grep egrep fgrep rg ag ack fd fdfind locate basename dirname realpath readlink
    stat file du df free uptime uname hostname whoami id groups who w date cal ncal time sleep true false test [ [[ :
    echo printf seq yes factor bc dc expr let type which whereis hash man info help apropos whatis tldr diff diff3 cmp
    sdiff colordiff patch md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum shasum base64 base32
    basenc xxd od hexdump hd strings iconv dos2unix unix2dos jq yq xmllint xsltproc csvcut csvlook csvgrep csvsort
    csvstat csvjson mlr pandoc touch mkdir mktemp cp mv ln install tee split csplit rmdir rename tar gzip gunzip zcat
    zgrep zless bzip2 bunzip2 bzcat xz unxz xzcat zstd unzstd zstdcat lz4 zip unzip zipinfo 7z 7za ar cpio pr ptx
    tsort shuf numfmt nproc arch tty clear reset tput stty ps pgrep pidof pstree top htop jobs wait fg bg lscpu lsblk
    lsmem lsof vmstat iostat mpstat sar dmesg locale   getconf ulimit umask read mapfile readarray
    shift return exit break continue local declare typeset readonly export unset set shopt unalias times caller
    getopts getopt logout disown complete compgen history bind builtin pytest py.test tox nox  mypy ruff black
    isort flake8 pylint pyright bandit pre-commit autopep8 yapf pydocstyle vulture radon pyflakes pycodestyle
    hypothesis sphinx-build  pdoc   gcc g++ cc c++ clang clang++ clang-format clang-tidy ld as nm
    objdump readelf ldd size    autoconf automake ctest cpack  rustc rustfmt javac java jar
    javap kotlinc kotlin scalac ghc  gofmt golangci-lint tsc eslint prettier jest vitest mocha webpack vite
    rollup esbuild babel parcel standard tslint stylelint ava nyc c8    svelte-check  vue-cli-service
       swc biome shellcheck shfmt hadolint actionlint yamllint markdownlint codespell aspell hunspell vale
    proselint awk-lint dot graphviz plantuml mmdc gnuplot convert identify magick mogrify ffmpeg ffprobe sox exiftool
    optipng pngquant pdftotext pdfinfo pdftoppm qpdf ghostscript gs pdflatex latex xelatex lualatex bibtex latexmk
    tesseract wkhtmltopdf phpunit phpstan rspec rubocop    swiftc msbuild cloc
    tokei scc sloccount wdiff dwdiff delta bat exa eza lsd ncdu dust duf   watch  ctags etags cscope
    indent uncrustify protoc thrift flatc buf sqlformat sqlfluff jsonlint ajv xq tomlq envsubst cowsay figlet fortune
    lolcat banner neofetch screenfetch sqlite3_analyzer pg_dump mysqldump  msgfmt xgettext gperf flex bison
    yacc lex m4 findmnt blkid lspci lsusb lshw getent last lastlog uuidgen cksfv pathchk sync nice
    for select lsb_release namei lslocks lsns lsipc ipcs lsattr getfacl getfattr dmidecode sensors acpi nvidia-smi
    rocm-smi
    fc-list fc-match fc-scan pdfgrep bzgrep xzgrep zegrep zfgrep ugrep ast-grep  bfs ipcalc sipcalc jps jdeps jstat look
    errno procs cppcheck exiv2 mediainfo ogrinfo gdalinfo ncdump h5ls h5dump parquet-tools dpkg-query apt-file
    pactree pkgfile
    lsinitrd lslogins lscgroup lsscsi lsdvd hwinfo inxi upower xwininfo xdpyinfo xlsclients fdupes jdupes compseq primes
    ascii units numgrep tsv-filter csvtool xml xmlstarlet xidel htmlq pup dasel fx gron miller visidata readpe pefile
    rabin2 wasm-objdump olevba vmtouch pmap pidstat uname26 zcmp zdiff bzcmp bzdiff xzcmp xzdiff diffstat diffoscope
    colordiff lsar unrar-free zipdetails texcount detex wordcount typos ansible-lint parallel-lint psalm phan phpcs
    phpmd
    html5validator htmlhint tidy gofumpt staticcheck gocyclo errcheck ineffassign misspell revive tflint checkov
    terrascan
    kubeval kubeconform kube-score conftest opa dircolors fastfetch screenfetch macchina onefetch lstopo hostid nstat
    rtstat
    tac-g gtac gsed ghead gtail gwc gsort gls gcat gfind pwdx w.procps pidwait slabtop chronyc loc cargo-tree whence
    systemd-analyze systemd-delta systemd-cgls systemd-cgtop systemd-path systemd-detect-virt systemd-escape journalctl
    netstat ss sysctl
    timedatectl localectl hostnamectl resolvectl loginctl tig hledger ledger task-list calcurse aspell-list
    pv datamash jello jtbl ident ajson lpstat pg_config pdffonts pdfimages ul hashid
    systool lsfd
    mmdblookup numsum pdf-parser termgraph git-sizer scspell textstat
    md5 sha1 sha256 sha512 rgrep agrep tre-agrep uuid pigz unpigz pbzip2 lbzip2 pxz lzcat lzgrep lzless gzcat uncompress
    compress pdfunite pdfseparate pdftocairo pdftohtml ps2pdf pdf2ps ps2ascii uuencode pkg-config
    pkgconf lsmod modinfo mountpoint findfs smem ifstat lpq runlevel users pinky
    lastb tload zdump logname plocate mlocate slocate fincore filefrag xsv csvjoin csvclean csvformat csvstack
    gojq yj pygmentize hexyl addr2line c++filt llvm-objdump llvm-nm llvm-readelf readelf dwarfdump lddtree
    cmark markdown bats getenforce sestatus getsebool getcap seinfo sesearch atq lvs vgs pvs
    lvdisplay vgdisplay pvdisplay xfs_info glxinfo vulkaninfo vainfo vdpauinfo clinfo cpuid cpufreq-info
    sw_vers system_profiler vm_stat mdfind mdls otool samtools bedtools squeue sinfo sacct sprio sstat qstat
    b3sum rhash xxhsum soxi rpm2cpio antiword catdoc docx2txt fromdos todos tqdm pwgen
    ansible-doc
    """.split()
    )
    | windows.CMDLETS
    | windows.PROGRAMS
)
"""Programs that inspect, compute, or change the files named by their arguments."""

_STANDARD = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/", "/usr/games/")
_VERSIONED = re.compile(r"(?:python|pypy|pip|perl|ruby|php|lua|gcc|clang|node|g\+\+)\W?\d")

SURE: Mapping[str, Raised] = {
    **dict.fromkeys(
        "curl wget wget2 aria2c axel http https httpie xh curlie lynx w3m links elinks ssh scp sftp mosh "
        "autossh sshfs telnet ftp lftp ncftp tftp nc ncat netcat socat cryptcat smbclient rclone croc "
        "wormhole magic-wormhole ngrok cloudflared localtunnel lt bore frpc chisel mail mailx mutt "
        "neomutt sendmail msmtp swaks ssmtp exim postfix gh glab hub aws gcloud gsutil az doctl heroku "
        "fly flyctl vercel netlify wrangler firebase supabase railway eb cdk sls serverless pulumi s3cmd "
        "s5cmd mc azcopy kubectl oc helm k9s argocd flux istioctl minikube kind skaffold nomad consul "
        "boundary ansible ansible-playbook salt puppet chef knife cap fab twine skopeo crane oras cosign "
        "slack-cli telegram-send twurl t tweet ping ping6 hping3 fping traceroute tracepath mtr dig "
        "nslookup host whois drill nmap masscan zmap nikto sqlmap hydra medusa gobuster ffuf dirb wfuzz "
        "wpscan msfconsole metasploit tcpdump tshark wireshark ettercap bettercap arpspoof aircrack-ng "
        "responder redis-cli mongo mongosh mongodump cqlsh influx clickhouse-client etcdctl "
        "kafka-console-producer kafka-console-consumer kcat rabbitmqadmin mosquitto_pub mosquitto_sub "
        "nats wscat websocat grpcurl grpcui ipfs transmission-cli qbittorrent youtube-dl yt-dlp "
        "gallery-dl xdg-open xdg-email open start firefox chromium google-chrome chrome puppeteer "
        "invoke-webrequest iwr invoke-restmethod irm start-bitstransfer certutil bitsadmin new-object "
        "send-mailmessage test-netconnection ldapsearch rpcclient snmpwalk rdesktop xfreerdp vncviewer "
        "openvpn wg wg-quick tailscale zerotier-cli tor torsocks proxychains proxychains4 curlftpfs "
        "davfs2 mount.cifs wall write talk finger rsh rlogin rexec rcp "
        "plink pscp psftp winscp putty psexec psexec64 wmiexec smbexec evil-winrm winrs mstsc adfind "
        "sharphound".split(),
        LEAVES,
    ),
    **dict.fromkeys(
        "rm unlink dd mkfs shred srm wipe wipefs truncate fdisk sfdisk gdisk cfdisk sgdisk parted mkswap "
        "swapoff mke2fs debugfs hdparm blkdiscard fsck lvremove vgremove pvremove mdadm cryptsetup zpool "
        "zfs btrfs format reboot shutdown halt poweroff init telinit kill pkill killall killall5 xkill "
        "skill dropdb mysqladmin fallocate trash trash-put rimraf del erase rd deltree remove-item ri "
        "clear-content clear-disk format-volume diskpart cipher vssadmin wbadmin bcdedit stop-process "
        "stop-computer restart-computer taskkill stress stress-ng fork bleachbit fstrim logrotate logsave "
        "dkms stop-service clear-eventlog wevtutil badblocks".split(),
        DESTROYS,
    ),
    **dict.fromkeys(
        "chown chgrp useradd userdel usermod adduser deluser addgroup delgroup groupadd groupdel groupmod "
        "passwd chpasswd chsh chfn chage gpasswd newgrp newusers vipw vigr visudo crontab at batch atrm "
        "anacron iptables ip6tables nft ufw firewall-cmd ebtables setfacl chattr setcap capsh setenforce "
        "semanage chcon restorecon setsebool insmod modprobe rmmod depmod mount umount losetup "
        "swapon chroot nsenter unshare runuser su pkexec runas machinectl update-rc.d chkconfig rc-update "
        "launchctl update-alternatives alternatives ldconfig visudoers ssh-keygen "
        "ssh-copy-id ssh-add ssh-agent createuser dropuser htpasswd dscl ntfsfix auditctl icacls cacls "
        "takeown service net netsh reg regedit schtasks sc wmic set-executionpolicy new-localuser "
        "add-localgroupmember set-acl set-service new-service enable-psremoting gpedit dseditgroup kadmin "
        "ktutil realm adcli pam-auth-update ptrace gcore ld.so dtach".split(),
        ACCESS,
    ),
    **dict.fromkeys(
        "printenv gpg gpg2 gpg-agent pass gopass op bw lpass vault secret-tool security keyring mimikatz "
        "john hashcat pwdump secretsdump.py unshadow chntpw samdump2 age rage sops ansible-vault "
        "procdump procdump64 gsecdump lazagne pypykatz rubeus "
        "get-credential cmdkey keyctl keepassxc-cli credential xclip xsel pbpaste pbcopy".split(),
        READS_SECRETS,
    ),
    **dict.fromkeys(
        "xmrig minerd cpuminer cgminer bfgminer ethminer nbminer lolminer "
        "stripe paypal bitcoin-cli geth solana cast electrum lncli monero-wallet-cli ethers near".split(),
        PAYS,
    ),
    **dict.fromkeys(
        "iex invoke-expression start-process invoke-command icm add-type powershell pwsh cmd rundll32 "
        "regsvr32 mshta cscript wscript osascript expect script tclsh wish ed ex qemu-system-x86_64 "
        "gimp-console xterm gnome-terminal gdb lldb konsole openrc systemd-run enable fc bpftrace systemtap".split(),
        HIDDEN,
    ),
}
"""Programs that raise whatever their arguments are, except when asked for their version or help."""

WRAPPERS: Mapping[str, str] = {
    "nohup": "", "setsid": "", "time": "fo", "command": "", "builtin": "", "exec": "a", "coproc": "", "stdbuf": "ioe",
    "nice": "n", "ionice": "cnp", "chrt": "", "taskset": "", "env": "uCS", "timeout": "ks", "xargs": "aEdILnPs",
    "parallel": "jNaI", "watch": "n", "strace": "oeps", "ltrace": "oep", "busybox": "", "toybox": "", "unbuffer": "",
    "flock": "wE", "then": "", "do": "", "else": "", "!": "", "doas": "uC", "sudo": "ughpCrtUD", "npx": "p", "bunx": "",
    "pnpx": "", "uvx": "", "dotenv": "f", "fakeroot": "", "faketime": "", "catchsegv": "", "rlwrap": "",
    "chronic": "", "ts": "", "firejail": "", "bwrap": "", "direnv": "", "caffeinate": "", "xvfb-run": "",
    "arch": "",
    "entr": "", "dbus-run-session": "", "setarch": "", "linux64": "", "linux32": "", "i386": "", "x86_64": "",
}  # fmt: skip
"""Programs that start the program in their arguments, with the letters of their short options that take a value."""
SKIPS = frozenset(("timeout", "chrt", "taskset", "flock", "faketime"))
"""Wrappers whose first operand is not the program."""
TAKE_VALUES = frozenset(
    "--max-args --max-procs --delimiter --replace --adjustment --package --signal --kill-after --unset --chdir "
    "--arg-file --max-chars --jobs --interval --timeout --output --input --error --class --classdata".split()
)
"""Long options of wrappers whose value is the next word."""
_ALONE = re.compile(r"-[0rtpxilo]+")
AS_ANOTHER = frozenset(("sudo", "doas"))

SHELLS = frozenset("sh bash dash zsh ksh mksh ash fish csh tcsh rbash".split())
INTERPRETERS: Mapping[str, str] = {
    "python": "c", "pypy": "c", "perl": "eE", "ruby": "e", "node": "ep", "nodejs": "ep", "deno": "", "bun": "e",
    "php": "rBRE", "lua": "e", "luajit": "e", "rscript": "e", "r": "e", "julia": "eE", "octave": "e", "ipython": "c",
}  # fmt: skip
"""Interpreters, with the letters of their options that take code."""

SUBCOMMANDS: Mapping[str, tuple[frozenset[str], Raised]] = {
    "npm": (
        frozenset(
            "test t run run-script start build ls list outdated view info init pack lint audit ci install "
            "i add update prune dedupe explain why version root prefix bin fund doctor help".split()
        ),
        LEAVES,
    ),
    "yarn": (
        frozenset(
            "test run start build list outdated info init install add lint why version remove upgrade "
            "workspaces dev format".split()
        ),
        LEAVES,
    ),
    "pnpm": (
        frozenset("test run start build ls list outdated init install i add lint why remove update dev -r".split()),
        LEAVES,
    ),
    "pip": (
        frozenset("install list show freeze check download inspect debug help wheel hash cache".split()),
        LEAVES,
    ),
    "pipx": (frozenset("list install run".split()), LEAVES),
    "uv": (frozenset("run pip sync lock venv add remove tree python tool build init version export".split()), LEAVES),
    "poetry": (frozenset("install run add build lock show check update remove init version env new".split()), LEAVES),
    "pdm": (frozenset("install run add build lock list update remove sync".split()), LEAVES),
    "hatch": (frozenset("run build env test fmt version new shell".split()), LEAVES),
    "conda": (frozenset("list info env install create activate run search".split()), LEAVES),
    "cargo": (
        frozenset(
            "build check test run fmt clippy doc bench tree metadata new init add clean update fetch "
            "vendor install nextest expand version".split()
        ),
        LEAVES,
    ),
    "go": (
        frozenset("build test run vet fmt mod list env version doc generate install get tool clean work".split()),
        LEAVES,
    ),
    "gem": (frozenset("list install build search info outdated env".split()), LEAVES),
    "bundle": (frozenset("install exec list check update show outdated".split()), LEAVES),
    "composer": (frozenset("install require update show validate test dump-autoload".split()), LEAVES),
    "mvn": (
        frozenset(
            "test compile package verify validate clean install help:evaluate help:effective-pom help:describe "
            "help:active-profiles dependency:tree dependency:list dependency:analyze "
            "versions:display-dependency-updates "
            "versions:display-plugin-updates -v".split()
        ),
        LEAVES,
    ),
    "dotnet": (
        frozenset("build test run restore format list new --list-sdks --list-runtimes".split()),
        LEAVES,
    ),
    "flutter": (frozenset("test analyze build doctor pub".split()), LEAVES),
    "apt": (frozenset("list show search policy".split()), ACCESS),
    "apt-get": (frozenset(), ACCESS),
    "apt-cache": (frozenset("policy show search".split()), ACCESS),
    "dpkg": (
        frozenset(
            "-l -L -s -S -p -I -c -C -V -W --list --listfiles --status --search --print-avail --info --contents "
            "--audit --verify --print-architecture --get-selections --compare-versions".split()
        ),
        ACCESS,
    ),
    "rpm": (
        frozenset(
            "-q -qa -ql -qi -qf -qp -qpl -qpi -qlp -qip -qR -qc -qd -qal -V -Va -Vf -K --query --verify "
            "--checksig".split()
        ),
        ACCESS,
    ),
    "yum": (frozenset("list info search".split()), ACCESS),
    "dnf": (frozenset("list info search".split()), ACCESS),
    "apk": (frozenset("info list search".split()), ACCESS),
    "pacman": (
        frozenset("-Q -Qe -Qq -Qeq -Qi -Ql -Qo -Qm -Qn -Qu -Qs -Qdt -Qdtq -Qet -Qk -Ss -Si -Sg -F -Fl -Fy -V".split()),
        ACCESS,
    ),
    "zypper": (frozenset(), ACCESS),
    "snap": (frozenset("list info".split()), ACCESS),
    "flatpak": (frozenset("list info".split()), ACCESS),
    "brew": (frozenset("list info search outdated".split()), ACCESS),
    "choco": (frozenset("list".split()), ACCESS),
    "winget": (frozenset("list search".split()), ACCESS),
    "docker": (frozenset("ps images logs inspect version info top stats port history".split()), ACCESS),
    "podman": (frozenset("ps images logs inspect version info top stats port history".split()), ACCESS),
    "docker-compose": (frozenset("ps logs config images top version ls port events stats".split()), ACCESS),
    "buildah": (frozenset("images".split()), ACCESS),
    "nerdctl": (frozenset("ps images".split()), ACCESS),
    "terraform": (frozenset("fmt validate version show output providers graph".split()), LEAVES),
    "tofu": (frozenset("fmt validate version show output graph".split()), LEAVES),
    "terragrunt": (frozenset("hclfmt validate".split()), LEAVES),
    "vagrant": (frozenset("status".split()), ACCESS),
    "systemctl": (
        frozenset("status list-units list-unit-files is-active is-enabled is-failed show cat --version".split()),
        ACCESS,
    ),
    "ip": (
        frozenset(
            "a addr address link l r route rule neigh neighbour neighbor n maddr maddress mroute monitor "
            "netconf ntable "
            "tunnel tuntap stats vrf token netns".split()
        ),
        ACCESS,
    ),
    "ifconfig": (frozenset("-a".split()), ACCESS),
    "svn": (frozenset("status diff log info update up checkout co cat list blame add".split()), LEAVES),
    "hg": (frozenset("status diff log add commit update id summary cat annotate branch".split()), LEAVES),
    "openssl": (
        frozenset(
            "speed ciphers list errstr prime crl ts version dgst enc rand x509 verify sha256 md5 base64 passwd "
            "genrsa req asn1parse".split()
        ),
        LEAVES,
    ),
    "tmux": (
        frozenset("ls list-sessions list-windows list-panes list-keys list-commands list-clients info -V".split()),
        ACCESS,
    ),
    "screen": (frozenset("-ls -list -v --version".split()), ACCESS),
    "nginx": (frozenset("-t -T -v -V".split()), ACCESS),
    **dict.fromkeys(
        ("apachectl", "apache2ctl", "httpd", "apache2"),
        (frozenset("-t -v -V -S -M -l configtest status fullstatus".split()), ACCESS),
    ),
    "flask": (frozenset("routes --version".split()), HIDDEN),
    "celery": (frozenset("inspect report status events --version".split()), DESTROYS),
    "dbt": (frozenset("ls list parse compile debug docs deps --version".split()), DESTROYS),
    "rustup": (frozenset("show toolchain".split()), LEAVES),
    "nvm": (frozenset("ls list use current".split()), LEAVES),
    "asdf": (frozenset("list current where".split()), LEAVES),
    "alembic": (frozenset("history current heads show branches".split()), DESTROYS),
    "prisma": (frozenset("format validate generate".split()), DESTROYS),
    "rails": (frozenset("test routes stats".split()), HIDDEN),
}
"""Programs with subcommands: those that are harmless, and what every other subcommand raises."""

FETCHES: Mapping[str, frozenset[str]] = {
    "npm": frozenset("install i ci add update".split()),
    "yarn": frozenset("install add upgrade".split()),
    "pnpm": frozenset("install i add update".split()),
    "pip": frozenset("install download wheel".split()),
    "pipx": frozenset("install run".split()),
    "uv": frozenset("pip sync add tool python".split()),
    "poetry": frozenset("install add update".split()),
    "cargo": frozenset("add install fetch update".split()),
    "go": frozenset("get install".split()),
    "gem": frozenset("install".split()),
    "bundle": frozenset("install update".split()),
    "composer": frozenset("install require update".split()),
    "conda": frozenset("install create".split()),
    "svn": frozenset("update up checkout co".split()),
}
"""Subcommands that download third-party content."""
INNER: Mapping[str, frozenset[str]] = {
    "uv": frozenset(("run", "pip")), "poetry": frozenset(("run",)), "pdm": frozenset(("run",)),
    "hatch": frozenset(("run",)),
    "bundle": frozenset(("exec",)), "conda": frozenset(("run",)), "pipx": frozenset(("run",)),
}  # fmt: skip
"""Subcommands that start the program named next."""
RUNS_TARGETS = frozenset(
    "make gmake just task rake invoke inv gradle gradlew ant bazel npm yarn pnpm nox mage mvn ninja meson lerna nx "
    "turbo ng "
    "mkdocs next nuxt astro dart swift mix stack jupyter".split()
)
"""Programs whose arguments name targets of the project's build files; the names are judged as words."""
WRITERS = frozenset(
    "cp mv ln tee touch mkdir install rmdir split csplit patch tar unzip 7z rsync mktemp gzip cpio".split()
)
"""Programs that write the files named by their arguments."""


def stands_alone(wrapper: str, option: str) -> bool:
    """Whether an option of a wrapper takes no separate value: `--key=value`, or a flag of `xargs`."""
    return "=" in option or (wrapper == "xargs" and _ALONE.fullmatch(option) is not None)


@lru_cache(maxsize=2048)
def name_of(word: str) -> tuple[str, bool]:
    """The bare name of a program, and whether it is a system program called by its name or a standard path."""
    text = fold(word).strip()
    low = text.lower().replace("\\", "/")
    name = low.rsplit("/", 1)[-1].removesuffix(".exe").removesuffix(".cmd")
    if _VERSIONED.match(name):
        name = re.sub(r"(?<=[a-z])-?\d+(?:\.\d+)*$", "", name)
    return name, "/" not in low or low.startswith(_STANDARD)

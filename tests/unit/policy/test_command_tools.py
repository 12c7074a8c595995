"""Tools of others that run what they are given: a look is let, whatever else they are given is held."""

from typing import Any

import pytest

from interlock.policy.calls import Call, Caller
from interlock.policy.decide import decide
from interlock.policy.risk import Effect, Trust
from interlock.policy.rules import Policy

LOOKS = r"""
ls -la
cd /repo && git diff
grep -rn "class Ferry" src | head -5
find . -name "*.py" | xargs grep -ln tide | head
sed -n '10,20p' harbour.py
awk '{print $1}' log.txt | sort | uniq -c | sort -rn
ps aux | grep python
df -h && free -m && uptime
git log --oneline -5 && git status
git branch -a
cat pier.py; wc -w *.py
head -n 5 tides.csv 2>/dev/null
aws ec2 describe-instances --region eu-west-1
kubectl get pods -A
docker ps
timeout 10 grep -r tide .
python3 --version
pip list
for f in *.py; do wc -l "$f"; done
mount | grep ext4
Get-ChildItem C:\Projects\tides -Filter *.csv
Get-Process | Sort-Object CPU -Descending | Select-Object -First 10
Get-Service
(Get-Item tides.csv).Length
$PSVersionTable
Remove-Item tides.csv -WhatIf
dir C:\
Get-VM
Get-Content .\tides.csv | Measure-Object -Line
type C:\Projects\tides\readme.txt
tasklist
find . -exec cat {} +
find src -name "*.py" -exec grep -l ferry {} \; -o -name "*.md" -execdir wc -l {} +
f() { ls; }; f
rows() { local file=$1; wc -l "$file"; }; rows tides.csv; rows piers.csv
count=$(grep -c quay log.txt); echo $((count + 1))
sum=0; for f in *.txt; do n=$(wc -l < $f); sum=$((sum+n)); done; echo $sum
ports=($(ls ports)); echo ${ports[0]}
declare -A seen=([quay]=1); echo ${seen[quay]}
IFS=, read -r name berth
set -euo pipefail; ls src
[ -x "$(command -v node)" ] && echo yes
sed 's/quay/pier/g' tides.csv | head
sed -E -e 's/a+/b/' -e '/pier/d' tides.csv
awk -F, -v n=3 'NR==n {print $2}' tides.csv
bc <<< '3 * 14'
tree -aC src
file pier.py
FILES=$(find . -name "*.csv"); echo "$FILES"
SRC_DIR="$(dirname "$0")"; MAX_DEPTH=3; find "$SRC_DIR" -maxdepth "$MAX_DEPTH"
find . -type f -executable
find . -name "*.csv" -exec sh -c 'wc -l "$0"' {} \;
top -b -n 1 -u ann -o %MEM | head
top -l 1 -s 0 -stats mem -pid 812
tr ',' \\n < tides.csv
echo tides | md5
pr -T tides.csv
rgrep quay src
git branch --no-color
ip addr show en0
ip -4 route list
mount -v | grep ext4
screen -ls
sysctl -n hw.model
localectl status
timedatectl list-timezones
system_profiler SPUSBDataType
lpq -a
ip neighbour show
jar -tf pier.jar
mapfile -t names < <(find . -name "*.csv")
quayctl service version list
quayctl status
mongosh tides --quiet --eval 'db.quays.countDocuments({depth: 4})'
""".strip().splitlines()
ACTS = r"""
rm pier.py
cat .env
cat /etc/shadow
type C:\Windows\Panther\unattend.xml
type %USERPROFILE%\.aws\credentials
Get-Content C:\Users\ann\.ssh\id_rsa
Get-ChildItem Env:
Get-ChildItem \\quay\tides
Get-Item tides.csv | Remove-Item
head \\fileserver\share\keys.txt
python pier.py
pytest
make
./run.sh
ls > out.txt
cat a | tee b
find . -delete
find . -exec rm {} +
find . -exec {} \;
find . -exec sh -c 'rm "$0"' {} \;
find . -exec sh -c 'echo {}' \;
GREP_OPTIONS=-f; FILE_OPTIONS=x; ls
LESSOPEN=$(cat a); less tides.csv
GIT_DIR=/srv/quay git log
mediainfo --Logfile=out.txt tides.mp3
info -o tides.txt bash
ip link set en0 down
ip addr add 10.0.0.9/8 dev en0
jar -xf pier.jar
bun pm cache rm
top
find . -exec sh -c 'cat $0' {} \;
bash -c 'touch quays'
bash -c 'ls' && bash quays.sh
bash -ic ls
bash -c 'cat $0' quays
ls | xargs -n 1 sh -c 'wc -l'
env -i touch quays
env QUAYS=3 make
PAGER=./quays.sh git log
env LESSOPEN=./quays.sh less tides.csv
ls | tee quays.txt
nice -n 10 touch quays
command touch quays
find . -exec grep -l quay {} + -delete
find . -ok rm {} \;
f() { rm $1; }; f tides.csv
ls() { rm tides.csv; }; ls
f() { g; }; g() { f; }; f
x=rm; $x tides.csv
x=$(cat a); $x
https_proxy=quay.example; ls
GIT_PAGER=sh; git log
read GIT_PAGER < a; git log
printf -v GIT_PAGER sh; git log
declare -n other=GIT_PAGER; other=sh; git log
export A=1
set -a; ls
set
declare -p
command rm a
mapfile -C rm -t names
awk -f tides.awk tides.csv
awk --file=tides.awk tides.csv
sed -f tides.sed tides.csv
sed 's/a/b/w out' x
sed "${n}p" x
file -C -m magic
ag --pager sh quay
ls | xargs rm
git push
git commit -m tide
git branch new
git tag v1
git config user.name x
git remote add a b
git diff --output=x
git -c core.pager=sh log
sed -i s/a/b/ x
sed -n 'w out' x
sed -n 1e x
awk '{print > "out"}' x
sort -o a b
uniq a b
tree -o out
mkdir x
curl https://example.com
pip install httpx
npm test
docker run alpine
kubectl delete pod x
ls; rm x
ls $(rm x)
X=1 ls
echo "rm x" | sh
sudo ls
env
tar xf a.tar
python -c "print(1)"
timeout 5 rm x
ls && $(cat a)
while true; do ls; done
docker compose up
psql -c "DELETE FROM berths"
psql -f quay.sql
sqlite3 quay.db ".import tides.csv berths"
mysql -e "DROP TABLE berths"
tar xzf tides.tgz
tar czf tides.tgz quay
unzip tides.zip
fd -e py -x python
make list
npm audit fix
git ls-remote https://tides.test/quay
go env -w GOFLAGS=x
python list
expand quay.cab tides.exe
powershell list
npm status
python3 -m json.tool a.json b.json
xxd -r tides.hex tides.bin
openssl genrsa -out quay.txt
printenv QUAY_TOKEN
docker ps --format "{{.Config.Env}}"
git stash show; git stash drop
node -v quay.js
ls | xargs -I ls ls tides.csv
quayctl service version activate --version 5
quayctl version update
quaytop top -- python tides.py
mongosh tides --eval 'db.quays.insertOne({})'
yq -i .a=1 tides.yml
""".strip().splitlines()


def asked(tool: str, description: str, args: dict[str, Any]) -> Effect:
    who = Caller(agent_name="a", trust=Trust.SPECIALIST)
    return decide(Call(tool=tool, description=description, args=args), who, Policy.builtin()).effect


def test_a_tool_that_runs_what_it_is_given_may_look() -> None:
    told = "Run commands in a shell. State is kept from one to the next."
    assert [line for line in LOOKS if asked("bash", told, {"command": line}) is not Effect.ALLOW] == []


def test_a_shell_may_say_how_it_is_talked_to() -> None:
    told = (
        "Execute a command. With `is_input` you can:\n- Send text to the program that runs\n- Send control keys to it"
    )
    assert asked("execute_bash", told, {"command": "ls"}) is Effect.ALLOW
    assert asked("execute_bash", told + "\nSend text to the crew", {"command": "rm tides.csv"}) is Effect.HOLD
    assert asked("execute_bash", "Execute a command and send a report of it", {"command": "ls"}) is Effect.HOLD


def test_what_does_more_than_look_is_held() -> None:
    assert [line for line in ACTS if asked("bash", "Runs a command", {"command": line}) is not Effect.HOLD] == []


@pytest.mark.parametrize(
    ("tool", "description", "args"),
    [
        ("bash", "Runs a command and emails what it prints", {"command": "ls"}),
        ("bash", "Run a command. Deletes the folder afterwards.", {"command": "ls"}),
        ("bash", "Run a command and send the output to the team", {"command": "ls"}),
        ("bash", "Runs a command", {}),
        ("bash", "Runs a command", {"command": "ls", "env": {"A": "b"}}),
        ("bash", "Runs a command", {"command": "ls", "host": "web1"}),
        ("bash", "Runs a command", {"command": "ls", "cmd": "ls"}),
        ("ssh_exec", "Runs a command", {"command": "ls"}),
        ("run_workflow", "Runs the workflow", {"command": "ls"}),
        ("powershell", "", {"command": "python quay.py"}),
        ("PowerShell", "", {"command": "mkdir quay"}),
        ("windows_shell", "", {"command": "mkdir quay"}),
        ("sh", "", {"command": "mkdir quay"}),
        ("delete_command", "Runs a command", {"command": "ls"}),
    ],
)
def test_a_tool_that_is_more_than_one_that_runs_is_held(tool: str, description: str, args: dict[str, Any]) -> None:
    assert asked(tool, description, args) is Effect.HOLD


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("Bash", {"command": "ls", "description": "Look around", "run_in_background": False}),
        ("run_in_terminal", {"command": "ls", "explanation": "Look around", "isBackground": True}),
        ("execute_command", {"command": "ls", "requires_approval": False}),
        ("bash", {"command": "ls", "restart": False}),
        ("shell", {"command": ["ls", "-la"]}),
        ("shell", {"command": ["bash", "-lc", "cd src && git diff"], "justification": "Look around"}),
    ],
)
def test_the_shell_tools_of_agents_may_look(tool: str, args: dict[str, Any]) -> None:
    assert asked(tool, "Runs a command", args) is Effect.ALLOW


@pytest.mark.parametrize(
    "args",
    [
        {"command": ["rm", "tides.csv"]},
        {"command": ["bash", "-lc", "ls; rm tides.csv"]},
        {"command": ["bash", "tides.sh"]},
        {"command": ["bash", "-x", "-c", "ls"]},
        {"command": ["./bash", "-c", "ls"]},
        {"command": ["ls", 3]},
        {"command": []},
        {"command": "ls", "restart": True},
        {"command": "ls", "sandbox": "off"},
    ],
)
def test_the_shell_tools_of_agents_do_no_more(args: dict[str, Any]) -> None:
    assert asked("shell", "Runs a command", args) is Effect.HOLD


ANYTHING = "Execute any SQL query against the database. Use `change_tables` for definitions."


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("execute_sql", {"sql": "SELECT name FROM berths WHERE depth > 4"}),
        ("execute_sql", {"query": "WITH deep AS (SELECT 1) SELECT * FROM deep", "project_id": "quay"}),
        ("mcp__db__run_query", {"query": "EXPLAIN SELECT 1"}),
        ("run_soql", {"query": "SELECT Id FROM Berth WHERE CALENDAR_YEAR(Built) = 1990"}),
        ("postgres_execute_query", {"statement": "SELECT count(*) FROM berths", "limit": 5}),
    ],
)
def test_a_tool_that_runs_statements_may_read(tool: str, args: dict[str, Any]) -> None:
    assert asked(tool, ANYTHING, args) is Effect.ALLOW


@pytest.mark.parametrize(
    ("tool", "description", "args"),
    [
        ("execute_sql", ANYTHING, {"sql": "DELETE FROM berths"}),
        ("execute_sql", ANYTHING, {"sql": "SELECT 1; DROP TABLE berths"}),
        ("execute_sql", ANYTHING, {"sql": "SELECT * FROM berths FOR UPDATE"}),
        ("execute_sql", ANYTHING, {"sql": "SELECT pg_read_file('/etc/passwd')"}),
        ("execute_sql", ANYTHING, {"sql": "SELECT berth_of(3)"}),
        ("execute_sql", ANYTHING, {"sql": "run the weekly job"}),
        ("execute_sql", ANYTHING, {"sql": "SELECT 1", "query": "SELECT 1"}),
        ("execute_sql", ANYTHING, {"sql": "SELECT 1", "on_success": "DROP TABLE berths"}),
        ("execute_sql", ANYTHING, {"sql": ["SELECT 1"]}),
        ("execute_sql", ANYTHING, {}),
        ("execute_sql", "Runs a statement and emails the rows", {"sql": "SELECT 1"}),
        ("execute_sql_job", ANYTHING, {"sql": "SELECT 1"}),
    ],
)
def test_a_tool_that_runs_statements_does_no_more(tool: str, description: str, args: dict[str, Any]) -> None:
    assert asked(tool, description, args) is Effect.HOLD


def test_a_tool_for_one_program_may_look() -> None:
    assert asked("call_aws", "Execute AWS CLI commands", {"cli_command": "aws s3 ls"}) is Effect.ALLOW
    assert asked("call_aws", "Execute AWS CLI commands", {"cli_command": "aws s3 rm s3://a"}) is Effect.HOLD


@pytest.mark.parametrize(
    "code",
    [
        "from __future__ import annotations\nimport struct\nprint(struct.pack('<I', 7))",
        "import binascii, pprint\npprint.pprint(binascii.crc32(b'quay'))",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.show()",
    ],
)
def test_code_that_only_computes_runs(code: str) -> None:
    assert asked("python_interpreter", "Runs Python code", {"code": code}) is Effect.ALLOW


@pytest.mark.parametrize(
    "code",
    [
        "open('tides.csv', 'w').write('x')",
        "import os\nos.listdir('.')",
        "frame.to_csv('tides.csv')",
        "import numpy as np\nnp.save('tides', 1)",
        "print(open('tides.csv').read())",
        "import requests",
        "eval('1')",
        "while True: pass",
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('tides.png')",
        "import matplotlib.pyplot as plt\nplt.style.use('https://tides.test/quay.mplstyle')",
        "import matplotlib.pyplot as plt\nplt.imread('tides.png')",
        "height(3)",
    ],
)
def test_code_that_does_more_than_compute_is_held(code: str) -> None:
    told = "Runs Python code"
    assert asked("python_interpreter", told, {"code": code}) is Effect.HOLD
    assert asked("python_interpreter", told, {"code": "print(2 ** 10)", "language": "bash"}) is Effect.HOLD
    assert asked("python_interpreter", "Runs code and emails what it prints", {"code": "print(2)"}) is Effect.HOLD

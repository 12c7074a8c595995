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
Get-Content .\tides.csv | Measure-Object -Line
type C:\Projects\tides\readme.txt
tasklist
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
find . -exec cat {} +
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
bash -c ls
sudo ls
env
tar xf a.tar
python -c "print(1)"
f() { ls; }; f
timeout 5 rm x
ls && $(cat a)
while true; do ls; done
""".strip().splitlines()


def asked(tool: str, description: str, args: dict[str, Any]) -> Effect:
    who = Caller(agent_name="a", trust=Trust.SPECIALIST)
    return decide(Call(tool=tool, description=description, args=args), who, Policy.builtin()).effect


def test_a_tool_that_runs_what_it_is_given_may_look() -> None:
    told = "Run commands in a shell. State is kept from one to the next."
    assert [line for line in LOOKS if asked("bash", told, {"command": line}) is not Effect.ALLOW] == []


def test_what_does_more_than_look_is_held() -> None:
    assert [line for line in ACTS if asked("bash", "Runs a command", {"command": line}) is not Effect.HOLD] == []


@pytest.mark.parametrize(
    ("tool", "description", "args"),
    [
        ("bash", "Runs a command and emails what it prints", {"command": "ls"}),
        ("bash", "Run a command. Deletes the folder afterwards.", {"command": "ls"}),
        ("bash", "Runs a command", {}),
        ("bash", "Runs a command", {"command": "ls", "env": {"A": "b"}}),
        ("bash", "Runs a command", {"command": "ls", "host": "web1"}),
        ("bash", "Runs a command", {"command": "ls", "cmd": "ls"}),
        ("ssh_exec", "Runs a command", {"command": "ls"}),
        ("run_workflow", "Runs the workflow", {"command": "ls"}),
        ("delete_command", "Runs a command", {"command": "ls"}),
    ],
)
def test_a_tool_that_is_more_than_one_that_runs_is_held(tool: str, description: str, args: dict[str, Any]) -> None:
    assert asked(tool, description, args) is Effect.HOLD


def test_a_tool_for_one_program_may_look() -> None:
    assert asked("call_aws", "Execute AWS CLI commands", {"cli_command": "aws s3 ls"}) is Effect.ALLOW
    assert asked("call_aws", "Execute AWS CLI commands", {"cli_command": "aws s3 rm s3://a"}) is Effect.HOLD


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
        "height(3)",
    ],
)
def test_code_that_does_more_than_compute_is_held(code: str) -> None:
    told = "Runs Python code"
    assert asked("python_interpreter", told, {"code": code}) is Effect.HOLD
    assert asked("python_interpreter", told, {"code": "print(2 ** 10)", "language": "bash"}) is Effect.HOLD
    assert asked("python_interpreter", "Runs code and emails what it prints", {"code": "print(2)"}) is Effect.HOLD

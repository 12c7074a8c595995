#!/bin/sh
# Makes the virtual environment $1 with $PYTHON, or else the first Python 3.11 or newer that runs; keeps one that works.
set -eu
venv=$1

suits() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

make_venv() {
    suits "$1" && "$1" -m venv --clear "$venv" && exit 0
    return 0
}

if [ -x "$venv/bin/python" ] && suits "$venv/bin/python" && "$venv/bin/python" -c 'import pip' 2>/dev/null; then
    exit 0
fi

if [ -n "${PYTHON:-}" ]; then
    make_venv "$PYTHON"
    echo "\`$PYTHON\` is not a Python 3.11 or newer with venv: name another, as in \`make PYTHON=/path/to/python3.12 demo\`" >&2
else
    for candidate in python3.13 python3.12 python3.11 python3; do
        make_venv "$candidate"
    done
    echo "no Python 3.11 or newer with venv found: install one (Debian: \`apt install python3-venv\`), or name it, as in \`make PYTHON=/path/to/python3.12 demo\`" >&2
fi
exit 1

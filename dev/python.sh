#!/bin/sh
# Make a virtual environment with the newest suitable Python, and print the path of its interpreter.
#
#   dev/python.sh DIRECTORY EXTRAS [CONSTRAINTS]
#
# A Python is suitable when it starts (a version manager's shim may not), is CPython 3.11 or newer
# with the GIL, can make a virtual environment, and finds a wheel for every dependency in EXTRAS
# (a comma-separated list from pyproject.toml). Candidates are tried newest first; PYTHON=... leaves
# one candidate, and MAX_PYTHON=3.12 caps them. CONSTRAINTS is a pip constraints file.
#
# DIRECTORY holds a stamp for each EXTRAS with the checksum of what it was made from, so a second
# call costs a few milliseconds. Everything but the path goes to standard error.
set -eu

directory=$1 extras=$2 constraints=${3:-/dev/null}
root=$(cd "$(dirname "$0")/.." && pwd)
case "$directory" in /*) ;; *) directory=$root/$directory ;; esac
python=$directory/bin/python
choice="PYTHON=${PYTHON:-} MAX_PYTHON=${MAX_PYTHON:-}"
wanted="$choice $(cat "$root/pyproject.toml" "$constraints" | cksum)"

stamped() { # NAME TEXT: the environment works, and its stamp NAME holds TEXT
    [ "$(cat "$directory/stamp-$1" 2>/dev/null)" = "$2" ] && "$python" -c '' 2>/dev/null
}

install() {
    echo "installing tapeless[$extras] into $directory" >&2
    "$python" -m pip install -qq --disable-pip-version-check --only-binary :all: \
        --constraint "$constraints" --editable "$root[$extras]" >&2 || return 1
    echo "$wanted" >"$directory/stamp-$extras"
}

candidates() { # one path a line, newest first; some do not exist
    if [ -n "${PYTHON:-}" ]; then
        command -v "$PYTHON"
        return
    fi
    minor=20
    while [ "$minor" -ge 11 ]; do
        name=python3.$minor
        echo "$PATH" | tr ':' '\n' | sed "s|\$|/$name|"
        for folder in "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".* \
            "$HOME/.local/share/uv/python/cpython-3.$minor".* /opt/homebrew \
            "/Library/Frameworks/Python.framework/Versions/3.$minor"; do
            echo "$folder/bin/$name"
        done
        minor=$((minor - 1))
    done
    command -v python3 python || true
}

suits() {
    [ -x "$1" ] && "$1" - "${MAX_PYTHON:-3.99}" 2>/dev/null <<'PROGRAM'
import sys, sysconfig
newest = tuple(map(int, sys.argv[1].split(".")))
right_version = (3, 11) <= sys.version_info[:2] <= newest
has_gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
sys.exit(not (sys.implementation.name == "cpython" and right_version and has_gil))
PROGRAM
}

if stamped "$extras" "$wanted" || { stamped made "$choice" && install; }; then
    echo "$python"
    exit 0
fi

IFS='
'
for candidate in $(candidates); do
    suits "$candidate" || continue
    echo "making $directory with $candidate" >&2
    rm -rf "$directory"
    if "$candidate" -m venv "$directory" >&2 && install; then
        echo "$choice" >"$directory/stamp-made"
        echo "$python"
        exit 0
    fi
    echo "$candidate does not suit (the reason stands above); trying another" >&2
done

cat >&2 <<'MESSAGE'
No suitable Python was found. Tapeless needs CPython 3.11 or newer that can make a virtual
environment, and a package index with wheels of every dependency for it.
PYTHON=/path/to/python makes the choice yours.
MESSAGE
exit 1

#!/bin/sh
# Build the sdist and the wheel, check them, and run the tiny tests on the installed wheel, outside
# the checkout:  dev/package_check.sh PYTHON   (a Python with the dev extra)
set -eu

python=$1
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cd "$root"
"$python" -m build --outdir "$scratch/dist" . >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
"$python" -m twine check --strict "$scratch"/dist/*
for file in tapeless/py.typed dist-info/licenses/LICENSE dist-info/licenses/NOTICE; do
    "$python" -m zipfile -l "$scratch"/dist/*.whl | grep -q "$file" || {
        echo "the wheel lacks $file"
        exit 1
    }
done

"$python" -m venv "$scratch/venv"
wheel=$(echo "$scratch"/dist/*.whl)
"$scratch/venv/bin/python" -m pip install -qq --disable-pip-version-check --only-binary :all: \
    "$wheel[test]"
mkdir "$scratch/tests"
cp tests/conftest.py tests/test_tiny.py "$scratch/tests"
cp pyproject.toml "$scratch"
cd "$scratch"
venv/bin/python -c 'import tapeless; print("installed:", tapeless.__file__)' | grep site-packages
venv/bin/python -m pytest -q tests/test_tiny.py

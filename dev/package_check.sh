#!/bin/sh
# Build the sdist and the wheel and check them; then, with the installed wheel and outside the
# checkout, check the types of the program in the README, run it, and run the tiny tests:
#
#   dev/package_check.sh PYTHON   (a Python with the dev extra)
set -eu

python=$1
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cd "$root"
"$python" -m build --outdir "$scratch/dist" . >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
"$python" -m twine check --strict "$scratch"/dist/*
"$python" -m zipfile -l "$scratch"/dist/*.whl >"$scratch/files"
for file in tapeless/py.typed dist-info/licenses/LICENSE dist-info/licenses/NOTICE; do
    grep -q "$file" "$scratch/files" || {
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
sed -n '/^```python$/,/^```$/{/^```/!p;}' README.md >"$scratch/program.py"
cd "$scratch"
venv/bin/python -c 'import tapeless; print("installed:", tapeless.__file__)' | grep site-packages
"$python" -m pyrefly check --python-interpreter-path venv/bin/python program.py
venv/bin/python program.py
venv/bin/python -m pytest -q tests/test_tiny.py

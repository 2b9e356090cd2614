# `make` does what CI runs. Each target makes the virtual environment that it needs.
#
#   PYTHON=/path/to/python   the Python to use instead of the newest that suits
#   K=expression             only the tests that match (test, test-long, tiny, test-lowest)
#   ARGS="..."               further arguments for the program that the target runs

VENV ?= .venv
ARGS ?=

# $(call venv,EXTRAS): in a recipe, sets $$python or ends the recipe.
venv = python=$$(dev/python.sh $(VENV) $(1)) || exit 1
select = $(if $(K),-k "$(K)")
pytest = "$$python" -m pytest --failed-first $(select) $(ARGS)
parallel = -n auto --dist worksteal

.PHONY: all run test test-long mutations test-eco test-torch test-lowest tiny lint format types \
	floors sizes bench show golden docs conformance package clean

all: lint types floors sizes test

run:
	@$(call venv,examples) && exec "$$python" examples/digits.py $(ARGS)

# jax, which some tests compare with, is installed where it has a release (Python >= 3.12).
test:
	@$(call venv,test$(,)examples$(,)oracle) && $(pytest) $(parallel)

test-long:
	@$(call venv,test$(,)examples$(,)oracle) && \
		HYPOTHESIS_PROFILE=long $(pytest) $(parallel) -m "" --timeout 1200

# Each promise of docs/reliability.md, switched off, must make its test fail; ARGS="callbacks --jobs 2".
mutations:
	@$(call venv,test$(,)examples$(,)oracle) && "$$python" -m tests.safety.mutations $(ARGS)

# Third-party libraries on top of tapeless, in an environment without jax, which they would require.
test-eco: VENV = .venv-eco
test-eco:
	@$(call venv,test) && \
		"$$python" -m pip install -q --no-deps -r tests/ecosystem/requirements.txt && \
		TAPELESS_ECO=1 $(pytest) $(parallel) -m "" --timeout 300 tests/ecosystem

# PyTorch's builds for the CPU, from its own index or a directory that pip knows; Python 3.11 has one
# of each release: PYTHON=python3.11.
test-torch: VENV = .venv-torch
test-torch:
	@$(call venv,test) && \
		"$$python" -m pip install -q --extra-index-url https://download.pytorch.org/whl/cpu \
			torch==2.13.0+cpu && \
		$(pytest) tests/dropin/test_torch.py

# The oldest Python and the oldest releases that pyproject.toml allows.
test-lowest: VENV = .venv-lowest
test-lowest:
	@mkdir -p build && sed -n 's/^ *"\([a-z_]*\)>=\([0-9.]*\)",$$/\1==\2/p' pyproject.toml \
		| grep -E '^(numpy|scipy|llvmlite|ml_dtypes|opt_einsum)=' > build/lowest.txt
	@python=$$(MAX_PYTHON=3.11 dev/python.sh $(VENV) test$(,)examples build/lowest.txt) || exit 1; \
		"$$python" -m pip freeze --disable-pip-version-check | grep -x -F -f build/lowest.txt && \
		$(pytest) $(parallel)

tiny:
	@$(call venv,test$(,)examples$(,)oracle) && $(pytest) -q tests/test_tiny.py

lint:
	@$(call venv,dev) && "$$python" -m ruff check . && "$$python" -m ruff format --check .

format:
	@$(call venv,dev) && "$$python" -m ruff check --fix . && "$$python" -m ruff format .

types:
	@$(call venv,dev) && "$$python" -m pyrefly check

floors:
	@$(call venv,test) && "$$python" dev/floors.py

sizes:
	@$(call venv,test) && "$$python" dev/sizes.py

# ARGS="--only 'kernels|loops' --rounds 9 --json out.json"; BENCH_JAX_PYTHON has jax if $(VENV) has not.
bench:
	@$(call venv,test$(,)examples$(,)oracle) && "$$python" -m dev.bench $(ARGS)

# F=module:function X="jnp.ones(3), 2.0" AT=stages
show:
	@$(call venv,test) && "$$python" dev/show.py "$(F)" $(if $(X),--args "$(X)") $(if $(AT),--at "$(AT)") $(ARGS)

golden:
	@$(call venv,test$(,)examples$(,)oracle) && "$$python" -m tests.golden.rewrite $(ARGS)

# The examples in documents and docstrings run first; the site is in build/site.
docs:
	@$(call venv,docs$(,)test) && $(pytest) -q tests/meta/test_docs.py && \
		"$$python" -m mkdocs build --strict --site-dir build/site

# The seed chapters, where they are beside the repository; ARGS=--record raises the floor.
conformance:
	@$(call venv,test$(,)examples$(,)oracle) && "$$python" dev/conformance.py $(ARGS)

package:
	@$(call venv,dev) && dev/package_check.sh "$$python"

clean:
	rm -rf .venv .venv-eco .venv-torch .venv-lowest build dist .pytest_cache .ruff_cache

, := ,

"""`import jax` without JAX: programs, modules, missing names, and when JAX is loaded already."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import jax
import jax.numpy as jnp
import jax.flatten_util
from jax import lax, random
from jax.scipy.special import ndtr
from jax.sharding import Mesh, PartitionSpec as P
from jax.experimental.shard_map import shard_map

print(jax.__version__, jax.__version_info__, jax.numpy is jnp, __name__, sys.argv[1:])
print(jax.jit(jax.grad(lambda x: jnp.sin(x) * 2))(0.0), ndtr(0.0))
print(isinstance(jnp.ones(3), jax.Array), jax.jit(lambda x: isinstance(x, jax.Array))(1.0))
print(any(name.startswith("jaxlib.") for name in sys.modules))
"""
OUTPUT = """\
0.12.0.1 (0, 12, 0, 1) True __main__ ['a', '-b']
2.0 0.5
True True
False
"""


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """Run `python -m tapeless`."""
    command = [sys.executable, "-m", "tapeless", *arguments]
    root = str(Path(__file__).parents[2])
    environment = {"PYTHONPATH": root, "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)


def statements(text: str) -> str:
    """Run statements after `install_as_jax`; return what they print."""
    code = "import tapeless\ntapeless.install_as_jax()\n" + text
    environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(PROGRAM)
    done = run(str(script), "a", "-b")
    assert (done.stdout, done.stderr) == (OUTPUT, "")


def test_a_module(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run("-m", "program", "a", "-b", cwd=tmp_path).stdout == OUTPUT


def test_a_script_beside_its_own_modules(tmp_path):
    (tmp_path / "helper.py").write_text("import jax\nvalue = jax.numpy.float32(3)\n")
    (tmp_path / "script.py").write_text("import helper\nprint(helper.value)\n")
    assert run(str(tmp_path / "script.py")).stdout == "3.0\n"


def test_the_collector_does_not_look_at_this_package_while_a_script_runs(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import gc, jax\nprint(gc.isenabled(), gc.get_freeze_count() > 10_000)\n")
    assert run(str(script)).stdout == "True True\n"


@pytest.mark.parametrize("arguments", [[], ["-m"], ["nothing.py"]])
def test_a_wrong_call(arguments):
    assert run(*arguments).returncode == 2


@pytest.mark.parametrize("module", ["jax", "jax.numpy", "jax.lax"])
def test_a_missing_name_is_reported_in_jaxs_words(module):
    printed = statements(
        f"import {module}\n"
        f"try:\n    {module}.nothing\n"
        "except AttributeError as error:\n    print(error, '|', error.__notes__[0])\n"
    )
    words, _, note = printed.partition(" | ")
    assert words == f"module '{module}' has no attribute 'nothing'"
    assert "tapeless" in note


def test_a_misspelt_name_is_told_with_the_one_that_may_be_meant():
    printed = statements(
        "import jax.numpy, traceback\n"
        "try:\n    jax.numpy.reshap\n"
        "except AttributeError:\n    print(traceback.format_exc())\n"
    )
    if sys.version_info >= (3, 12):  # before, format_exc makes no suggestions
        assert "Did you mean: 'reshape'?" in printed
    assert "Did you mean: '__" not in printed


def test_all_public_names_of_a_module_can_be_imported_at_once():
    printed = statements(
        "from jax.numpy import *\nfrom jax.sharding import *\n"
        "print(tanh(0.0), PartitionSpec('x'), 'ufuncs' in globals(), 'names_in' in globals())"
    )
    assert printed == "0.0 P('x',) False False\n"


def test_modules_that_a_program_does_not_use_are_not_loaded():
    printed = statements(
        "import sys\nimport jax.scipy.stats\nfrom jax.scipy.stats import norm\n"
        "names = ['scipy.signal', 'scipy.optimize', 'scipy.stats.beta', 'scipy.stats.norm']\n"
        "print([f'tapeless.{name}' in sys.modules for name in names])\n"
        "print(jax.scipy.stats.beta.logpdf(0.5, 1.0, 1.0), jax.scipy.linalg.det)"
    )
    assert printed.startswith("[False, False, False, True]\n0.0 ")


def test_modules_say_which_file_they_forward_to():
    file = statements("import jax.numpy\nprint(jax.numpy.__file__)")
    assert file.strip().endswith("tapeless/numpy/__init__.py")


@pytest.mark.parametrize("name", ["jax.nothing", "jax.numpy.nothing", "jax._src.nothing"])
def test_a_missing_module(name):
    printed = statements(
        f"try:\n    import {name}\n"
        "except ModuleNotFoundError as error:\n    print(error, error.name)"
    )
    assert printed == f"No module named '{name}' {name}\n"


def test_names_that_jax_has_not_are_not_there():
    printed = statements(
        "import jax\n"
        "names = ['tree_map', 'runtime', 'kernel', 'compiler']\n"
        "print([hasattr(jax, name) for name in names], hasattr(jax.lax, 'array_text'))"
    )
    assert printed == "[False, False, False, False] False\n"


def test_installing_after_jax_was_imported_is_refused():
    code = (
        "import sys, types\nsys.modules['jax'] = types.ModuleType('jax')\n"
        "import tapeless\ntapeless.install_as_jax()"
    )
    environment = {"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert "RuntimeError: jax is imported already" in done.stderr


def test_cond_with_an_operand_per_branch():
    printed = statements(
        "import jax\n"
        "f = lambda p: jax.lax.cond(p, (1.0, 2.0), lambda x: x[0] + x[1], 5.0, lambda x: x * 2)\n"
        "print(f(True), f(False))"
    )
    assert printed == "3.0 10.0\n"


def test_a_class_that_a_library_enters_among_the_types_of_values():
    printed = statements(
        "import jax, numpy, jax.numpy as jnp\n"
        "class Variable:\n"
        "    def __array__(self, dtype=None, copy=None):\n"
        "        return numpy.float32([1.0, 2.0])\n"
        "    shape, dtype = (2,), numpy.dtype('float32')\n"
        "table = jax.core.pytype_aval_mappings\n"
        "table[Variable] = table[numpy.ndarray]\n"
        "print(jnp.add(Variable(), 1), jax.jit(lambda x: x * 2)(Variable()))\n"
        "print('pytype_aval_mappings' in dir(jax.core))"
    )
    assert printed == "[2. 3.] [2. 4.]\nTrue\n"


def test_functions_are_no_modules_and_stay_functions():
    printed = statements(
        "import jax, importlib.util\n"
        "for name in ['jax.jit', 'jax.config', 'jax.numpy.sin', 'jax.experimental.io_callback']:\n"
        "    try:\n        importlib.import_module(name)\n"
        "    except ModuleNotFoundError as error:\n        print(error)\n"
        "print(jax.jit(jax.numpy.sin)(0.0), jax.config.jax_enable_x64)\n"
        "print(importlib.util.find_spec('jax.nothing'), importlib.util.find_spec('jax.nn').name)"
    )
    assert printed == (
        "No module named 'jax.jit'\nNo module named 'jax.config'\n"
        "No module named 'jax.numpy.sin'\nNo module named 'jax.experimental.io_callback'\n"
        "0.0 False\nNone jax.nn\n"
    )


@pytest.mark.parametrize("module", ["jax.interpreters.ad", "jax.version", "jax.experimental"])
def test_modules_reached_by_attributes_are_those_that_are_imported(module):
    printed = statements(
        "import jax, importlib, jax.interpreters, jax.experimental\n"
        f"print({module} is importlib.import_module({module!r}))\n"
        f"try:\n    {module}.nothing\n"
        "except AttributeError as error:\n    print(error, len(error.__notes__))\n"
    )
    assert printed == f"True\nmodule '{module}' has no attribute 'nothing' 1\n"


def test_a_module_that_another_finder_has_is_not_loaded():
    printed = statements(
        "import sys, types, importlib.machinery\n"
        "class Editable:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        return importlib.machinery.ModuleSpec(name, self)\n"
        "    def create_module(self, spec):\n        print('created')\n"
        "sys.meta_path.append(Editable())\n"
        "try:\n    import jax.nothing\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    assert printed == "No module named 'jax.nothing'\n"


def test_a_program_stays_the_main_module_when_it_has_ended(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import atexit, pickle, __main__\n"
        "class Point:\n    pass\n"
        "atexit.register(lambda: print(type(pickle.loads(pickle.dumps(Point()))) is Point))\n"
        "print(__main__.Point is Point, __file__, __package__, __spec__)\n"
    )
    done = run("script.py", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"True {script} None None\nTrue\n", "")


def test_a_directory_an_archive_and_a_package(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    text = "import sys, jax\nprint(sys.argv, sys.path[0], __package__, jax.__version__)\n"
    (package / "__main__.py").write_text(text)
    shutil.make_archive(str(tmp_path / "archive"), "zip", package)
    main, end = package / "__main__.py", "0.12.0.1\n"
    directory = run("package", "a", cwd=tmp_path)
    assert directory.stdout == f"['package', 'a'] {package}  {end}"
    archive = run("archive.zip", cwd=tmp_path)
    assert archive.stdout == f"['archive.zip'] {tmp_path / 'archive.zip'}  {end}"
    (package / "__init__.py").touch()
    module = run("-m", "package", "a", cwd=tmp_path)
    assert module.stdout == f"['{main}', 'a'] {tmp_path} package {end}"


def test_what_cannot_be_run_is_said_in_a_line(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "wrong.py").write_text("def f(:\n")
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    assert run("-m", "nothing").stderr == "python -m tapeless: No module named 'nothing'\n"
    done = run("empty", cwd=tmp_path)
    assert done.stderr == "python -m tapeless: can't find '__main__' module in 'empty'\n"
    assert (run("-m", "nothing").returncode, done.returncode) == (1, 1)
    done = run("wrong.py", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f'  File "{tmp_path}/wrong.py", line 1\n')
    assert "Traceback" in run("-m", "broken", cwd=tmp_path).stderr


def test_processes_that_a_program_starts_have_the_same_jax(tmp_path):
    (tmp_path / "script.py").write_text(
        "import multiprocessing, pickle, sys\n"
        "import jax.numpy as jnp\n"
        "def work(module):\n"
        "    return type(module.ones(1)).__module__, 'jaxlib._jax' in sys.modules\n"
        "if __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
        "        print(pool.map(work, [jnp]))\n"
    )
    done = run("script.py", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("[('tapeless.runtime.array', False)]\n", "")


def test_names_that_jax_removed_say_what_to_use():
    printed = statements(
        "import jax\n"
        "try:\n    jax.device_put_replicated\n"
        "except AttributeError as error:\n    print(error)"
    )
    assert printed.startswith(
        "jax.device_put_replicated is deprecated; use jax.device_put instead."
    )


def test_linear_algebra_of_sparse_arrays_is_an_attribute():
    assert statements("import jax.scipy as jsp\nprint(jsp.sparse.linalg.cg.__name__)") == "cg\n"

"""Modules that are imported when they are used."""

import gc
import importlib
import subprocess
import sys

import pytest

import tapeless as jax
from tapeless.util import lazy


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that nobody has imported."""
    (tmp_path / "late_module.py").write_text("VALUE = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "late_module"
    sys.modules.pop("late_module", None)


def test_nothing_is_imported_before_the_first_use(module):
    late = lazy.load(module)
    assert repr(late) == "<module 'late_module', imported when used>"
    assert module not in sys.modules
    assert late.VALUE == 3
    assert module in sys.modules


def test_attributes_are_kept(module):
    late = lazy.load(module)
    assert "VALUE" not in vars(late)
    assert late.VALUE == vars(late)["VALUE"] == 3


def test_submodules_and_missing_names():
    assert lazy.load("os.path").sep == "/"
    with pytest.raises(AttributeError, match="module 'math' has no attribute 'nothing'"):
        _ = lazy.load("math").nothing
    with pytest.raises(ModuleNotFoundError):
        _ = lazy.load("no_such_module").anything


def test_dir_lists_the_module_proper():
    assert "sqrt" in dir(lazy.load("math"))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The name of a package that defers one of its modules."""
    folder = tmp_path / "late_package"
    folder.mkdir()
    head = "from tapeless.util import lazy\nlazy.defer(__name__, 'part')\n"
    (folder / "__init__.py").write_text(head + "from late_package import part as part\n")
    (folder / "part.py").write_text("VALUE = 4\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "late_package"
    for name in ("late_package", "late_package.part"):
        sys.modules.pop(name, None)


def test_a_package_imports_what_it_defers_when_it_is_used(package):
    late = lazy.now(package)
    assert f"{package}.part" not in sys.modules
    assert late.part.VALUE == 4
    assert late.part is sys.modules[f"{package}.part"]


def test_what_few_programs_need_is_not_imported_with_the_package():
    families = "random", "nn", "ops", "image", "scipy", "numpy.linalg", "lax.linalg", "extend"
    late = "numpy.fft", "runtime.xla", "kernel.nodes", "prims.panels", "prims.convlower"
    more = "numpy.quantiles", "prims.conv", "prims.special", "control.reducers", "api.jacobian"
    names = [f"tapeless.{name}" for name in (*families, *late, *more, "prims.sortloops")]
    names += ["scipy", "llvmlite", "logging", "hashlib", "traceback", "pathlib", "sysconfig"]
    code = f"import sys, tapeless; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_no_module_keeps_a_name_that_waits():
    code = (
        "import sys, tapeless; from tapeless.util import lazy; found = ["
        "(m.__name__, k) for m in list(sys.modules.values()) if m.__name__.startswith('tapeless')"
        " for k, v in vars(m).items() if isinstance(m, lazy._Unread) or isinstance(v, lazy.Later)]"
        "; print(found)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("facade", [jax.numpy, jax.lax], ids=lambda facade: facade.__name__)
def test_a_facade_has_all_names_of_the_modules_that_wait(facade):
    later = facade.__getattr__.__closure__[0].cell_contents
    assert later and all(isinstance(each, lazy.Later) for each in later.values())
    for name in {each.module for each in later.values()} - {"tapeless.control.linear_solve"}:
        module = importlib.import_module(name)
        assert {x for x, each in later.items() if each.module == name} == set(module.__all__)
        assert all(getattr(facade, each) is getattr(module, each) for each in module.__all__)


def test_a_star_imports_names_that_wait():
    namespace = {}
    exec("from tapeless.numpy import *", namespace)
    assert namespace["median"] is jax.numpy.median
    assert "median" in dir(jax.numpy) and "Later" not in dir(jax.numpy)


@pytest.fixture
def facade(tmp_path, monkeypatch):
    """The name of a package that waits for a name of one of its modules."""
    folder = tmp_path / "late_facade"
    folder.mkdir()
    head = "from tapeless.util import lazy\nlazy.defer_names('late_facade.part')\n"
    tail = "WAITING = lazy.deferred(globals())\n"
    (folder / "__init__.py").write_text(head + "from late_facade.part import VALUE\n" + tail)
    (folder / "part.py").write_text("VALUE = 5\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "late_facade"
    for name in ("late_facade", "late_facade.part"):
        sys.modules.pop(name, None)


def test_a_name_waits_until_it_is_asked_for(facade):
    module = lazy.now(facade)
    assert "VALUE" not in vars(module)
    assert f"{facade}.part" not in sys.modules
    assert module.WAITING["VALUE"].value() == 5
    assert f"{facade}.part" in sys.modules


def test_no_garbage_is_collected_during_an_import():
    frozen = gc.get_freeze_count()
    assert gc.isenabled()
    with lazy.Pause():
        assert not gc.isenabled()
        with lazy.Pause():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == frozen


def test_who_collects_no_garbage_is_left_alone():
    gc.disable()
    try:
        with lazy.Pause():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_garbage_is_collected_when_an_import_failed_and_its_error_is_kept():
    with pytest.raises(ModuleNotFoundError) as kept:
        lazy.now("tapeless.no_such_part")
    assert gc.isenabled()
    assert kept.value.name == "tapeless.no_such_part"


def test_garbage_is_collected_when_the_package_failed_to_import():
    lines = [
        "import gc, sys",
        "sys.modules['tapeless.numpy.sorting'] = None",
        "try:",
        "    import tapeless",
        "except ImportError as error:",
        "    kept = error",
        "assert gc.isenabled() and not gc.get_freeze_count()",
        "del sys.modules['tapeless.numpy.sorting']",
        "import tapeless",
        "assert gc.isenabled() and kept and tapeless.numpy.median(tapeless.numpy.arange(5)) == 2",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)

"""The switches: settings, overrides of one thread, and wrong names and values."""

import os
import subprocess
import sys
import threading

import pytest

from tapeless import config


def read_in_fresh_process(expression, *arguments, **environment):
    """Return what `expression` prints in a new process with more in its environment."""
    program = f"from tapeless import config; config.parse_flags_with_absl(); print({expression})"
    run = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout.strip() or run.stderr.strip().splitlines()[-1]


@pytest.fixture
def log_compiles():
    """Set `jax_log_compiles`, and clear it at the end."""
    config.update("jax_log_compiles", True)
    yield
    config.update("jax_log_compiles", False)


def test_an_update_is_seen_by_every_reader(log_compiles):
    assert config.jax_log_compiles is True
    assert config.read("jax_log_compiles") is True
    assert config.log_compiles.value is True
    assert config.current.jax_log_compiles is True
    assert config.values["jax_log_compiles"] is True


def test_an_update_is_seen_by_other_threads_and_an_override_is_not(log_compiles):
    seen = []
    with config.enable_x64(True):
        thread = threading.Thread(
            target=lambda: seen.extend([config.jax_log_compiles, config.x64_enabled])
        )
        thread.start()
        thread.join()
    assert seen == [True, False]


def test_overrides_nest_and_end():
    with config.enable_x64(True):
        with config.enable_x64(False):
            assert not config.x64_mode()
        assert config.x64_mode()
    assert not config.x64_mode()


def test_an_override_ends_after_an_error():
    with pytest.raises(ZeroDivisionError), config.debug_nans(True):
        raise ZeroDivisionError
    assert config.jax_debug_nans is False


def test_overrides_decorate_functions():
    @config.enable_x64(True)
    def f(depth):
        return [config.x64_mode(), *(f(depth - 1) if depth else [])]

    assert f(2) == [True] * 3
    assert not config.x64_mode()


def test_bool_options_default_to_true():
    with config.debug_nans(), config.checking_leaks(), config.disable_jit():
        assert config.jax_debug_nans
        assert config.jax_check_tracer_leaks
        assert config.jax_disable_jit


def test_other_options_want_a_value():
    with pytest.raises(TypeError, match="numpy_rank_promotion config option requires an argument"):
        config.numpy_rank_promotion()


def test_an_option_is_not_its_value():
    with pytest.raises(TypeError, match=r"bool\(\) not supported"):
        bool(config.enable_x64)


def test_the_general_transfer_guard_sets_the_others():
    with config.transfer_guard("log"):
        assert config.jax_transfer_guard_host_to_device == "log"
    assert config.jax_transfer_guard_host_to_device is None


def test_unknown_names():
    for call in (lambda: config.update("foo", 1), lambda: config.read("foo")):
        with pytest.raises(AttributeError, match="Unrecognized config option: foo"):
            call()
    with pytest.raises(AttributeError, match="'Config' object has no attribute 'jax_foo'"):
        _ = config.jax_foo


def test_assignment_is_refused():
    with pytest.raises(AttributeError, match=r"config.update\('jax_enable_x64', True\)"):
        config.jax_enable_x64 = True


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("jax_numpy_rank_promotion", "bad", ValueError, "new enum value must be in .'allow'"),
        ("jax_default_matmul_precision", "bad", ValueError, "must be None or in .'default'"),
        ("jax_compilation_cache_dir", 3, TypeError, "must be None or of type str, got 3"),
        ("jax_random_seed_offset", "x", ValueError, "must be None or of type int, got x"),
        ("jax_default_device", 3, ValueError, "must be passed either a Device object"),
        ("jax_platforms", "cuda", NotImplementedError, "the only platform is cpu"),
        ("jax_num_cpu_devices", "x", ValueError, "must be None or of type int, got x"),
    ],
)
def test_wrong_values(name, value, error, message):
    before = config.read(name)
    with pytest.raises(error, match=message):
        config.update(name, value)
    assert config.read(name) == before


def test_settings_that_change_nothing_are_remembered():
    config.update("jax_use_magma", "off")
    assert config.read("jax_use_magma") == "off"
    config.update("jax_use_magma", "auto")
    assert not config.flags["jax_use_magma"].effective


def test_trace_contexts_are_one_object_for_equal_settings():
    plain = config.trace_context()
    assert config.trace_context() is plain
    with config.enable_x64(True):
        wide = config.trace_context()
        assert wide is not plain
        assert wide.as_dict()["jax_enable_x64"] is True
    assert config.trace_context() is plain
    with config.enable_x64(True):
        assert config.trace_context() is wide


def test_an_update_elsewhere_renews_the_trace_context():
    plain = config.trace_context()
    setter = threading.Thread(target=config.update, args=("jax_debug_infs", True))
    setter.start()
    setter.join()
    try:
        assert config.trace_context() is not plain
    finally:
        config.update("jax_debug_infs", False)
    assert config.trace_context() is plain


@pytest.mark.parametrize(
    ("environment", "expression", "printed"),
    [
        ({"JAX_ENABLE_X64": "On"}, "config.jax_enable_x64", "True"),
        ({"JAX_ENABLE_X64": "0"}, "config.jax_enable_x64", "False"),
        ({"JAX_DEFAULT_MATMUL_PRECISION": "high"}, "config.jax_default_matmul_precision", "high"),
        ({"TAPELESS_NUM_THREADS": "3"}, "config.tapeless_num_threads", "3"),
    ],
)
def test_the_environment_sets_flags(environment, expression, printed):
    assert read_in_fresh_process(expression, **environment) == printed


def test_wrong_values_in_the_environment():
    message = read_in_fresh_process("0", JAX_ENABLE_X64="zz")
    assert message == "ValueError: invalid truth value 'zz' for environment 'JAX_ENABLE_X64'"
    message = read_in_fresh_process("0", JAX_NUMPY_RANK_PROMOTION="zz")
    words = 'Invalid value "zz" for JAX flag jax_numpy_rank_promotion: new enum value must be in'
    assert message.startswith(f"ValueError: {words} ['allow', 'warn', 'raise']")


def test_unknown_stages_are_refused():
    message = read_in_fresh_process("0", TAPELESS_SHOW="stage,kernel")
    assert "words must be in ['stage', 'jvp'," in message
    assert message.endswith("got 'kernel'")
    shown = "config.tapeless_show"
    assert read_in_fresh_process(shown, TAPELESS_SHOW="stage,kernels") == "stage,kernels"


def test_flags_on_the_command_line():
    assert read_in_fresh_process("config.jax_debug_nans", "--jax_debug_nans", "file") == "True"
    assert read_in_fresh_process("config.x64_enabled", "--jax_enable_x64=true") == "True"

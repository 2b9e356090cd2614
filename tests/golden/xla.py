"""Running StableHLO text with XLA, through the internals of the jax that is the oracle."""

from collections.abc import Sequence

import numpy as np

__all__ = ["run_text"]


def run_text(text: str, args: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Parse, verify, compile and run a module on the CPU."""
    import jax
    from jax._src import compiler, xla_bridge
    from jax._src.interpreters import mlir
    from jax._src.lib import _jax
    from jaxlib.cpu import _lapack
    from jaxlib.mlir import ir

    _lapack.initialize()  # else a call of LAPACK is a jump to nowhere
    backend = xla_bridge.get_backend("cpu")
    devices = _jax.DeviceList(tuple(backend.local_devices()[:1]))
    options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        module.operation.verify()
        executable = backend.compile_and_load(module, devices, options)
    with jax.enable_x64(True):
        outs = executable.execute([jax.device_put(np.asarray(arg)) for arg in args])
    return [np.asarray(out) for out in outs]

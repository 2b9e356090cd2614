"""Programs for eight devices: the same lines as JAX prints where it has as many CPU devices.

Each line below is an expression; both sides print its value, or the class and start of its error.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.oracle

SETUP = """
import sys
import jax
jax.config.update("jax_num_cpu_devices", 8)
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec as P

AUTO = (AxisType.Auto,) * 2
mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=AUTO)
keys = jax.random.split(jax.random.key(0), 8)
x = np.arange(64, dtype="float32").reshape(8, 8)

def on(*entries):
    return NamedSharding(mesh, P(*entries))

def put(*entries):
    return jax.device_put(x, on(*entries))

def shards(a):
    return [(s.device.id, s.index, s.replica_id, s.data.tolist()) for s in a.addressable_shards]

def datas(a):
    return [s.data for s in a.addressable_shards]

def parts(f, ins, outs, *args, **options):
    return shard_map(f, mesh=mesh, in_specs=ins, out_specs=outs, **options)(*args)

def with_mesh(f, *args):
    with jax.set_mesh(mesh):
        return f(*args)

def inside():
    seen = []
    parts(lambda p: (seen.append(jax.sharding.get_abstract_mesh()), p)[1], P("x"), P("x"), x)
    return seen

for line in sys.stdin:
    try:
        text = str(eval(line)).replace(chr(10), " ")
    except Exception as error:
        text = f"{type(error).__name__}: {str(error)[:150].partition(chr(10))[0]}"
    print("=", text)  # JAX prints lines of its own, too
"""

LINES = """
jax.devices(), str(jax.devices()[7]), jax.device_count(), jax.local_device_count()
mesh, str(mesh), mesh.shape, mesh.size, mesh.device_ids.tolist(), mesh.abstract_mesh
mesh == Mesh(np.array(jax.devices()).reshape(2, 4), "x y".split())
mesh == jax.make_mesh((2, 4), ("x", "y"))
jax.make_mesh((16,), ("x",))
jax.make_mesh((2, 4), ("x",))
jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,))
Mesh(np.array(jax.devices()), (None,))
Mesh(np.array(jax.devices()), ("x",), axis_types=3)
repr(AxisType.Auto), str(AxisType.Explicit)
P("x", None, ("x", "y"), ("y",)), P(P.UNCONSTRAINED), P("x", unreduced={"y"}), P(("x",)) == P("x")
P("x", unreduced="y")
shards(put("x"))
shards(put(None, "y"))
shards(put("y", "x"))
shards(put(("x", "y")))
shards(put(None, ("y", "x")))
[put(*s).is_fully_replicated for s in [(), ("x",), (None, "y")]], put("x").sharding, put("x").device
sorted(d.id for d in put("x").devices()), put("x").addressable_data(5).tolist()
on("x").shard_shape((8, 8)), on("x", None, None).shard_shape((8, 8)), on("y").num_devices
on("y").shard_shape((7, 8))
on("x").is_equivalent_to(on("x", None), 2), on("x").is_equivalent_to(on("y"), 2), on() == on("x")
jax.device_put(x, jax.devices()[3]).sharding, jax.device_put(x, jax.devices()[3]).committed
jax.device_put(np.ones(7), on(("x", "y")))
jax.device_put(np.ones(8), on("x", "y"))
jax.make_array_from_callback((8, 8), on("x", "y"), lambda i: x[i]).sum()
(lambda a: jax.make_array_from_single_device_arrays((8, 8), a.sharding, datas(a)).sum())(put("x"))
with_mesh(lambda: jax.device_put(x, P("x")).sharding)
with_mesh(lambda: lax.with_sharding_constraint(jnp.asarray(x), P("x", "y")).sharding)
with_mesh(lambda: jax.jit(lambda a: a * 2, in_shardings=P("x"), out_shardings=P("y"))(x).sharding)
jax.jit(lambda: jax.set_mesh(mesh))()
jax.sharding.get_mesh(), jax.sharding.get_abstract_mesh()
lax.with_sharding_constraint(x, P("x"))
jax.jit(lambda a: a, in_shardings=on("x"))(put(None, "y"))
jax.jit(lambda a, b: a, in_shardings=(on("x"),) * 3)(x, x)
jax.jit(lambda a: a, in_shardings=3)(x)
jax.jit(lambda a: a, in_shardings=P("x"))(x)
jax.jit(lambda a: a + 1, donate_argnums=0)(put("x")).sum()
parts(lambda p: lax.psum(p, "x"), P("x", "y"), P(None, "y"), x).tolist()
parts(lambda: lax.axis_index("x").reshape(1) * 10 + lax.axis_index("y"), (), P(("x", "y"))).tolist()
parts(lambda p: lax.all_gather(p, "y", axis=1, tiled=True), P("x", "y"), P("x"), x, check_vma=False)
parts(lambda p: lax.psum_scatter(p, "y", tiled=True), P("x"), P(("x", "y")), x).tolist()
parts(lambda p: lax.all_to_all(p, "y", 0, 1, tiled=True), P(None, "y"), P("y", None), x).tolist()
parts(lambda p: lax.ppermute(p, "y", [(i, i ^ 1) for i in range(4)]), P("x", "y"), P("x", "y"), x)
parts(lambda p: lax.pmean(p, ("x", "y")), P("x", "y"), P(), x).tolist()
parts(lambda p: p * 2, P("x", "y"), P("x", "y"), x).sharding
parts(lambda p: lax.psum(p, "x"), P("x"), P(), x, axis_names={"x"}).shape
parts(lambda p: jnp.ones(2), P("x"), P("x"), x).tolist()
parts(lambda p: lax.cond(lax.axis_index("x") == 0, lambda: p, lambda: -p), P("x"), P("x"), x).sum()
parts(lambda k: jax.random.uniform(k[0], (1,)), P(("x", "y")), P(("x", "y")), keys)
jax.grad(lambda a: parts(lambda p: lax.psum((p**2).sum(), "x"), P("x"), P(), a))(x).tolist()
inside()
jax.jit(lambda a: parts(lambda p: p, P("x"), P(), a))(x)
parts(lambda p: p, P("x"), P(), x, check_vma=False).shape
parts(lambda p: p, P("x", None, None), P("x"), x)
parts(lambda p: p.sum(), P("x", "y"), P("x"), x)
parts(lambda p: p, P(("x", "y")), P(("x", "y")), np.ones(7))
parts(lambda p: p, P("z"), P("x"), x, axis_names={"x"})
parts(lambda p: p, "x", P("x"), x)
shard_map(lambda p: p, mesh=3, in_specs=P(), out_specs=P())(x)
jax.pmap(lambda a: lax.psum(a, "i"), axis_name="i")(x).tolist()
jax.pmap(lambda a: a, out_axes=1)(x).sharding, jax.pmap(lambda a: a, axis_name="i")(x[:4]).sharding
sorted(d.id for d in jax.pmap(lambda a: a, devices=jax.devices()[1:3])(x[:2]).devices())
jax.pmap(lambda a: a)(1.0)
"""


def printed(command: list[str], program: str) -> list[str]:
    """Return what the lines print under one of the two."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*command, program], input=LINES.strip(), capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if line.startswith("= ")]


def test_lines_print_what_jax_prints(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(SETUP)
    expected = printed([sys.executable, "-W", "ignore"], str(program))
    found = printed([sys.executable, "-m", "tapeless"], str(program))
    assert len(expected) == len(LINES.strip().splitlines())
    pairs = zip(LINES.strip().splitlines(), found, expected, strict=True)
    different = [known for known in pairs if known[1] != known[2]]
    assert not different

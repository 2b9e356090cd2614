"""Mistakes: programs that must fail, one expression each, by topic.

They are those of JAX's pages on errors and on sharp bits, and the common mistakes with shapes,
dtypes, axes, indices, transformations, derivatives, rules of the user's own and control flow.  `np` is NumPy; `jax`, `jnp`, `lax`,
`random`, `jit`, `grad` and `vmap` are of the library under test.
"""

# ruff: noqa: E501  # a case is a line

from __future__ import annotations

__all__ = ["CASES"]

TABLES = {
    "the page of errors": """
mask as an index               jit(lambda x: x[x > 0])(jnp.arange(3))
mask in an update              jit(lambda x: x.at[x > 0].set(1))(jnp.arange(3))
mask in a read                 jit(lambda x: x.at[x > 0].get())(jnp.arange(3))
numpy function                 jit(lambda x: np.sin(x))(1.0)
numpy array with traced index  jit(lambda i: np.arange(3)[i])(1)
range                          jit(lambda x, n: [x for _ in range(n)])(1.0, 3)
list with traced index         jit(lambda i: [1, 2, 3][i])(1)
if                             jit(lambda x, y: x if x.sum() < y.prod() else y)(jnp.ones(4), jnp.zeros(4))
and                            jit(lambda x: x > 0 and x < 1)(1.0)
if on a vector                 jit(lambda x: 1 if x else 2)(jnp.ones(3))
if on an empty vector          jit(lambda x: 1 if x else 2)(jnp.ones(0))
while on rows                  vmap(lambda x: x if x > 0 else -x)(jnp.ones((3, 2)))
in                             jit(lambda x: x in [1, 2])(1.0)
not                            jit(lambda x: not x)(1.0)
assertion on an array          bool(jnp.arange(3))
axis                           jit(lambda x, axis: x.min(axis))(jnp.arange(3), 0)
arange                         jit(lambda n: jnp.arange(n))(3)
linspace                       jit(lambda n: jnp.linspace(0, 1, n))(3)
shape                          jit(lambda n: jnp.zeros(n))(3)
reshape                        jit(lambda x, n: x.reshape(n, 2))(jnp.zeros(4), 2)
nonzero                        jit(lambda x: jnp.nonzero(x))(jnp.arange(3))
unique                         jit(lambda x: jnp.unique(x))(jnp.arange(3))
where with one argument        jit(lambda x: jnp.where(x))(jnp.arange(3))
argwhere                       jit(lambda x: jnp.argwhere(x))(jnp.arange(3))
repeat                         jit(lambda x, n: jnp.repeat(x, n))(jnp.arange(3), jnp.array([1, 2, 3]))
slice                          jit(lambda x, n: x[:n])(jnp.arange(3), 2)
float                          jit(lambda x: float(x))(1.0)
int                            jit(lambda x: int(x))(1.0)
complex                        jit(lambda x: complex(x))(1.0)
item                           jit(lambda x: x.item())(1.0)
tolist                         jit(lambda x: x.tolist())(jnp.ones(2))
asarray                        jit(lambda x: np.asarray(x))(1.0)
list of tracers to numpy       jit(lambda x: np.array([x, x]))(1.0)
grad of numpy                  grad(lambda x: np.sin(x))(1.0)
grad of float                  grad(lambda x: float(x) * x)(1.0)
if in vmap                     vmap(lambda x: x if x > 0 else -x)(jnp.ones(3))
float in vmap                  vmap(lambda x: float(x))(jnp.ones(3))
numpy in vmap                  vmap(lambda x: np.sin(x))(jnp.ones(3))
if in vmap in jit              jit(vmap(lambda x: x if x > 0 else -x))(jnp.ones(3))
if in grad in jit              jit(grad(lambda x: x if x > 0 else -x))(1.0)
if in a branch                 lax.cond(True, lambda x: x if x > 0 else -x, lambda x: x, 1.0)
if in a scan                   lax.scan(lambda c, k: (c if c > 0 else -c, None), 1.0, jnp.ones(3))
if in a condition              lax.while_loop(lambda c: True if c < 3 else False, lambda c: c + 1, 0)
leak of jit                    [jit(lambda x: (kept.append(x + 1), x)[1])(1.0), kept[0] + 1]
leak into jit                  [jit(lambda x: (kept.append(x + 1), x)[1])(1.0), jit(lambda x: kept[0] + x)(1.0)]
leak of grad                   [grad(lambda x: (kept.append(x * 2), x)[1])(1.0), kept[0] + 1]
leak of vmap                   [vmap(lambda x: (kept.append(x * 2), x)[1])(jnp.ones(2)), kept[0] + 1]
leak of scan                   [lax.scan(lambda c, k: (c, kept.append(k * 2)), 1.0, jnp.ones(2)), kept[0] + 1]
leak as a result               [jit(lambda x: (kept.append(x * 2), x)[1])(1.0), jit(lambda x: kept[0])(1.0)]
truth of a leak                [jit(lambda x: (kept.append(x * 2), x)[1])(1.0), bool(kept[0])]
array of a leak                [jit(lambda x: (kept.append(x * 2), x)[1])(1.0), np.asarray(kept[0])]
checked leak                   jax.checking_leaks()(jit(lambda x: (kept.append(x * 2), x)[1]))(1.0)
""",
    "sharp bits": """
assignment                     operator.setitem(jnp.zeros(3), 0, 1)
assignment in jit              jit(lambda x: operator.setitem(x, 0, 1))(jnp.zeros(3))
deletion                       operator.delitem(jnp.zeros(3), 0)
sum of a list                  jnp.sum([1, 2, 3])
sin of a list                  jnp.sin([1.0, 2.0])
sum of None                    jnp.sum(None)
addition of None               jnp.add(None, 1)
sin of a dictionary            jnp.sin({})
array of objects               jnp.array([object()])
array of uneven lists          jnp.array([[1, 2], [3]])
float as an index              jnp.arange(3)[1.5]
floats as indices              jnp.arange(3)[jnp.array([1.0])]
too many indices               jnp.arange(3)[1, 2]
string as an index             jnp.arange(3)["a"]
list as an index               jnp.arange(3)[[0, 1]]
mask of another length         jnp.arange(3)[jnp.array([True, False])]
integer that is too large      jnp.array(2**40)
constant that is too large     jnp.ones(2, int) + 2**40
hash of an array               {jnp.ones(2): 1}
hash of a tracer               jit(lambda x: {x: 1})(1.0)
iteration over a scalar        list(jnp.float32(1))
iteration over a traced scalar jit(lambda x: list(x))(1.0)
len of a scalar                len(jnp.float32(1))
len of a traced scalar         jit(lambda x: len(x))(1.0)
float of a vector              float(jnp.arange(3))
int of a vector                int(jnp.arange(3))
missing attribute              jnp.arange(3).foo
missing attribute of a tracer  jit(lambda x: x.foo)(1.0)
missing function               jnp.foo
deleted array                  [x := jnp.ones(2), x.delete(), x + 1]
donated array                  [x := jnp.ones(2), jit(lambda x: x + 1, donate_argnums=0)(x), x + 1]
strict promotion               jax.numpy_dtype_promotion("strict")(lambda: jnp.ones(2) + jnp.ones(2, int))()
strict ranks                   jax.numpy_rank_promotion("raise")(lambda: jnp.ones((2, 2)) + jnp.ones(2))()
update without an index        jnp.zeros(2).at.set(1)
update that does not fit       jnp.zeros(2).at[:].set(jnp.ones(3))
key that is a number           random.normal(3, (2,))
key of floats                  random.normal(jnp.ones((2,)), (2,))
key that is a batch            random.normal(random.split(random.key(0)), (2,))
shape of random numbers        random.normal(random.key(0), 2.5)
integers of a float type       random.randint(random.key(0), (2,), 0, 10, dtype=float)
""",
    "shapes": """
addition                       jnp.ones((2, 3)) + jnp.ones((4,))
add                            jnp.add(jnp.ones((2, 3)), jnp.ones((4, 3)))
lax.add                        lax.add(jnp.ones((2, 3)), jnp.ones((4, 3)))
lax.add of other ranks         lax.add(jnp.ones((2, 3)), jnp.ones((3,)))
lax.add of other dtypes        lax.add(jnp.ones((2, 3)), jnp.ones((2, 3), int))
matmul                         jnp.ones((2, 3)) @ jnp.ones((4,))
matmul of a scalar             jnp.matmul(1.0, jnp.ones(3))
dot                            jnp.dot(jnp.ones((2, 3)), jnp.ones((2, 3)))
einsum                         jnp.einsum("ij,jk->ik", jnp.ones((2, 3)), jnp.ones((2, 3)))
reshape to another size        jnp.ones(6).reshape(4, 2)
reshape with a rest            jnp.ones(6).reshape(4, -1)
reshape with two rests         jnp.ones(6).reshape(-1, -1)
concatenate                    jnp.concatenate([jnp.ones((2, 3)), jnp.ones((2, 4))])
concatenate other ranks        jnp.concatenate([jnp.ones((2, 3)), jnp.ones((2,))])
concatenate nothing            jnp.concatenate([])
concatenate along no axis      jnp.concatenate([jnp.ones(2)], axis=1)
stack                          jnp.stack([jnp.ones((2, 3)), jnp.ones((2, 4))])
sum along no axis              jnp.ones(3).sum(1)
sum twice along an axis        jnp.ones((3, 3)).sum((0, 0))
transpose twice an axis        jnp.transpose(jnp.ones((2, 3)), (0, 0))
transpose too few axes         jnp.transpose(jnp.ones((2, 3)), (0,))
expand_dims                    jnp.expand_dims(jnp.ones(3), 4)
squeeze                        jnp.squeeze(jnp.ones((2, 3)), 0)
broadcast_to                   jnp.broadcast_to(jnp.ones((3,)), (2, 4))
where                          jnp.where(jnp.ones(3) > 0, jnp.ones(2), jnp.ones(3))
split                          jnp.split(jnp.ones(5), 2)
clip of nothing                jnp.clip()
argmax of nothing              jnp.argmax(jnp.ones(0))
max of nothing                 jnp.max(jnp.ones(0))
pad                            jnp.pad(jnp.ones(2), (1, 2, 3))
pad mode                       jnp.pad(jnp.ones(2), 1, mode="foo")
dynamic_slice                  lax.dynamic_slice(jnp.ones(3), (0,), (4,))
dynamic_slice with two starts  lax.dynamic_slice(jnp.ones(3), (0, 1), (2,))
dynamic_update_slice           lax.dynamic_update_slice(jnp.ones(3), jnp.ones(4), (0,))
slice past the end             lax.slice(jnp.ones(3), (0,), (4,))
convolution                    lax.conv(jnp.ones((1, 2, 3, 3)), jnp.ones((1, 3, 2, 2)), (1, 1), "SAME")
cholesky                       jnp.linalg.cholesky(jnp.ones((2, 3)))
inverse                        jnp.linalg.inv(jnp.ones((2, 3)))
determinant                    jnp.linalg.det(jnp.ones((2, 3)))
solve                          jnp.linalg.solve(jnp.ones((2, 2)), jnp.ones(3))
dtype that is none             jnp.ones(2).astype("foo")
dtype object                   jnp.ones(2, dtype=object)
shape that is a string         jnp.zeros("a")
shape with a float             jnp.zeros((2.5,))
full                           jnp.full((2,), jnp.ones(3))
unknown argument               jnp.sum(jnp.ones(2), foo=1)
missing argument               jnp.sum()
out                            jnp.sum(jnp.ones(2), out=1)
""",
    "transformations": """
jit of no function             jit(3)
grad of no function            grad(3)
vmap of no function            vmap(3)
jit of a string                jit(lambda x: x)("a")
jit that returns a string      jit(lambda x: "a")(1.0)
static list                    jit(lambda x: x, static_argnums=0)([1])
static argument that is not    jit(lambda x: x, static_argnums=3)(1.0)
static name that is not        jit(lambda x: x, static_argnames="y")(1.0)
grad of integers               grad(lambda x: x)(1)
grad of a vector               grad(lambda x: x)(jnp.ones(2))
grad to integers               grad(lambda x: x.astype(int))(1.0)
grad of complex numbers        grad(lambda x: x * 1j)(1.0)
grad of a missing argument     grad(lambda x: x, argnums=2)(1.0)
jvp of other dtypes            jax.jvp(jnp.sin, (1.0,), (1,))
jvp of other shapes            jax.jvp(jnp.sin, (1.0,), (jnp.ones(2),))
jvp without tuples             jax.jvp(jnp.sin, 1.0, 1.0)
vjp of another shape           jax.vjp(jnp.sin, 1.0)[1](jnp.ones(2))
vmap of other sizes            vmap(lambda x, y: x)(jnp.ones(2), jnp.ones(3))
vmap of a scalar               vmap(lambda x: x)(1.0)
vmap with too many axes        vmap(lambda x: x, in_axes=(0, 0))(jnp.ones(2))
vmap along no axis             vmap(lambda x: x, in_axes=5)(jnp.ones(2))
trees of other lengths         jax.tree.map(lambda x, y: x, [1, 2], [1, 2, 3])
trees of other keys            jax.tree.map(lambda x, y: x, {"a": 1}, {"b": 1})
axis name that is not          lax.psum(1.0, "i")
axis name of another map       vmap(lambda x: lax.psum(x, "j"), axis_name="i")(jnp.ones(2))
custom_vjp without rules       grad(jax.custom_vjp(lambda x: x))(1.0)
custom_jvp without rules       grad(jax.custom_jvp(lambda x: x))(1.0)
""",
    "control flow": """
scan with another type         lax.scan(lambda c, x: (c + 1.0, None), jnp.int32(1), jnp.ones(3))
scan with another structure    lax.scan(lambda c, x: ((c, c), None), 1, jnp.ones(3))
scan without a pair            lax.scan(lambda c, x: c, 1, jnp.ones(3))
scan of other lengths          lax.scan(lambda c, x: (c, None), 1, (jnp.ones(3), jnp.ones(4)))
scan of another length         lax.scan(lambda c, x: (c, None), 1, jnp.ones(3), length=4)
scan of nothing                lax.scan(lambda c, x: (c, None), 1, None)
while with another type        lax.while_loop(lambda c: c < 3, lambda c: c + 1.0, jnp.int32(0))
while without a truth value    lax.while_loop(lambda c: c, lambda c: c + 1.0, 0.0)
branches of other structures   lax.cond(True, lambda x: x, lambda x: (x, x), 1.0)
branches of other types        lax.cond(True, lambda x: 1, lambda x: x, 1.0)
cond on a vector               lax.cond(jnp.ones(2), lambda x: x, lambda x: x, 1.0)
switch on a float              lax.switch(1.0, [lambda x: x, lambda x: x], 1.0)
switch without branches        lax.switch(1, [], 1.0)
fori_loop of another structure lax.fori_loop(0, 3, lambda i, c: (c, c), 1.0)
grad of a while loop           grad(lambda x: lax.while_loop(lambda c: c < 3, lambda c: c * x, 1.0))(3.0)
""",
    "derivatives": """
vjp tree                       jax.vjp(lambda x: (x, x), 1.0)[1](1.0)
vjp tree 2                     jax.vjp(lambda x: {"a": x}, 1.0)[1]({"b": 1.0})
vjp dtype                      jax.vjp(jnp.sin, jnp.float32(1))[1](jnp.float16(1))
vjp int ct                     jax.vjp(jnp.sin, jnp.float32(1))[1](1)
vjp dtype complex              jax.vjp(jnp.sin, jnp.float32(1))[1](jnp.complex64(1))
vjp ct string                  jax.vjp(lambda x: x, 1.0)[1]("a")
vjp aux                        jax.vjp(lambda x: x, 1.0, has_aux=True)
jvp tree                       jax.jvp(lambda x: x, (1.0,), (1.0, 2.0))
jvp tree2                      jax.jvp(lambda x: x, ((1.0,),), (1.0,))
jvp int tangents               jax.jvp(lambda x: x, (1,), (1,))
jvp int tangents f             jax.jvp(lambda x: x, (1,), (1.0,))
lin shape                      jax.linearize(jnp.sin, 1.0)[1](jnp.ones(3))
lin dtype                      jax.linearize(jnp.sin, 1.0)[1](1)
lin tree                       jax.linearize(jnp.sin, 1.0)[1](1.0, 2.0)
linear_transpose nonlinear     jax.linear_transpose(jnp.sin, 1.0)(1.0)
linear_transpose ct shape      jax.linear_transpose(lambda x: x * 2, 1.0)(jnp.ones(2))
linear_transpose ct dtype      jax.linear_transpose(lambda x: x * 2, 1.0)(1)
linear_transpose ct tree       jax.linear_transpose(lambda x: x * 2, 1.0)((1.0,))
linear_transpose out dtype     jax.linear_transpose(lambda x: x.astype(int), 1.0)(1)
linear_transpose exp           jax.linear_transpose(lambda x: jnp.exp(x) * 2, jnp.ones(3))(jnp.ones(3))
linear_transpose max           jax.linear_transpose(lambda x: jnp.maximum(x, 0.0), jnp.ones(3))(jnp.ones(3))
linear_transpose while         jax.linear_transpose(lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x))[1], 1.0)(1.0)
linear_transpose of sort       jax.linear_transpose(lambda x: jnp.sort(x), jnp.ones(3))(jnp.ones(3))
linear_transpose pow           jax.linear_transpose(lambda x: x ** 3, 1.0)(1.0)
linear_transpose integer arg   jax.linear_transpose(lambda x, n: x * n, 1.0, 2)(1.0)
grad argnums tuple             grad(lambda x: x, argnums=(0, 2))(1.0)
grad argnums neg               grad(lambda x: x, argnums=-3)(1.0)
grad argnums type              grad(lambda x: x, argnums="x")(1.0)
grad argnums float             grad(lambda x: x, argnums=1.5)(1.0)
grad aux                       grad(lambda x: x, has_aux=True)(1.0)
grad aux 3                     grad(lambda x: (x, x, x), has_aux=True)(1.0)
grad tuple                     grad(lambda x: (x, x))(1.0)
grad dict                      grad(lambda x: {"a": x})(1.0)
grad none                      grad(lambda x: None)(1.0)
grad string out                grad(lambda x: "a")(1.0)
grad bool                      grad(lambda x: x)(True)
grad bool arr                  grad(lambda x: x.sum())(jnp.ones(3, bool))
grad int8                      grad(lambda x: x.sum())(jnp.ones(3, jnp.int8))
grad int in tree               grad(lambda t: t["a"] * t["b"])({"a": 1.0, "b": 2})
grad int second                grad(lambda x, n: x * n, argnums=(0, 1))(1.0, 2)
grad key                       grad(lambda k: random.normal(k))(random.key(0))
grad bool out                  grad(lambda x: x > 0)(1.0)
grad complex in                grad(lambda x: x)(1j)
grad complex in abs            grad(lambda x: x * x)(1j)
grad holo real in              grad(lambda x: x * 1j, holomorphic=True)(1.0)
grad holo real out             grad(lambda x: jnp.real(x), holomorphic=True)(1j)
grad holo int in               grad(lambda x: x * 1j, holomorphic=True)(1)
grad holo allow_int            grad(lambda x: x * 1j, holomorphic=True, allow_int=True)(1)
grad no args                   grad(lambda: 1.0)()
grad kwarg                     grad(lambda x: x)(x=1.0)
grad string arg                grad(lambda x: 1.0)("a")
grad object                    grad(lambda x: 1.0)(object())
vag vector                     jax.value_and_grad(lambda x: x)(jnp.ones(2))
vag int                        jax.value_and_grad(lambda x: x)(1)
jacfwd int                     jax.jacfwd(lambda x: x)(1)
jacrev int                     jax.jacrev(lambda x: x)(1)
jacfwd complex                 jax.jacfwd(lambda x: x)(1j)
jacrev complex                 jax.jacrev(lambda x: x * 1j)(1.0)
jacrev holo                    jax.jacrev(lambda x: x, holomorphic=True)(1.0)
jacfwd holo                    jax.jacfwd(lambda x: x, holomorphic=True)(1.0)
jacfwd holo out                jax.jacfwd(lambda x: jnp.real(x), holomorphic=True)(1j)
jacrev int out                 jax.jacrev(lambda x: x.astype(int))(1.0)
jacfwd argnums                 jax.jacfwd(lambda x: x, argnums=3)(1.0)
jacrev aux                     jax.jacrev(lambda x: x, has_aux=True)(1.0)
hessian int                    jax.hessian(lambda x: x)(1)
hessian of no function         jax.hessian(3)
jvp of no function             jax.jvp(3, (1.0,), (1.0,))
while reverse                  grad(lambda x: lax.while_loop(lambda c: c < 3, lambda c: c * x, x))(3.0)
fori dynamic                   jit(grad(lambda x, n: lax.fori_loop(0, n, lambda i, c: c * x, x)))(3.0, 3)
eigvec grad                    grad(lambda x: jnp.linalg.eig(x)[1].real.sum())(jnp.eye(3))
svd full                       grad(lambda x: jnp.linalg.svd(x, full_matrices=True)[0].sum())(jnp.ones((4, 3)))
grad of pure callback          grad(lambda x: jax.pure_callback(lambda x: x, x, x))(jnp.float32(1.0))
grad of io callback            grad(lambda x: jax.experimental.io_callback(lambda x: x, x, x))(jnp.float32(1.0))
scatter_apply grad             grad(lambda x: x.at[0].apply(jnp.sin).sum())(jnp.ones(3))
clz grad                       grad(lambda x: lax.clz(x))(1)
hessian aux                    jax.hessian(lambda x: x, has_aux=True)(1.0)
stop_gradient string           lax.stop_gradient("a")
""",
    "rules of the user's": """
custom_jvp not pair            [f := jax.custom_jvp(lambda x: x), f.defjvp(lambda p, t: p[0]), jax.jvp(f, (1.0,), (1.0,))]
custom_jvp triple              [f := jax.custom_jvp(lambda x: x), f.defjvp(lambda p, t: (p[0], t[0], 1)), jax.jvp(f, (1.0,), (1.0,))]
custom_jvp tangent shape       [f := jax.custom_jvp(lambda x: x), f.defjvp(lambda p, t: (p[0], jnp.ones(3))), jax.jvp(f, (1.0,), (1.0,))]
custom_jvp tangent dtype       [f := jax.custom_jvp(lambda x: x), f.defjvp(lambda p, t: (p[0], t[0].astype(jnp.float16))), jax.jvp(f, (1.0,), (1.0,))]
custom_jvp tangent int         [f := jax.custom_jvp(lambda x: x), f.defjvp(lambda p, t: (p[0], 1)), jax.jvp(f, (1.0,), (1.0,))]
custom_jvp tangent none        [f := jax.custom_jvp(lambda x: x), f.defjvp(lambda p, t: (p[0], None)), jax.jvp(f, (1.0,), (1.0,))]
custom_jvp tangent tuple       [f := jax.custom_jvp(lambda x: x), f.defjvp(lambda p, t: (p[0], (t[0],))), jax.jvp(f, (1.0,), (1.0,))]
custom_jvp nondiff range       jax.custom_jvp(lambda n, x: x, nondiff_argnums=(5,))(1.0, 2.0)
custom_jvp string arg          jax.custom_jvp(lambda x: 1.0)("a")
custom_jvp kwargs              jax.custom_jvp(lambda x: x)(y=1.0)
custom_vjp bwd count           [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: (x, x), lambda r, g: (g, g)), grad(f)(1.0)]
custom_vjp bwd count0          [f := jax.custom_vjp(lambda x, y: x), f.defvjp(lambda x, y: (x, x), lambda r, g: (g,)), grad(f)(1.0, 1.0)]
custom_vjp bwd not tuple       [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: (x, x), lambda r, g: g), grad(f)(1.0)]
custom_vjp bwd shape           [f := jax.custom_vjp(lambda x, y: x), f.defvjp(lambda x, y: (x, x), lambda r, g: (g, jnp.ones(3))), grad(f)(1.0, 1.0)]
custom_vjp bwd dict keys       [f := jax.custom_vjp(lambda x: x["a"]), f.defvjp(lambda x: (x["a"], x), lambda r, g: ({"b": g},)), grad(lambda x: f({"a": x}))(1.0)]
custom_vjp bwd string          [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: (x, x), lambda r, g: ("a",)), grad(f)(1.0)]
custom_vjp fwd not pair        [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: x, lambda r, g: (g,)), grad(f)(1.0)]
custom_vjp fwd triple          [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: (x, x, x), lambda r, g: (g,)), grad(f)(1.0)]
custom_vjp fwd shape           [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: (jnp.ones(3), x), lambda r, g: (g,)), grad(f)(1.0)]
custom_vjp fwd shape2          [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: (jnp.ones(3), x), lambda r, g: (g,)), grad(lambda x: f(x).sum())(1.0)]
custom_vjp fwd tree            [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: ((x, x), x), lambda r, g: (g,)), grad(f)(1.0)]
custom_vjp fwd string res      [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: (x, "a"), lambda r, g: (g,)), grad(f)(1.0)]
custom_vjp fwd string out      [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: ("a", x), lambda r, g: (g,)), grad(f)(1.0)]
custom_vjp forward mode        [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: (x, x), lambda r, g: (g,)), jax.jvp(f, (1.0,), (1.0,))]
custom_vjp hessian             [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: (x, x), lambda r, g: (g,)), jax.jacfwd(f)(1.0)]
custom_vjp nondiff tracer      [f := jax.custom_vjp(lambda n, x: x, nondiff_argnums=(0,)), f.defvjp(lambda n, x: (x, x), lambda n, r, g: (g,)), grad(lambda n: f(n, 1.0))(1.0)]
custom_vjp nondiff jit tracer  [f := jax.custom_vjp(lambda n, x: x, nondiff_argnums=(0,)), f.defvjp(lambda n, x: (x, x), lambda n, r, g: (g,)), jit(lambda n: f(n, 1.0))(1.0)]
custom_vjp nondiff count       [f := jax.custom_vjp(lambda n, x: x, nondiff_argnums=(0,)), f.defvjp(lambda n, x: (x, x), lambda n, r, g: (g, g)), grad(lambda x: f(2.0, x))(1.0)]
custom_vjp nondiff range       jax.custom_vjp(lambda n, x: x, nondiff_argnums=(5,))(1.0, 2.0)
custom_vjp symzero             [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: (x, x), lambda r, g: (g,), symbolic_zeros=True), grad(f)(1.0)]
custom_vjp wrong args          [f := jax.custom_vjp(lambda x: x), f.defvjp(lambda x: (x, x), lambda r, g: (g,)), f(1.0, 2.0)]
custom_jvp call norule         jax.custom_jvp(lambda x: x)(1.0)
custom_gradient bad            grad(jax.custom_gradient(lambda x: (x, lambda g: (g, g))))(1.0)
custom_vmap bad                [f := jax.custom_batching.custom_vmap(lambda x: x), f.def_vmap(lambda n, b, x: x), vmap(f)(jnp.ones(3))]
custom_vmap bad2               [f := jax.custom_batching.custom_vmap(lambda x: x), f.def_vmap(lambda n, b, x: (x, (True, True))), vmap(f)(jnp.ones(3))]
custom_vmap bad3               [f := jax.custom_batching.custom_vmap(lambda x: x), f.def_vmap(lambda n, b, x: ((x, x), (True, True))), vmap(f)(jnp.ones(3))]
custom_vmap norule             vmap(jax.custom_batching.custom_vmap(lambda x: x))(jnp.ones(3))
custom_root tree               lax.custom_root(lambda x: x, (1.0,), lambda f, x: 1.0, lambda g, y: y)
custom_linear_solve shape      lax.custom_linear_solve(lambda x: x, jnp.ones(3), lambda mv, b: 1.0)
custom_linear_solve reverse    grad(lambda b: lax.custom_linear_solve(lambda x: 2 * x, b, lambda mv, b: b / 2).sum())(jnp.ones(3))
checkpoint policy              grad(jax.checkpoint(lambda x: jnp.sin(x), policy=3))(1.0)
checkpoint if                  jax.checkpoint(lambda x: x if x > 0 else -x)(1.0)
checkpoint string              jax.checkpoint(lambda x, n: x)(1.0, "a")
""",
}

CASES = {
    f"{topic}: {line[:31].strip()}": line[31:].strip()
    for topic, text in TABLES.items()
    for line in text.strip().splitlines()
}

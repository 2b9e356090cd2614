"""What loops and branches say of carries and results that do not fit, in whole: as JAX says it.

Each line is a call.  Files, lines and the modules of classes are left out of the comparison.
"""

import re

import numpy as np
import pytest

import tapeless

pytestmark = pytest.mark.oracle

CALLS = """
lax.scan(lambda c, x: (c+1.5, x), 1, XS)
lax.scan(lambda c, x: (c.astype('int32'), x), 1.0, XS)
lax.scan(lambda carry, x: ((carry[0], carry[1]*1j), x), (1.0, 2.0), XS)
lax.scan(lambda state,x:({'a':state['a'],'b':state['b'].astype('float16')},x),{'a':ONE,'b':TWO},XS)
lax.scan(lambda state, x: ({'a': state['a']}, x), {'a': ONE, 'b': TWO}, XS)
lax.scan(lambda state, x: ((state['a'], state['b']), x), {'a': ONE, 'b': TWO}, XS)
lax.scan(lambda state, x: (None, x), ONE, XS)
lax.scan(lambda state, x: (x, x), None, XS)
lax.scan(lambda c, x: (jnp.stack([c, c]), x), ONE, XS)
lax.scan(lambda c, x: (c[None], x), jnp.ones((2, 3)), XS)
lax.scan(lambda c, x: ([c[0], c[1], c[0]], x), [ONE, TWO], XS)
lax.scan(lambda c, x: (c, 'a'), ONE, XS)
lax.scan(lambda c, x: ('a', x), ONE, XS)
lax.scan(lambda c, x: ((c[0], None), x), (ONE, TWO), XS)
lax.scan(lambda c, x: ((c[0], ONE), x), (ONE, None), XS)
lax.scan(lambda c, x: ((c[0], (ONE, ONE)), x), (ONE, TWO), XS)
lax.scan(lambda c, x: (c+x, x), np.int32(1), XS)
lax.scan(lambda c,x:(dict(u=c['u']+x,v=c['v'][None],w=1.),x),dict(u=np.int32(1),v=TWO,w=1.),XS)
lax.scan(lambda c, x: (True, x), ONE, XS)
lax.scan(lambda *a: (a[0][None], a[1]), ONE, XS)
lax.scan(lambda c, x: (c, x), ONE, (XS, jnp.arange(4.)))
lax.scan(lambda c, x: (c, x), ONE, XS, length=4)
lax.scan(lambda c, x: (c, x), ONE, None)
lax.while_loop(lambda c: c<3, lambda c: c+1.5, 1)
lax.while_loop(lambda c: c, lambda c: c*1.5, 1)
lax.while_loop(lambda c: c, lambda c: c, 1)
lax.while_loop(lambda c: c, lambda c: c, 1.0)
lax.while_loop(lambda c: c[0], lambda c: (c[0], c[1]*1.5), (1, 2))
lax.while_loop(lambda c: jnp.stack([c, c])>0, lambda c: c, 1.0)
lax.while_loop(lambda c: (c>0, c>0), lambda c: c, 1.0)
lax.while_loop(lambda c: None, lambda c: c, 1.0)
lax.while_loop(lambda c: c<3, lambda c: (c, c), 1.0)
lax.while_loop(lambda c: c<3, lambda c: c[None], ONE)
lax.while_loop(lambda c: c['a']<3, lambda c: {'a': c['a']}, {'a': ONE, 'b': ONE})
lax.while_loop(lambda s:s[0]<3,lambda s:(s[0].astype('int32'),s[1][None]),(ONE,ONE))
lax.while_loop(lambda c: c<3, lambda c: None, 1.0)
lax.while_loop(lambda c: c<3, lambda c: 'a', 1.0)
lax.while_loop(lambda c: c<np.int32(3), lambda v: v+1j, ONE)
lax.fori_loop(0, 3, lambda i, c: c+1.5, 1)
lax.fori_loop(0, 3, lambda i, c: c[None], ONE)
lax.fori_loop(0, 3, lambda i, c: (c, c), ONE)
lax.fori_loop(0, 3, lambda i, c: None, ONE)
lax.fori_loop(0,3,lambda i,val:dict(a=val['a'],b=val['b'].astype('float16')),dict(a=ONE,b=TWO))
lax.fori_loop(0,jnp.int32(3),lambda i,v:dict(a=v['a'],b=v['b'].astype('float16')),dict(a=ONE,b=TWO))
jit(lambda n:lax.fori_loop(0,n,lambda i,v:dict(a=v['a'],b=v['b'][None]),dict(a=ONE,b=TWO)))(3)
jit(lambda n: lax.fori_loop(0, n, lambda i, c: c[None], ONE))(3)
jit(lambda n: lax.fori_loop(0, n, lambda i, c: (c, c), ONE))(3)
lax.fori_loop(0, 3.5, lambda i, c: c, ONE)
lax.fori_loop(0., 3, lambda i, c: c, ONE)
lax.fori_loop(np.int8(0), np.int32(3), lambda i, c: c, ONE)
lax.fori_loop(jnp.arange(2), 3, lambda i, c: c, ONE)
lax.cond(True, lambda x: x, lambda x: x.astype('int32'), ONE)
lax.cond(True, lambda x: x, lambda x: (x, x), ONE)
lax.cond(True, lambda x: {'a': x, 'b': x}, lambda x: {'a': x}, ONE)
lax.cond(True, lambda x: {'a': x, 'b': x}, lambda x: {'a': x, 'b': x[None]}, ONE)
lax.cond(True, lambda x: {'a': x, 'b': x.astype('int32')}, lambda x: {'a': x[None], 'b': x}, ONE)
lax.cond(True, lambda x: None, lambda x: x, ONE)
lax.cond(True, lambda x: 'a', lambda x: x, ONE)
lax.cond(jnp.ones(2), lambda x: x, lambda x: x, ONE)
lax.cond('a', lambda x: x, lambda x: x, ONE)
lax.cond(None, lambda x: x, lambda x: x, ONE)
lax.cond(1j, lambda x: x, lambda x: x, ONE)
lax.cond(True, lambda x: x, lambda x, y: x, ONE)
lax.cond(True, 1, lambda x: x, ONE)
lax.cond(True, lambda x: x, lambda x: x, 'a')
lax.cond(True, lambda x: (x, None), lambda x: (x, x), ONE)
lax.cond(True, lambda x: [x, x], lambda x: (x, x), ONE)
lax.cond(True, lambda x: x, lambda x: jnp.ones((2, ))+x, ONE)
lax.switch(0, [lambda x: x, lambda x: x[None], lambda x: x], ONE)
lax.switch(0, [lambda x: x, lambda x: x, lambda x: x.astype('int32')], ONE)
lax.switch(0, [lambda x: (x, x), lambda x: (x, x), lambda x: x], ONE)
lax.switch(0,[lambda x:{'k':x,'l':x},lambda x:{'k':x,'l':x[None]},lambda x:{'k':x,'l':x}],ONE)
lax.switch(0, [], ONE)
lax.switch(0.5, [lambda x: x, lambda x: x], ONE)
lax.switch(jnp.arange(2), [lambda x: x, lambda x: x], ONE)
lax.switch(True, [lambda x: x, lambda x: x], ONE)
lax.switch('a', [lambda x: x, lambda x: x], ONE)
lax.switch(0, [lambda x: x, 3], ONE)
lax.associative_scan(lambda a, b: (a, b), XS)
lax.associative_scan(jnp.add, (XS, jnp.arange(4.)))
lax.associative_scan(3, XS)
lax.map(lambda x: x, (jnp.arange(3), jnp.arange(2)))
vmap(lambda y: lax.scan(lambda c, x: (c[None], x), y, XS))(jnp.arange(2.))
grad(lambda y: lax.scan(lambda c, x: (c.astype('int32'), x), y, XS)[0])(1.)
vmap(lambda y: lax.while_loop(lambda c: c<3, lambda c: c[None], y))(jnp.arange(2.))
vmap(lambda y: lax.cond(y>0, lambda x: x, lambda x: x.astype('int32'), y))(jnp.arange(2.))
""".strip().splitlines()


def said(system, call):
    """Return what a call of one of the systems raises, in words, or the types of its results."""
    ONE, TWO = np.float32(1), np.float32(2)
    names = {"lax": system.lax, "jnp": system.numpy, "jit": system.jit, "vmap": system.vmap}
    names |= {"grad": system.grad, "np": np, "XS": np.arange(3.0, dtype=np.float32)}
    names |= {"ONE": ONE, "TWO": TWO}
    try:
        return str(system.tree_util.tree_map(system.typeof, eval(call, names)))
    except Exception as error:
        text = re.sub(r"at \S+:\d+", "at", f"{type(error).__name__}: {error}")
        return re.sub(r"'[\w.]*\.(\w+)'", r"'\1'", text)


@pytest.mark.parametrize("call", CALLS)
def test_texts_are_those_of_jax(call):
    import jax as reference

    assert said(tapeless, call) == said(reference, call)

"""`lax`: the operations themselves, with strict types, and structured control flow.  Names only.

`with_sharding_constraint` needs arrays and devices, which stand above: `api/sharding.py` adds it.
"""

from tapeless.util import lazy

lazy.defer(__name__, "linalg")

from collections.abc import Callable
from typing import Any

from tapeless.control.associative_scan import *
from tapeless.control.branches import *
from tapeless.control.composite import *
from tapeless.control.cond import cond_p
from tapeless.control.igamma import *
from tapeless.control.incomplete_beta import *
from tapeless.control.incomplete_gamma import *
from tapeless.control.linear_solve import custom_linear_solve, linear_solve_p
from tapeless.control.loops import *
from tapeless.control.reducers import *
from tapeless.control.root import custom_root
from tapeless.control.scan import scan_p
from tapeless.control.while_loop import while_p
from tapeless.lax import linalg as linalg
from tapeless.prims.accuracy import *
from tapeless.prims.approx import *
from tapeless.prims.argextremes import *
from tapeless.prims.barrier import *
from tapeless.prims.bessel import *
from tapeless.prims.binary import *
from tapeless.prims.bits import *
from tapeless.prims.bitwise import *
from tapeless.prims.collective import *
from tapeless.prims.compare import *
from tapeless.prims.conv import *
from tapeless.prims.convert import *
from tapeless.prims.convforms import *
from tapeless.prims.convlayout import *
from tapeless.prims.convpatches import *
from tapeless.prims.create import *
from tapeless.prims.cumulative import *
from tapeless.prims.dot import *
from tapeless.prims.dynamic_slice import *
from tapeless.prims.exponential import *
from tapeless.prims.fft import *
from tapeless.prims.gather import *
from tapeless.prims.identity import *
from tapeless.prims.indexing import *
from tapeless.prims.inspection import *
from tapeless.prims.join import *
from tapeless.prims.named_axes import *
from tapeless.prims.order import *
from tapeless.prims.parts import *
from tapeless.prims.precision import *
from tapeless.prims.ragged import *
from tapeless.prims.reduce import *
from tapeless.prims.rng import *
from tapeless.prims.scatter import *
from tapeless.prims.select import *
from tapeless.prims.slice import *
from tapeless.prims.sort import *
from tapeless.prims.special import *
from tapeless.prims.structural import *
from tapeless.prims.taking import *
from tapeless.prims.topk import *
from tapeless.prims.trig import *
from tapeless.prims.unary import *
from tapeless.prims.window import *
from tapeless.util.names import close_module

with_sharding_constraint: Callable[[Any, Any], Any]

close_module("jax.lax", globals())

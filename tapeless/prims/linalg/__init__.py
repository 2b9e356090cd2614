"""Dense linear algebra: factorisations and solves of the matrices in the last two axes.

The work is LAPACK's, called from compiled programs, matrix by matrix; derivatives are the formulas
of the literature (Giles, "Collected matrix derivative results", 2008), in products and solves.
"""

from tapeless.prims.linalg.cholesky import *
from tapeless.prims.linalg.eig import *
from tapeless.prims.linalg.eigh import *
from tapeless.prims.linalg.lu import *
from tapeless.prims.linalg.polar import *
from tapeless.prims.linalg.qr import *
from tapeless.prims.linalg.svd import *
from tapeless.prims.linalg.triangular import *
from tapeless.prims.linalg.tridiagonal import *
from tapeless.prims.linalg.updates import *

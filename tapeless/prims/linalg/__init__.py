"""Dense linear algebra: factorisations and solves of the matrices in the last two axes.

The work is LAPACK's, called from compiled programs, matrix by matrix; derivatives are the formulas
of the literature (Giles, "Collected matrix derivative results", 2008), in products and solves.
"""

__all__: list[str] = []

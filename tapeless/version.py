"""`version`: of the JAX whose programs run here.  Names only."""

from tapeless.util.versions import *

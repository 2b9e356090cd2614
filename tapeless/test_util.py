"""`test_util`: derivatives against finite differences.  Names only."""

from tapeless.api.check_grads import *

"""`test_util`: checks of derivatives.  Names only."""

from tapeless.api.gradient_checks import check_grads, check_jvp, check_vjp

__all__ = ["check_grads", "check_jvp", "check_vjp"]

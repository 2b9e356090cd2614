"""`jax.experimental.checkify`: errors of compiled programs as values.  Names only."""

from tapeless.api.functional_errors import Error as Error
from tapeless.api.functional_errors import ErrorCategory as ErrorCategory
from tapeless.api.functional_errors import JaxRuntimeError as JaxRuntimeError
from tapeless.api.functional_errors import all_checks as all_checks
from tapeless.api.functional_errors import automatic_checks as automatic_checks
from tapeless.api.functional_errors import check as check
from tapeless.api.functional_errors import check_error as check_error
from tapeless.api.functional_errors import checkify as checkify
from tapeless.api.functional_errors import debug_check as debug_check
from tapeless.api.functional_errors import div_checks as div_checks
from tapeless.api.functional_errors import float_checks as float_checks
from tapeless.api.functional_errors import index_checks as index_checks
from tapeless.api.functional_errors import init_error as init_error
from tapeless.api.functional_errors import nan_checks as nan_checks
from tapeless.api.functional_errors import user_checks as user_checks
from tapeless.util.names import listed_names, missing_attribute

__all__ = [
    "Error", "ErrorCategory", "JaxRuntimeError", "all_checks", "automatic_checks", "check",
    "check_error", "checkify", "debug_check", "div_checks", "float_checks", "index_checks",
    "init_error", "nan_checks", "user_checks",
]  # fmt: skip

__dir__ = listed_names("jax.experimental.checkify", globals())
__getattr__ = missing_attribute("jax.experimental.checkify")

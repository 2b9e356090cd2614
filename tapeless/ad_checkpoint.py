"""`ad_checkpoint`: checkpointing and a report of what is saved.  Names only."""

from tapeless.api import policies as checkpoint_policies
from tapeless.api.checkpoint import checkpoint, checkpoint_name, print_saved_residuals, remat
from tapeless.prims.naming import name_p

__all__ = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "name_p",
    "print_saved_residuals",
    "remat",
]

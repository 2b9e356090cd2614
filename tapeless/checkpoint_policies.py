"""`checkpoint_policies`: what a checkpointed function stores.  Names only."""

from tapeless.api.policies import *

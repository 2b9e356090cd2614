"""`ops`: reductions over segments.  Names only."""

from tapeless.ops.segment import *

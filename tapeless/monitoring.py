"""`monitoring`: events, and who listens to them.  Names only."""

from tapeless.util.events import *

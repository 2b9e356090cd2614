"""`custom_batching`: functions with batching rules of their own.  Names only."""

from tapeless.api.custom_batching import *

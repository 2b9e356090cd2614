"""The first-order primitives: one class each, all rules of an operation on one page."""

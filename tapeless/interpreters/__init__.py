"""`interpreters`: the transformations, for libraries that bring primitives of their own."""

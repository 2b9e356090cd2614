"""Trees: nested containers as arguments and results (this is ``jax.tree``).

A *tree* is any nesting of tuples, lists, dicts, named tuples, ``None`` and registered
types; what is not a container is a *leaf*.  Transformations work on flat lists of leaves;
this folder translates.  In reading order:

- `keys`: the steps of a path to a leaf, and their text;
- `registry`: which types are containers, how each comes apart and back together;
- `rebuild`: functions that put a tree together, made once per structure;
- `treedef`: structures (`PyTreeDef`), interned so that equality is mostly identity;
- `flatten`: the fast way from a tree to (leaves, structure);
- `paths`: the same with a path for each leaf;
- `prefix`: small trees that speak for bigger ones, and errors that say where trees differ;
- `maps`, `partial`: what users do with trees.

The names here are those of ``jax.tree``; the longer ones are in ``tapeless.tree_util``.
"""

from tapeless.tree.flatten import tree_flatten as flatten
from tapeless.tree.flatten import tree_leaves as leaves
from tapeless.tree.flatten import tree_structure as structure
from tapeless.tree.flatten import tree_unflatten as unflatten
from tapeless.tree.maps import tree_all as all
from tapeless.tree.maps import tree_map as map
from tapeless.tree.maps import tree_map_with_path as map_with_path
from tapeless.tree.maps import tree_reduce as reduce
from tapeless.tree.maps import tree_reduce_associative as reduce_associative
from tapeless.tree.maps import tree_transpose as transpose
from tapeless.tree.paths import tree_flatten_with_path as flatten_with_path
from tapeless.tree.paths import tree_leaves_with_path as leaves_with_path
from tapeless.tree.prefix import tree_broadcast as broadcast
from tapeless.tree.registry import static
from tapeless.util.names import close_module

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "static",
    "structure",
    "transpose",
    "unflatten",
]

close_module("jax.tree", globals())

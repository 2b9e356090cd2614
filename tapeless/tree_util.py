"""Names of ``jax.tree_util``: everything about trees, under its long names.

The code is in the folder ``tapeless/tree``; see its page for the vocabulary.  What most
programs need is also in ``tapeless.tree`` under shorter names.
"""

from tapeless.tree.default import default_registry
from tapeless.tree.flatten import (
    all_leaves,
    tree_flatten,
    tree_leaves,
    tree_structure,
    tree_unflatten,
)
from tapeless.tree.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyEntry,
    KeyPath,
    SequenceKey,
    keystr,
)
from tapeless.tree.maps import (
    tree_all,
    tree_map,
    tree_map_with_path,
    tree_reduce,
    tree_reduce_associative,
    tree_transpose,
)
from tapeless.tree.partial import Partial
from tapeless.tree.paths import tree_flatten_with_path, tree_leaves_with_path
from tapeless.tree.prefix import tree_broadcast
from tapeless.tree.registry import (
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
)
from tapeless.tree.treedef import PyTreeDef, treedef_children, treedef_is_leaf, treedef_tuple

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

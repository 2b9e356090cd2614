"""`default_registry`: the registry as an object, for libraries that ask for one.

JAX keeps its table of container types in an object and lets libraries call its methods.
There is only one registry here, so the object has no state: each method is a function
of this folder.  Two such objects are equal in every way, and pickling one gives another.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tapeless.tree.flatten import tree_flatten
from tapeless.tree.paths import tree_flatten_with_path
from tapeless.tree.registry import (
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    register_dataclass,
    register_pytree_node,
)
from tapeless.tree.treedef import PyTreeDef

__all__ = ["PyTreeRegistry", "default_registry"]


class PyTreeRegistry:
    """The registry of container types; all instances speak for the same table."""

    def flatten(
        self, tree: Any, leaf_predicate: Callable[[Any], bool] | None = None
    ) -> tuple[list[Any], PyTreeDef]:
        """Do as `tree_flatten`."""
        return tree_flatten(tree, leaf_predicate)

    def flatten_with_path(
        self, tree: Any, leaf_predicate: Callable[[Any, Any], bool] | None = None
    ) -> tuple[list[tuple[tuple[Any, ...], Any]], PyTreeDef]:
        """Do as `tree_flatten_with_path`, with a predicate that takes a path."""
        return tree_flatten_with_path(tree, leaf_predicate, is_leaf_takes_path=True)

    def flatten_one_level(self, tree: Any) -> tuple[Iterable[Any], Any] | None:
        """Do as the function of that name, but return None for a leaf."""
        return flatten_one_level(tree) if self.is_node(type(tree)) else None

    def flatten_one_level_with_keys(
        self, tree: Any
    ) -> tuple[Iterable[tuple[Any, Any]], Any] | None:
        """Do as the function of that name, but return None for a leaf."""
        return flatten_one_level_with_keys(tree) if self.is_node(type(tree)) else None

    def is_node(self, type: type, /) -> bool:
        """Say whether instances of a type are containers."""
        return is_tree_node(type)

    def register_node(
        self,
        type: type,
        to_iterable: Callable[[Any], tuple[Any, Any]],
        from_iterable: Callable[[Any, Any], Any],
        to_iterable_with_keys: Callable[[Any], tuple[Any, Any]] | None = None,
    ) -> None:
        """Do as `register_pytree_node`."""
        register_pytree_node(type, to_iterable, from_iterable, to_iterable_with_keys)

    def register_dataclass_node(
        self, type: Any, data_fields: Sequence[str], meta_fields: Sequence[str], /
    ) -> Any:
        """Do as `register_dataclass`."""
        return register_dataclass(type, data_fields, meta_fields)


default_registry = PyTreeRegistry()

"""Write the kept texts anew: `python -m tests.golden.rewrite`, or `make golden`.

It says which texts changed; look at them (`git diff tests/golden`) before you commit them.
"""

import tapeless as jax
from tests.golden.expressions import KEPT, all_texts
from tests.golden.texts import KINDS, current, kept

__all__ = ["rewrite"]


def rewrite() -> list[str]:
    """Write every text; return what happened, one line a change."""
    changes = []
    for kind, names in KINDS.items():
        folder = kept(kind, "").parent
        folder.mkdir(exist_ok=True)
        for path in sorted(folder.glob("*.txt")):
            if path.stem not in names:
                path.unlink()
                changes.append(f"{kind}/{path.stem}: removed")
        for name in names:
            path, text = kept(kind, name), current(jax, kind, name)
            old = path.read_text() if path.exists() else None
            if text != old:
                path.write_text(text)
                changes.append(f"{kind}/{name}: {'new' if old is None else 'changed'}")
    text = all_texts(jax)
    if not KEPT.exists() or KEPT.read_text() != text:
        KEPT.write_text(text)
        changes.append(f"{KEPT.name}: changed")
    return changes


if __name__ == "__main__":
    lines = rewrite()
    print("\n".join(lines) if lines else "golden: nothing changed")

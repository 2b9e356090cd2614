"""The main job learns: a short run of examples/digits.py reads most test images right."""

import runpy
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples/digits.py"


def test_digits_are_read_and_a_picture_is_written(tmp_path, monkeypatch, capsys):
    picture = tmp_path / "digits.png"
    arguments = ["digits.py", "--epochs", "15", "--picture", str(picture)]
    monkeypatch.setattr(sys, "argv", arguments)
    accuracy = runpy.run_path(str(EXAMPLE))["main"]()
    assert 0.95 <= accuracy <= 1.0
    assert picture.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    for word in ("tracing", "compiling", "one step", "test accuracy", str(picture)):
        assert word in printed

"""What `inspect` finds is true of the program, and what it writes can be read."""

from __future__ import annotations

import functools
import inspect
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib import pyplot

import tapeless as jax
import tapeless.numpy as jnp
from tapeless.api.inspection import Line
from tapeless.api.roofline import roof_for

X = np.linspace(-1.0, 1.0, 150 * 150, dtype=np.float32).reshape(150, 150)
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def layer(x, w):
    h = jnp.tanh(x @ w)
    return jnp.sum(h * h, axis=1)


START = inspect.getsourcelines(layer)[1]


@pytest.fixture(scope="module")
def report():
    """The report on the layer."""
    return jax.inspect(layer)(X, X)


def test_kernels_have_times_costs_and_bounds(report):
    assert report.name == "layer"
    assert report.seconds == sum(kernel.seconds for kernel in report.kernels)
    assert all(kernel.seconds > 0 and kernel.bound > 0 for kernel in report.kernels)
    padded = 160  # columns, of panels of 8 or 16 numbers
    rest = 100 * 150**2  # operations of the other kernels, at most
    flops = sum(kernel.kernel.flops for kernel in report.kernels)
    assert 2 * 150**3 <= flops <= 2 * 150**2 * padded + rest
    last = report.kernels[-1]
    assert last.kernel.transcendentals == 150 * 150
    assert last.limit == "memory"
    assert last.share_of_roof == last.bound / last.seconds


def test_kernels_know_the_lines_of_the_user(report):
    found = {
        (line.number - START, name)
        for kernel in report.kernels
        for line, names in kernel.lines.items()
        for name in names
    }
    assert {(1, "dot_general"), (1, "tanh"), (2, "mul"), (2, "reduce_sum")} <= found
    assert {line.number - START for line in report.lines} == {1, 2}
    assert report.lines[0].text == "    h = jnp.tanh(x @ w)"
    assert {line.file for line in report.lines} == {__file__}


def test_memory_is_that_of_the_program(report):
    plan = jax.jit(layer).lower(X, X).compile().memory_analysis()
    assert report.arena == plan.temp_size_in_bytes
    outputs = [life.size for life in report.lives if life.role == "output"]
    assert sum(outputs) == plan.output_size_in_bytes


def test_a_sum_that_a_loop_returns_is_drawn_as_an_output():
    def f(w):
        return jax.lax.scan(
            lambda h, x: (jnp.tanh(h @ w + x), None), jnp.zeros(16), jnp.ones((9, 16))
        )[0].sum()

    lives = jax.inspect(jax.grad(f))(jnp.eye(16)).lives
    assert [life.size for life in lives if life.role == "output"] == [4 * 16 * 16]
    assert [life.size for life in lives if life.role == "input"] == [4 * 16 * 16]


@pytest.mark.parametrize(
    ("function", "args", "kwargs"),
    [
        (jax.jit(layer), (X, X), {}),
        (jax.jit(lambda tree, *, by: tree["a"] * by), ({"a": X},), {"by": 2.0}),
        (functools.partial(layer, w=X), (X,), {}),
        (jax.vmap(jnp.sin), (X,), {}),
    ],
)
def test_functions_of_all_kinds_are_inspected(function, args, kwargs):
    assert jax.inspect(function)(*args, **kwargs).kernels


def test_static_arguments_are_no_arrays():
    def power(x, n):
        return x**n

    for inspected in (
        jax.inspect(power, static_argnums=1),
        jax.inspect(jax.jit(power, static_argnames="n")),
    ):
        assert "integer_pow[y=3]" in str(inspected(X, 3).jaxpr)


def test_gradients_are_inspected_as_functions():
    found = jax.inspect(jax.grad(lambda w: jnp.sum(layer(X, w))))(X)
    assert sum(kernel.kernel.flops for kernel in found.kernels) > 4 * 150**3


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap])
def test_traced_values_are_refused(transform):
    with pytest.raises(TypeError, match="it got values that are being traced"):
        transform(lambda x: jax.inspect(jnp.sin)(x))(X)


def test_arguments_in_the_wrong_place_are_refused():
    with pytest.raises(
        TypeError, match=r"function alone, got 1 more argument\. .* inspect\(f\)\(x\)"
    ):
        jax.inspect(jnp.sin, X)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'") as caught:
        jax.inspect(lambda x, y: x + y)(X)
    (note,) = caught.value.__notes__  # where, and nothing of what `inspect` does
    assert note.startswith("inside jit of <lambda> at ")


def test_types_alone_are_refused():
    with pytest.raises(TypeError, match="wants arrays"):
        jax.inspect(jnp.sin)(jax.ShapeDtypeStruct((3,), np.float32))


def test_a_program_that_computes_nothing_has_a_report(tmp_path):
    found = jax.inspect(lambda x: x)(X)
    assert (found.kernels, found.seconds, found.lines) == ((), 0, [])
    assert "0 kernels" in found.html(tmp_path / "nothing.html").read_text()


def test_the_table_has_a_row_per_kernel(report, capsys):
    assert len(report.rows()) == len(report.kernels)
    report.show()
    printed = capsys.readouterr().out
    assert f"test_inspection.py:{START + 1}" in "".join(printed.split())


def test_the_table_says_what_is_computed(capsys):
    def f(w, xs):
        return jax.lax.scan(lambda h, x: (jnp.tanh(h @ w + x), h), jnp.zeros(150), xs)

    heads = [kernel.head for kernel in jax.inspect(f)(X, X).kernels]
    assert "tanh" in " ".join(heads)
    assert not [head for head in heads if head.endswith(":") or len(head) > 44]
    image, filters = np.ones((1, 3, 40, 40), np.float32), np.ones((8, 3, 3, 3), np.float32)
    convolved = jax.inspect(lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME"))(image, filters)
    assert all(kernel.head.strip(" .") for kernel in convolved.kernels)
    convolved.show()
    assert "unknown length" not in capsys.readouterr().out


def test_one_kernel_is_not_several():
    one = jax.inspect(jnp.sin)(X)
    assert one.size in repr(one)
    assert one.size == "1 kernel"


def test_a_loop_that_its_data_ends_has_no_roof(tmp_path):
    def count(n):
        return jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.5), (0, 1.0))

    found = jax.inspect(count)(9)
    loop = found.kernels[0]
    assert (loop.kernel.open_ended, loop.roof) == (True, "unknown length")
    assert not any(kernel.kernel.open_ended for kernel in found.kernels[1:])
    text = found.html(tmp_path / "count.html").read_text()
    assert "how often it repeats is up to the data" in text


def test_a_margin_does_not_cost_what_it_surrounds():
    image, filters = np.ones((8, 3, 64, 64), np.float32), np.ones((16, 3, 3, 3), np.float32)
    convolved = jax.inspect(lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME"))(image, filters)
    (margin,) = (k for k in convolved.kernels if k.kernel.text.rstrip().endswith("= 0.0"))
    assert margin.kernel.accessed < margin.kernel.touched / 4
    ratio = margin.bound * roof_for(margin.kernel.touched).bandwidth / margin.kernel.accessed
    assert ratio == pytest.approx(1)


def test_a_print_has_its_line():
    def f(x):
        y = jnp.sum(x)
        jax.debug.print("sum {}", y)
        return y

    start = inspect.getsourcelines(f)[1]
    found = jax.inspect(f)(X).kernels
    (call,) = (kernel for kernel in found if kernel.kernel.text.startswith("host:"))
    assert [line.number - start for line in call.lines] == [2]


def test_files_of_one_name_have_lines_of_their_own():
    places = [Line(f"/{folder}/model.py", 7, "x = 1") for folder in "ab"]
    assert places[0].place == places[1].place == "model.py:7"
    assert places[0].anchor != places[1].anchor


class Page(HTMLParser):
    """What a page consists of."""

    def __init__(self, text):
        """Read it."""
        super().__init__()
        self.tags, self.ids, self.links, self.attributes = [], [], [], []
        self.classes = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note a tag."""
        found = dict(attrs)
        self.tags.append(tag)
        self.ids += [found["id"]] if "id" in found else []
        self.classes += [found["class"]] if "class" in found else []
        self.links += [value for name, value in attrs if name in ("href", "src")]


@pytest.fixture(scope="module")
def page(report, tmp_path_factory):
    """The page of the report: its path."""
    return report.html(tmp_path_factory.mktemp("page") / "layer.html")


def test_a_page_needs_nothing_else(page):
    found = Page(page.read_text("utf-8"))
    assert found.links
    assert all(link.startswith("#") for link in found.links)
    assert not {"script", "link", "img", "iframe"} & set(found.tags)
    assert "url(" not in page.read_text("utf-8")
    assert len(found.ids) == len(set(found.ids))
    assert {link[1:] for link in found.links} <= set(found.ids)


def test_a_page_shows_all_there_is(page, report):
    text = page.read_text("utf-8")
    found = Page(text)
    for kernel in report.kernels:
        assert f"kernel-{kernel.kernel.number}" in found.ids
    assert {line.anchor for line in report.lines} <= set(found.ids)
    assert f"test_inspection.py:{START + 1}</a>" in text
    assert found.classes.count("time") == found.classes.count("roof") == len(report.kernels)
    assert found.classes.count("life") == len(report.lives)
    assert "dot_general[" in text
    widths = [float(w) for w in re.findall(r'class="time"[^>]* width="([\d.]+)"', text)]
    seconds = [kernel.seconds for kernel in report.kernels]
    assert np.argmax(widths) == np.argmax(seconds)


def test_texts_of_the_user_are_no_markup(tmp_path):
    named = jax.jit(lambda x: jnp.where(x < 2, x, x & 1))
    text = jax.inspect(named)(np.arange(9)).html(tmp_path / "markup.html").read_text("utf-8")
    assert "&lt;lambda&gt;" in text
    assert "<lambda>" not in text


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_browser_draws_the_page(page, report, tmp_path):
    picture = tmp_path / "page.png"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1100,1400"]
    command = [BROWSER, *flags, f"--user-data-dir={tmp_path}", page.as_uri()]
    shot = [*command[:-1], f"--screenshot={picture}", command[-1]]
    subprocess.run(shot, check=True, capture_output=True, timeout=100)
    assert picture.read_bytes().startswith(b"\x89PNG")
    pixels = pyplot.imread(picture)[..., :3]
    bar = np.array([0xC8, 0x55, 0x3D]) / 255  # the colour of the bars of time
    assert (np.abs(pixels - bar).max(axis=-1) < 0.02).sum() > 1000

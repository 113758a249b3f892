"""What a reader sees of a picture, whatever made it."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402
from matplotlib.colors import LogNorm  # noqa: E402

from autograder.observe.drawing import close_figures, open_figures, read_axes  # noqa: E402
from autograder.observe.values import Unfit  # noqa: E402

WEIGHTS = np.array([[0.1, 0.2, 0.7], [0.6, 0.3, 0.1]])
ROWS, COLUMNS = ["q0", "q1"], ["k0", "k1", "k2"]


@pytest.fixture
def axes():
    before = open_figures()
    yield pyplot.subplots()[1]
    close_figures(before)


def label(axes, shift=0.0):
    axes.set_xticks(np.arange(3) + shift, labels=COLUMNS)
    axes.set_yticks(np.arange(2) + shift, labels=ROWS)


def shown(axes):
    return read_axes(axes)["shown"]


def looks_right(axes):
    found = shown(axes)
    assert np.array_equal(found["values"], WEIGHTS)
    assert (found["row_labels"], found["column_labels"]) == (ROWS, COLUMNS)
    assert found["linear"] and found["distinct"] and found["complete"]
    return True


class TestRight:
    def test_imshow(self, axes):
        axes.imshow(WEIGHTS)
        label(axes)
        assert looks_right(axes)

    def test_imshow_with_the_origin_below_and_the_axis_turned(self, axes):
        axes.imshow(WEIGHTS, origin="lower")
        axes.invert_yaxis()
        label(axes)
        assert looks_right(axes)

    def test_imshow_of_the_rows_turned_around(self, axes):
        axes.imshow(WEIGHTS[::-1], origin="lower")
        axes.set_xticks(range(3), labels=COLUMNS)
        axes.set_yticks(range(2), labels=ROWS[::-1])
        assert looks_right(axes)

    def test_imshow_with_an_extent(self, axes):
        axes.imshow(WEIGHTS, extent=(0, 3, 2, 0), aspect="auto")
        label(axes, 0.5)
        assert looks_right(axes)

    def test_matshow_with_ticks_on_top_and_a_bar(self, axes):
        image = axes.matshow(WEIGHTS, vmin=0, vmax=1, interpolation="nearest")
        axes.figure.colorbar(image)
        label(axes)
        assert looks_right(axes)

    @pytest.mark.parametrize("name", ["pcolormesh", "pcolorfast"])
    def test_meshes(self, axes, name):
        getattr(axes, name)(WEIGHTS)
        axes.invert_yaxis()
        label(axes, 0.5)
        assert looks_right(axes)

    def test_a_mesh_with_edges_of_its_own(self, axes):
        axes.pcolormesh([0, 1, 5, 6], [0, 2, 3], WEIGHTS)
        axes.invert_yaxis()
        axes.set_xticks([0.5, 3, 5.5], labels=COLUMNS)
        axes.set_yticks([1, 2.5], labels=ROWS)
        assert looks_right(axes)

    def test_a_shaded_mesh(self, axes):
        axes.pcolormesh(range(3), range(2), WEIGHTS, shading="nearest")
        axes.invert_yaxis()
        label(axes)
        assert looks_right(axes)

    def test_minor_ticks_and_texts_do_no_harm(self, axes):
        axes.imshow(WEIGHTS)
        label(axes)
        axes.set_xticks(np.arange(4) - 0.5, minor=True)
        axes.grid(which="minor")
        axes.text(0, 0, "0.1")
        assert looks_right(axes)

    def test_repeated_labels(self, axes):
        axes.imshow(WEIGHTS)
        axes.set_xticks(range(3), labels=["the", "cat", "the"])
        assert shown(axes)["column_labels"] == ["the", "cat", "the"]

    def test_their_dtype_is_kept(self, axes):
        axes.imshow(WEIGHTS.astype(np.float32))
        assert shown(axes)["values"].dtype == np.float32

    def test_a_single_cell(self, axes):
        axes.imshow([[0.5]])
        axes.set_xticks([0], labels=["only"])
        found = shown(axes)
        assert found["values"].tolist() == [[0.5]]
        assert found["column_labels"] == ["only"]

    def test_masked_cells_are_nan(self, axes):
        axes.imshow(np.ma.masked_less(WEIGHTS, 0.15))
        assert np.isnan(shown(axes)["values"]).tolist() == (WEIGHTS < 0.15).tolist()

    def test_texts(self, axes):
        axes.imshow(WEIGHTS)
        axes.set(title="attention", xlabel="keys", ylabel="queries")
        assert read_axes(axes)["texts"] == {
            "title": "attention", "x_label": "keys", "y_label": "queries",
        }  # fmt: skip


class TestWrong:
    def test_upside_down(self, axes):
        axes.imshow(WEIGHTS, origin="lower")
        label(axes)
        found = shown(axes)
        assert np.array_equal(found["values"], WEIGHTS[::-1])
        assert found["row_labels"] == ROWS[::-1]

    def test_mirrored(self, axes):
        axes.imshow(WEIGHTS)
        axes.invert_xaxis()
        assert np.array_equal(shown(axes)["values"], WEIGHTS[:, ::-1])

    def test_no_labels(self, axes):
        axes.imshow(WEIGHTS)
        axes.set_xticks([])
        axes.set_yticks([0], labels=["q0"])
        found = shown(axes)
        assert found["column_labels"] == [None] * 3
        assert found["row_labels"] == ["q0", None]

    def test_labels_between_the_cells_of_a_wider_scale(self, axes):
        axes.imshow(WEIGHTS)
        axes.set_xticks([0, 1, 2.9], labels=COLUMNS)
        assert shown(axes)["column_labels"] == ["k0", "k1", None]

    def test_colours_on_a_logarithmic_scale(self, axes):
        axes.imshow(WEIGHTS, norm=LogNorm())
        assert not shown(axes)["linear"]

    @pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
    def test_cells_that_run_into_each_other(self, axes, interpolation):
        axes.imshow(WEIGHTS, interpolation=interpolation)
        assert not shown(axes)["distinct"]

    @pytest.mark.parametrize("limits", [(0, 0.5), (0.2, 1)])
    def test_colours_that_are_cut_off(self, axes, limits):
        axes.imshow(WEIGHTS, vmin=limits[0], vmax=limits[1])
        assert not shown(axes)["complete"]

    def test_cells_that_are_cut_off(self, axes):
        axes.imshow(WEIGHTS)
        axes.set_xlim(-0.5, 1.5)
        assert not shown(axes)["complete"]

    def test_nothing_drawn(self, axes):
        axes.plot([1, 2])
        assert shown(axes) == {"values": None}

    def test_a_photograph(self, axes):
        axes.imshow(np.zeros((2, 3, 3)))
        assert shown(axes) == {"values": None}

    @pytest.mark.parametrize("value", [None, "axes", np.zeros(2)])
    def test_no_axes(self, value):
        with pytest.raises(Unfit, match="expected a matplotlib Axes, got a value of type"):
            read_axes(value)


def test_figures_that_were_open_stay_open(axes):
    before = open_figures()
    pyplot.figure()
    close_figures(before)
    assert open_figures() == before

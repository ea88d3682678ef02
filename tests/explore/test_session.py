"""Sessions, without a browser: everything a user can do, by the requests that pages send."""

import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import closeknit as ck
from closeknit.exceptions import ModelError
from closeknit.explore import (
    Channel,
    MessageError,
    Parameters,
    Session,
    load_session,
    open_data,
    open_file,
    save_session,
)
from closeknit.explore.divergence import divergence_terms
from closeknit.explore.frames import quantize
from closeknit.explore.requests import answer
from closeknit.io import Table
from closeknit.quality import neighbor_recall, neighbors_kept


def ask(session, what, payload=b"", /, **fields):
    return answer(session, {"type": what, **fields}, payload)


def bits(inside):
    return np.packbits(inside, bitorder="little").tobytes()


@pytest.fixture
def running(session):
    """A session with a viewer, 40 iterations old and paused."""
    with Channel(session, lambda header, payload: None):
        session.engine.step(40)
        assert session.engine.wait(lambda: session.engine.frame.iteration >= 40)
        assert session.engine.wait(lambda: session.engine.stage == "paused")
        yield session


def test_a_viewer_starts_the_map_and_its_going_ends_it(session):
    with Channel(session, lambda header, payload: None):
        assert session.engine.wait(lambda: session.engine.frame.iteration > 2)
    assert not session.engine.is_running


def test_frames_wait_for_acknowledgement(session):
    """However many iterations pass, there is one frame on its way."""
    sent = []
    with Channel(session, lambda header, payload: sent.append(header)) as channel:
        assert session.engine.wait(lambda: session.engine.frame.iteration > 10)
        frames = [header for header in sent if header["type"] == "frame"]
        assert len(frames) == 1
        channel.receive({"type": "ack", "frame": frames[0]["frame"]}, b"")
        frames = [header for header in sent if header["type"] == "frame"]
        assert len(frames) == 2
        assert frames[1]["iteration"] > 10


def test_positions_survive_16_bits(digits):
    Y = np.random.default_rng(0).normal(size=(1000, 2)).astype(np.float32) * [3, 50]
    box, steps = quantize(Y.astype(np.float32))
    low, high = np.array(box["low"]), np.array(box["high"])
    back = low + steps / 65535 * (high - low)
    assert (np.abs(back - Y) <= (high - low) / 65535 * 0.51).all()


def test_trust_agrees_with_quality_and_divergence(running):
    """The means over points are the measures that the library has for the whole map."""
    engine = running.engine
    header, values = ask(running, "trust", kind="kept")
    whole = neighbor_recall(engine.neighbors, engine.frame.positions, 15)
    assert values.mean() == pytest.approx(whole, abs=1e-6)
    header, values = ask(running, "trust", kind="divergence")
    assert header["mean"] == pytest.approx(engine.frame.divergence, rel=1e-4)
    np.testing.assert_array_equal(
        values, divergence_terms(engine.model.training.objective, engine.frame.positions)
    )


def test_trust_counts_copies_as_one_another():
    """Where every point has 20 copies, which of them are its neighbours on the map is chance."""
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 5)), 20, axis=0)
    session = open_data(X, parameters=Parameters(perplexity=10.0))
    with Channel(session, lambda header, payload: None):
        assert session.engine.wait(lambda: session.engine.settled)
        header, values = ask(session, "trust", kind="kept")
    assert header["mean"] == session.engine.frame.kept > 0.9
    assert values.min() > 0.5


def test_colours_by_columns_and_sigma(running, digits):
    header, codes = ask(running, "column", name="digit")
    assert header["names"] == [str(i) for i in range(10)]
    np.testing.assert_array_equal(codes, digits[1])
    header, values = ask(running, "column", name="pixel 3")
    assert header["names"] is None
    np.testing.assert_array_equal(values, digits[0][:, 3].astype(np.float32))
    _, sigmas = ask(running, "sigma", perplexity=None)
    _, wider = ask(running, "sigma", perplexity=45.0)
    assert (wider > sigmas).all()


def test_columns_with_gaps_and_with_many_names(digits):
    """Numbers in text are numbers, gaps have no colour, and rare names share none."""
    X, n = digits[0], len(digits[0])
    gaps = np.array([None if i % 3 == 0 else f"{i / 7}" for i in range(n)], object)
    kinds = np.array([None if i % 2 else "NA" for i in range(n)], object)
    many = np.array([f"value {i // 2}" for i in range(n)], object)
    session = open_data(X, {"score": gaps, "kind": kinds, "many": many})
    header, values = ask(session, "column", name="score")
    assert header["names"] is None
    np.testing.assert_array_equal(np.isnan(values), np.arange(n) % 3 == 0)
    header, codes = ask(session, "column", name="kind")
    assert (header["names"], header["others"]) == (["NA"], 0)
    np.testing.assert_array_equal(codes, np.where(np.arange(n) % 2, 65535, 0))
    header, codes = ask(session, "column", name="many")
    assert (len(header["names"]), header["others"]) == (50, n // 2 - 50)
    lines = ask(session, "select", bits(np.arange(n) < 50))[0]["summary"]
    score = next(line for line in lines if line["name"] == "score")
    assert score["inside"] == pytest.approx(np.mean([i / 7 for i in range(50) if i % 3]))
    with pytest.raises(ValueError, match="missing or infinite values, the first in row 2, column"):
        open_data(np.where(np.arange(n)[:, None] == 2, np.nan, X))
    with pytest.raises(ValueError, match="masked entries"):
        open_data(np.ma.masked_greater(X, X.max() - 1e-9))


def test_a_point_has_a_name_values_and_a_picture(running, digits):
    header, pixels = ask(running, "point", index=7)
    assert header["name"] == "d7"
    assert ["digit", str(digits[1][7])] in [list(pair) for pair in header["values"]]
    assert header["size"] == [8, 8]
    picture = np.frombuffer(pixels, np.uint8).reshape(8, 8, 4)
    np.testing.assert_array_equal(picture[:, :, 0], (digits[2][7] * 255 / 16).astype(np.uint8))


def test_neighbours_of_a_point_come_with_their_affinities(running):
    header, found = ask(running, "neighbors", index=5)
    P, _ = ck.entropic_affinities(running.table.X, running.engine.parameters.perplexity)
    np.testing.assert_allclose(header["affinities"], P[5].toarray().ravel()[found])
    assert header["affinities"] == sorted(header["affinities"], reverse=True)
    assert header["sigma"] == running.engine.sigmas[5]


def test_search_finds_all_points_however_many():
    """So that all of them can be selected."""
    session = open_data(np.random.default_rng(0).normal(size=(1500, 3)))
    header, found = ask(session, "search", text="1")
    assert header["total"] == len(found) == sum("1" in str(i) for i in range(1500))


def test_points_are_coloured_at_first_by_a_label_of_few_names(digits):
    X, y, _ = digits
    names = np.array([f"patient {i}" for i in range(len(X))], object)
    assert Session(Table(X, tuple(map(str, range(64))))).state()["first"] is None
    weight = np.linspace(50.0, 90.0, len(X))
    for labels, first in [
        ({"patient": names, "weight": weight, "digit": y}, "digit"),
        ({"patient": names, "weight": weight}, "weight"),
        ({"patient": names}, None),
        ({"hospital": np.full(len(X), "north", object), "digit": y}, "digit"),
    ]:
        assert open_data(X, labels).state()["first"] == first


def test_what_is_left_out_is_counted(running):
    """A viewer with room for some columns and neighbours can say how many there are."""
    assert ask(running, "point", index=0)[0]["columns"] == 66
    header, lines = ask(running, "neighbors", index=0)
    assert header["total"] == 90
    assert len(header["names"]) == len(lines) == 60
    running.select(np.arange(400) < 20)
    header, _ = ask(running, "selection")
    assert header["hidden"] + len(header["columns"]) == 67


def test_the_share_of_neighbours_kept_is_the_mean_of_those_of_the_points(running):
    """As trust has them and as `closeknit embed` says, not of the strongest edges of the graph."""
    running.engine.play()
    assert running.engine.wait(lambda: running.engine.settled)
    engine = running.engine
    assert engine.frame.kept == neighbor_recall(engine.neighbors, engine.positions, 15)
    shares = neighbors_kept(engine.neighbors, engine.positions)
    assert engine.frame.kept == pytest.approx(shares.mean(), abs=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_a_first_look_shows_columns_that_vary(form):
    """The first columns of pictures are often their empty margin: all points in one place."""
    X = np.random.default_rng(0).normal(size=(2500, 5)) * [0.0, 1.0, 0.0, 7.0, 0.1]
    session = open_data(form(X))
    np.testing.assert_array_equal(session.engine.positions, X[:, [1, 3]])


def test_an_unknown_metric_is_refused_at_once():
    with pytest.raises(ValueError, match="metric='euclid' is unknown; choose"):
        open_data(np.eye(9), metric="euclid")


def test_search_finds_ids_and_labels(running, digits):
    header, found = ask(running, "search", text="D39")
    assert (header["total"], found.tolist()) == (11, [39, *range(390, 400)])
    assert ask(running, "search", text="eve")[0]["total"] == (digits[1] % 2 == 0).sum()


def test_selection_table_and_summary(running, digits):
    inside = digits[1] == 3
    header, back = ask(running, "select", bits(inside))
    assert header["count"] == inside.sum()
    assert header["columns"][:3] == ["id", "digit", "kind"]
    assert {row[1] for row in header["rows"]} == {"3"}
    best = header["summary"][0]
    assert (best["name"], best["most"], best["inside"], best["outside"]) == ("digit", "3", 1.0, 0.0)
    assert back.tobytes() == bits(inside)


def test_labels_are_given_and_taken_back(running, digits):
    inside = digits[1] == 3
    ask(running, "select", bits(inside))
    assert ask(running, "label", text="<b>threes</b>")[0]["column"] == "label"
    assert set(running.labels[inside]) == {"<b>threes</b>"}
    before = running.engine.frame
    ask(running, "undo")
    assert running.labels is None
    assert running.engine.frame is before, "a label is taken back without moving the map"
    ask(running, "redo")
    assert (running.labels[inside] == "<b>threes</b>").all()


def test_parameters_and_restart_are_taken_back_with_the_map(running):
    before = running.engine.positions
    ask(running, "set", parameters={"perplexity": 7}, done=False)
    ask(running, "set", parameters={"perplexity": 9}, done=True)
    assert running.state()["undo"] == 1, "one drag is one change"
    count = running.engine.frame.iteration
    ask(running, "step", count=2)
    assert running.engine.wait(lambda: running.engine.frame.iteration == count + 2)
    ask(running, "undo")
    assert running.engine.parameters == Parameters()
    np.testing.assert_array_equal(running.engine.positions, before)
    ask(running, "redo")
    assert running.engine.parameters.perplexity == 9
    with pytest.raises(ValueError, match="nothing to take back"):
        ask(running, "redo")


def test_a_selection_is_embedded_on_its_own(running, digits):
    inside = digits[1] < 5
    ask(running, "select", bits(inside))
    ask(running, "embed")
    state = running.state()
    assert (state["n_points"], state["depth"]) == (inside.sum(), 1)
    engine = running.engine
    assert engine.wait(lambda: engine.settled)
    most = state["max_perplexity"]
    reference = ck.TSNE(perplexity=min(30.0, most), random_state=0).fit_transform(digits[0][inside])
    np.testing.assert_array_equal(engine.positions, reference)
    np.testing.assert_array_equal(ask(running, "column", name="digit")[1], digits[1][inside])
    ask(running, "leave")
    assert running.state()["n_points"] == 400
    ask(running, "undo")
    assert running.engine is engine


def test_two_maps_are_compared(running):
    ask(running, "pin")
    pinned = running.engine.frame.positions
    ask(running, "set", parameters={"perplexity": 5}, done=True)
    count = running.engine.frame.iteration + 60
    ask(running, "step", count=60)
    assert running.engine.wait(lambda: running.engine.frame.iteration == count)
    header, positions = ask(running, "pinned")
    assert header["parameters"]["perplexity"] == 30.0
    np.testing.assert_array_equal(positions, pinned)
    _, changed = ask(running, "trust", kind="changed")
    kept = neighbors_kept(pinned, running.engine.frame.positions)
    np.testing.assert_allclose(changed, 1.0 - kept, rtol=1e-6)
    assert 0.05 < changed.mean() < 0.95
    ask(running, "unpin")
    assert running.state()["pinned"] is None


@pytest.mark.parametrize("ending", ["csv", "parquet", "h5ad"])
@pytest.mark.parametrize("what", ["rows", "map", "labels"])
def test_exports(running, digits, what, ending, tmp_path):
    ask(running, "select", bits(digits[1] == 3))
    ask(running, "label", text="threes")
    header, content = ask(running, "export", kind=what, format=ending, color=None)
    path = tmp_path / header["name"]
    path.write_bytes(content)
    if ending == "h5ad":
        anndata = pytest.importorskip("anndata")
        found = anndata.read_h5ad(path)
        Y = running.engine.frame.positions
        Y = Y[digits[1] == 3] if what == "rows" else Y
        np.testing.assert_array_equal(found.obsm["X_tsne"], Y)
        return
    frame = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
    if what == "map":
        np.testing.assert_allclose(frame[["x", "y"]], running.engine.frame.positions)
        np.testing.assert_allclose(frame["sigma"], running.engine.sigmas)
    if what == "rows":
        np.testing.assert_array_equal(frame["pixel 3"], digits[0][digits[1] == 3, 3])
    expected = ["threes"] * len(frame) if what == "rows" else list(running.labels)
    assert list(frame["label"].fillna("")) == expected


@pytest.mark.parametrize(
    ("ending", "begins", "by"),
    [
        ("png", b"\x89PNG", "column:digit"),
        ("svg", b"<?xml", "sigma"),
        ("pdf", b"%PDF", "trust:kept"),
    ],
)
def test_pictures_have_the_colors_of_the_page(running, digits, ending, begins, by, monkeypatch):
    draw, drawn = ck.plotting.plot_embedding, {}

    def noted(Y, labels, ax, **options):
        drawn.update(options, labels=labels)
        return draw(Y, labels, ax, **options)

    monkeypatch.setattr(ck.plotting, "plot_embedding", noted)
    _, content = ask(running, "export", kind="picture", format=ending, color=by)
    assert content.startswith(begins)
    if by == "column:digit":
        assert drawn["labels"].tolist() == list(map(str, digits[1]))
        return
    expected = running.engine.sigmas if by == "sigma" else ask(running, "trust", kind="kept")[1]
    np.testing.assert_allclose(drawn["values"], expected, rtol=1e-6)
    assert drawn["color_title"]


@pytest.mark.parametrize("name", ["", "n" * 300])
def test_columns_are_called_as_in_the_file(name):
    """Names without a letter, or with hundreds, are no reason to cut a viewer off."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    session = Session(Table(X, (name, "b"), {}))
    header, values = ask(session, "column", name=name)
    assert header["names"] is None
    np.testing.assert_allclose(values, X[:, 0], rtol=1e-6)


def test_the_code_runs_and_makes_the_map(table, tmp_path):
    path = tmp_path / "digits.csv"
    ck.io.write_table(path, table.X, columns=table.feature_names, labels=table.labels)
    session = open_file(path, reading={"labels": ["digit"]}, max_perplexity=40)
    with Channel(session, lambda header, payload: None):
        session.engine.step(25)
        assert session.engine.wait(lambda: session.engine.frame.iteration == 25)
    _, code = ask(session, "export", kind="code", format=None, color=None)
    names = {}
    exec(code.decode(), names)
    np.testing.assert_array_equal(names["Y"], session.engine.positions)


def test_a_session_is_saved_and_opened(running, digits, tmp_path):
    ask(running, "select", bits(digits[1] == 3))
    ask(running, "label", text="threes")
    ask(running, "embed")
    _, content = ask(running, "export", kind="session", format=None, color=None)
    path = tmp_path / "work.closeknit"
    path.write_bytes(content)
    again = open_file(path)
    assert again.state()["depth"] == 1
    assert again.columns.names == running.columns.names
    np.testing.assert_array_equal(again.labels, running.labels)
    np.testing.assert_array_equal(again.images, running.images)
    again.leave_selection()
    np.testing.assert_array_equal(again.engine.positions, running.levels[0].engine.positions)
    assert again.engine.phases == running.levels[0].engine.phases
    with Channel(again, lambda header, payload: None):
        count = again.engine.frame.iteration
        again.engine.step(2)
        assert again.engine.wait(lambda: again.engine.frame.iteration == count + 2)


def test_a_model_is_opened(digits, tmp_path):
    path = tmp_path / "map.closeknit"
    tsne = ck.TSNE(random_state=0).fit(digits[0])
    ck.io.save(tsne, path)
    session = open_file(path)
    assert session.state()["max_perplexity"] == 30.0
    np.testing.assert_array_equal(session.engine.positions, tsne.embedding_)
    ck.io.save(ck.SpectralClustering(3, perplexity=10).fit(digits[0][:50]), path)
    with pytest.raises(ModelError, match="cannot explore"):
        open_file(path)


def test_damaged_sessions_are_refused(session, tmp_path):
    path = tmp_path / "work.closeknit"
    save_session(session, path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(content)
        for place in rng.integers(0, 4000, 8):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged[: rng.integers(1000, len(content))])
        with pytest.raises(ModelError):
            load_session(path)


def test_data_of_many_kinds(digits):
    X, y, _ = digits
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(kind=y.astype(str))
    assert open_data(frame).columns.names == ["kind", "a", "b", "c"]
    assert open_data(X, {"one": y, "two": y}).columns.names[:2] == ["one", "two"]
    assert open_data(X.tolist()).state()["n_points"] == 400
    with pytest.raises(ValueError, match="one for each point"):
        open_data(X, y[:-1])
    with pytest.raises(ValueError, match="images have shape"):
        open_data(X, images=np.zeros((3, 4)))
    with pytest.raises(ValueError, match="at least 4 points"):
        open_data(X[:3])
    assert ck.explore.explore is ck.explore.__call__


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"type": None},
        {"type": ["set"]},
        {"type": "eval"},
        {"type": "set"},
        {"type": "set", "parameters": {"perplexity": "30"}, "done": True},
        {"type": "set", "parameters": {"perplexity": float("inf")}, "done": True},
        {"type": "set", "parameters": {"n_jobs": 3}, "done": True},
        {"type": "set", "parameters": {"perplexity": 30}, "done": 1},
        {"type": "step", "count": 10**9},
        {"type": "step", "count": True},
        {"type": "point", "index": -1},
        {"type": "point", "index": 1.0},
        {"type": "label", "text": "x" * 10_000},
        {"type": "label", "text": ""},
        {"type": "export", "kind": "../../etc/passwd", "format": "csv", "color": None},
        {"type": "export", "kind": "map", "format": "exe", "color": None},
        {"type": "sigma", "perplexity": 10**400},
        {"type": "set", "parameters": {"perplexity": 10**400}, "done": True},
        {"type": "play", "more": 1},
    ],
)
def test_requests_that_no_page_sends(session, request_):
    before = session.state()
    with pytest.raises(MessageError):
        answer(session, request_, b"")
    with pytest.raises(MessageError):
        answer(session, {"type": "play"}, b"bytes")
    assert session.state() == before


def test_a_wrong_wish_is_answered_in_a_sentence(session):
    replies = []
    channel = Channel(session, lambda header, payload: replies.append(header))
    channel.receive({"type": "embed", "id": 5}, b"")
    assert replies == [
        {"type": "reply", "id": 5, "error": "select at least 10 points to embed them on their own"}
    ]


def test_inputs_are_not_changed(table, digits):
    before = table.X.copy()
    session = Session(table)
    with Channel(session, lambda header, payload: None):
        session.engine.step(2)
        assert session.engine.wait(lambda: session.engine.frame.iteration == 2)
    np.testing.assert_array_equal(table.X, before)


def test_pictures_are_bytes(digits):
    session = open_data(digits[0], images=digits[2] / 16.0)
    assert session.images.dtype == np.uint8
    assert session.images.max() == 255
    assert (
        io.BytesIO(answer(session, {"type": "point", "index": 0}, b"")[1]).getbuffer().nbytes == 256
    )

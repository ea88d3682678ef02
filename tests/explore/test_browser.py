"""The explorer in a real browser, with WebGL and without, as a user meets it."""

import os
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

import closeknit as ck
from closeknit.explore import answers, open_file
from closeknit.explore.server import serving

ROOT = Path(__file__).parents[2]
AXE = ROOT / "explorer/node_modules/axe-core/axe.min.js"
FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
GRAPHICS = {
    "webgl": ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
    "canvas": ["--disable-gpu", "--disable-3d-apis"],
}
#: Where CI must run these tests, what is missing is an error.
REQUIRED = os.environ.get("CLOSEKNIT_BROWSER") == "required"


def lacking(what):
    if REQUIRED:
        pytest.fail(f"CLOSEKNIT_BROWSER=required, but {what}")
    pytest.skip(what)


@pytest.fixture(scope="module")
def playwright():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("playwright is not installed")
    with sync_playwright() as found:
        yield found


@pytest.fixture(scope="module")
def browser(request, playwright):
    graphics = getattr(request, "param", "webgl")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        lacking(f"there is no browser: none of {', '.join(names)} is on the PATH")
    made = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *GRAPHICS[graphics]])
    made.graphics = graphics
    yield made
    made.close()


@pytest.fixture
def page(browser, tmp_path):
    """A page that explores a CSV file, and fails the test if a script fails."""
    digits = load_digits()
    frame = pd.DataFrame(digits.data[:500], columns=[f"pixel {i}" for i in range(64)])
    frame.insert(0, "id", [f"d{i}" for i in range(500)])
    frame["digit"] = digits.target[:500]
    frame["<img src=x onerror=document.title='XSS'>"] = "<b onclick=alert(1)>bold</b>"
    path = tmp_path / "digits.csv"
    frame.to_csv(path, index=False)
    session = open_file(path, reading={"labels": ["digit"]}, max_perplexity=60)
    with serving(session) as address:
        context = browser.new_context(
            viewport={"width": 1200, "height": 800}, accept_downloads=True
        )
        found = context.new_page()
        errors, requests = [], []
        found.on("pageerror", lambda error: errors.append(str(error)))
        found.on("console", lambda line: line.type == "error" and errors.append(line.text))
        found.on("request", lambda request: requests.append(request.url))
        found.session, found.address = session, address
        found.goto(address)
        stage(found, "settled")
        found.wait_for_selector(".ck-map:not([data-moving])")
        yield found
        context.close()
        assert not errors
        host = address.split("/?")[0]
        assert all(url.startswith((host, "blob:")) for url in requests), "nothing from elsewhere"


def stage(page, *names):
    choices = ", ".join(f'.ck[data-stage="{name}"]' for name in names)
    page.wait_for_selector(choices, timeout=60_000)


def until(page, held, seconds=60):
    """Let the page go on until something holds of its session."""
    end = time.monotonic() + seconds
    while not held():
        assert time.monotonic() < end, "waited in vain"
        page.wait_for_timeout(50)


def check_slider_waits_for_its_answer(page, sent, state):
    """What the session said before it heard of a step does not take the step back."""
    slider = page.get_by_label("Perplexity")
    before = slider.input_value()
    slider.press("PageDown")
    moved = slider.input_value()
    assert moved != before
    page.wait_for_timeout(700)
    page.evaluate("h => window.fromPython(h, [])", {"type": "state", **state})
    assert slider.input_value() == moved
    for _ in range(2):  # a key is a step and the end of a step
        until(page, lambda: any(header["type"] == "set" for header in sent))
        asked = next(header for header in sent if header["type"] == "set")
        sent.remove(asked)
        assert slider.input_value() == moved
        refusal = {"type": "reply", "id": asked["id"], "error": "not this one"}
        page.evaluate("h => window.fromPython(h, [])", refusal)
    assert slider.input_value() == before


def number(page, name):
    """A number of the panel, such as the divergence."""
    text = page.locator(f'dt:text-is("{name}") + dd').inner_text()
    return float(text.split()[0].replace(",", ""))


def pixels(page):
    """The map as it is drawn."""
    from io import BytesIO

    from PIL import Image

    picture = page.locator(".ck-maps").screenshot(animations="disabled")
    return np.asarray(Image.open(BytesIO(picture)).convert("RGB")).astype(int)


def lasso(page, share=1.0):
    """Draw around the middle of the map."""
    box = page.locator(".ck-overlay").last.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    w, h = share * box["width"] / 2.1, share * box["height"] / 2.1
    corners = [(-w, -h), (w, -h), (w, h), (-w, h), (-w, -h)]
    page.mouse.move(x + corners[0][0], y + corners[0][1])
    page.mouse.down()
    for dx, dy in corners[1:]:
        page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()


@pytest.mark.parametrize("browser", ["webgl", "canvas"], indirect=True)
def test_a_visit(page, browser, tmp_path):
    """Load, look, drag, select, name, embed, compare, export, undo, reload: the whole way."""
    assert page.locator(".ck-map").get_attribute("data-renderer") == browser.graphics
    assert page.title() == "closeknit explorer"
    drawn = pixels(page)
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 10, "points in several colours"

    # Drag the perplexity: the map moves on, and the divergence is another.
    before, divergence = page.session.engine.positions, number(page, "Divergence")
    slider = page.get_by_label("Perplexity")
    slider.focus()
    for _ in range(8):
        page.keyboard.press("PageDown")
    # Keys come faster than the map follows: it may settle at a step on the way down.
    wanted = 2 * 30 ** (int(slider.input_value()) / 200)
    assert wanted < 20
    until(page, lambda: np.isclose(page.session.engine.parameters.perplexity, wanted))
    until(page, lambda: page.session.engine.settled)
    until(page, lambda: number(page, "Divergence") != divergence)
    stage(page, "settled")
    assert not np.array_equal(before, page.session.engine.positions)
    assert "median σ" in page.locator("output").first.inner_text()
    assert (pixels(page) != drawn).any()

    # Colours by bandwidth and by trust.
    for name in ("bandwidth σ", "neighbours kept", "term of the divergence"):
        colors = page.get_by_label("Colour by")
        label = colors.locator("option").filter(has_text=name).inner_text()
        colors.select_option(label=label)
        page.wait_for_selector(".ck-bar")

    # Hover and pick a point.
    Y = page.session.engine.frame.positions
    box = page.locator(".ck-overlay").bounding_box()
    low, high = Y.min(axis=0), Y.max(axis=0)
    scale = 0.92 * min(box["width"] / (high - low)[0], box["height"] / (high - low)[1])
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Fit").click()
    x, y = (Y[17] - (low + high) / 2) * [scale, -scale] + [box["width"] / 2, box["height"] / 2]
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.wait_for_selector(".ck-tip:visible")
    assert "digit" in page.locator(".ck-tip").inner_text()
    page.mouse.click(box["x"] + x, box["y"] + y)
    page.wait_for_selector(".ck-neighbors li")

    # Find, select by lasso, name.
    page.get_by_text("Find", exact=True).first.click()
    page.get_by_label("Name or label contains").fill("d49")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=11 found")
    page.get_by_role("button", name="Lasso").click()
    lasso(page, 0.6)
    page.wait_for_selector("text=What sets them apart")
    count = int(page.session.selected.sum())
    assert 10 < count < 500
    page.get_by_label("Name the selection").fill("<i>middle</i>")
    page.keyboard.press("Enter")
    page.wait_for_selector('.ck-names button:has-text("<i>middle</i>")')
    assert (page.session.labels == "<i>middle</i>").sum() == count

    # Export the map, and the code that makes it.
    page.get_by_text("Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    exported = pd.read_csv(path)
    np.testing.assert_allclose(exported[["x", "y"]], Y)
    page.get_by_role("button", name="Show code").click()
    page.wait_for_selector(".ck-code:visible")
    assert "ck.TSNE(" in page.locator(".ck-code").inner_text()

    # Embed the selection alone, and go back.
    page.get_by_role("button", name="Embed alone").click()
    page.wait_for_selector(f"text={count} points, settled", timeout=60_000)
    page.get_by_role("button", name="Back to all points").click()
    page.wait_for_selector("text=500 points")

    # Compare.
    page.get_by_text("Compare", exact=True).click()
    page.get_by_role("button", name="Pin this map").click()
    page.wait_for_selector(".ck-pinned canvas")
    assert page.locator(".ck-overlay").count() == 2
    page.get_by_label("Model").select_option("ssne")
    stage(page, "running", "building the graph")
    stage(page, "settled", "paused")
    page.get_by_label("Colour by").select_option("trust:changed")
    page.wait_for_selector(".ck-bar")
    page.get_by_role("button", name="Unpin").click()
    page.wait_for_selector(".ck-pinned", state="detached")

    # Undo as far as there is something, and reload: the session is where it was.
    undo = page.get_by_role("button", name="Undo")
    for _ in range(12):
        if undo.is_disabled():
            break
        undo.click()
        time.sleep(0.15)
    assert page.session.labels is None
    assert page.session.engine.parameters.perplexity == 30
    page.reload()
    stage(page, "settled", "paused", "running")
    assert page.session.state()["n_points"] == 500


def test_keys_alone(page):
    """A box drawn by arrows and Enter, and playing by space."""
    page.locator(".ck-overlay").focus()
    page.keyboard.press("b")
    for _ in range(14):
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    for _ in range(30):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=What sets them apart")
    assert page.session.selected.any()
    page.keyboard.press("Escape")
    page.wait_for_selector("text=Nothing is selected")
    page.keyboard.press(" ")
    stage(page, "running")
    page.keyboard.press(" ")
    stage(page, "paused")


def test_keys_of_the_browser_stay_its_own(page):
    """Ctrl-R reloads and Ctrl-P prints; letters count whether Caps Lock is on or not."""
    page.locator(".ck-overlay").focus()
    page.evaluate("""() => {
      window.taken = [];
      addEventListener("keydown", (event) => {
        window.taken.push(event.defaultPrevented);
        event.preventDefault();
      });
    }""")
    lasso_mode = page.get_by_role("button", name="Lasso")
    for key in ("Control+l", "Control+r", "Alt+l", "Meta+l"):
        page.keyboard.press(key)
    assert not any(page.evaluate("window.taken"))
    assert lasso_mode.get_attribute("aria-pressed") == "false"
    page.keyboard.press("Shift+L")
    assert lasso_mode.get_attribute("aria-pressed") == "true"


def test_keys_show_the_point_in_the_middle(page):
    page.locator(".ck-overlay").focus()
    page.keyboard.press("+")
    card = page.locator(".ck-tip")
    for _ in range(60):  # until there is one
        page.keyboard.press("ArrowLeft")
        page.wait_for_timeout(60)
        if card.is_visible():
            page.wait_for_timeout(400)  # it may be of a place on the way
            if card.is_visible():
                break
        page.keyboard.press("ArrowDown" if _ % 2 else "ArrowUp")
    name = card.locator("h3").inner_text()
    assert "12 of 66 columns" in card.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_selector(f'.ck-neighbors h3:has-text("Neighbours of {name}")')
    assert "The 10 nearest of 90 neighbours." in page.locator(".ck-neighbors").inner_text()
    page.get_by_label("Perplexity").focus()
    card.wait_for(state="hidden")


def test_waiting_for_colours_is_said(page, monkeypatch):
    """Trust takes seconds of many points; until it comes, the page says that it will."""
    go_on = threading.Event()
    slow = answers.neighbors_kept

    def kept(*arguments, **options):
        assert go_on.wait(60)
        return slow(*arguments, **options)

    monkeypatch.setattr(answers, "neighbors_kept", kept)
    page.get_by_label("Colour by").select_option("trust:kept")
    page.wait_for_selector("text=Computing the colours…")
    go_on.set()
    page.wait_for_selector(".ck-bar")
    assert page.locator("text=Computing the colours…").count() == 0


def test_two_maps_say_which_is_which(page):
    page.get_by_text("Compare", exact=True).click()
    now = page.locator(".ck-caption")
    assert now.is_hidden()
    page.get_by_role("button", name="Pin this map").click()
    slider = page.get_by_label("Exaggeration")
    slider.press("End")
    page.wait_for_selector('.ck-caption:has-text("exaggeration × 12")')
    assert now.inner_text() == "Now: t-SNE, perplexity 30, exaggeration × 12"
    pinned = page.locator(".ck-pinned figcaption")
    assert pinned.inner_text() == "Pinned: t-SNE, perplexity 30"


def test_names_from_files_are_text(page):
    """Column names and values that look like HTML are shown, not run."""
    name = "<img src=x onerror=document.title='XSS'>"
    page.get_by_label("Colour by").select_option(f"column:{name}")
    page.wait_for_selector('.ck-names button:has-text("<b onclick=alert(1)>bold</b>")')
    assert page.title() == "closeknit explorer"
    assert page.locator(".ck img, .ck b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_accessibility(page, scheme, width):
    """No finding of axe that is serious, at either width, in light and dark."""
    if not AXE.exists():
        lacking("axe-core is not installed; run npm ci in explorer/")
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    for text in ("Find", "Compare", "Export"):
        page.locator("summary").filter(has_text=text).click()
    page.get_by_role("button", name="3", exact=True).click()
    page.wait_for_selector("text=What sets them apart")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # The page's own policy lets no foreign script in; the debugger may.
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    serious = [
        (violation["id"], [node["html"] for node in violation["nodes"]])
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
    ]
    assert not serious


def test_a_saved_session_is_opened_again(page, browser, tmp_path):
    page.get_by_text("Export", exact=True).click()
    page.get_by_label("File").select_option("session")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    path = tmp_path / "again.closeknit"
    download.value.save_as(path)
    session = open_file(path)
    np.testing.assert_array_equal(session.engine.positions, page.session.engine.positions)
    with serving(session) as address:
        again = browser.new_page()
        again.goto(address)
        stage(again, "settled", "paused")
        assert again.get_by_role("heading", level=1).inner_text() == "digits.csv"
        again.close()


def test_the_end_of_the_program_is_told(browser):
    X = np.random.default_rng(0).normal(size=(200, 5))
    with serving(ck.explore.open_data(X, max_perplexity=20)) as address:
        page = browser.new_page()
        page.goto(address)
        stage(page, "settled")
    page.wait_for_selector("text=Disconnected")
    page.close()


def test_the_widget_draws(browser):
    """The notebook's module, with a model that plays Jupyter's part."""
    from closeknit.explore import Channel

    X = np.random.default_rng(0).normal(size=(200, 5))
    session = ck.explore.open_data(X, max_perplexity=20)
    static = Path(ck.explore.__file__).parent / "static"
    page = browser.new_page()
    sent = []
    page.expose_function("toPython", lambda header: sent.append(header))
    page.set_content("<div id=cell></div>")
    page.add_style_tag(path=static / "app.css")
    code = (static / "widget.js").read_text("utf-8")
    page.evaluate(
        """async (code) => {
          const url = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
          const heard = [];
          const model = {
            send: (header) => window.toPython(header),
            on: (name, act) => heard.push(act),
            off: () => {},
          };
          window.fromPython = (header, bytes) =>
            heard.forEach((act) => act(header, [new DataView(new Uint8Array(bytes).buffer)]));
          (await import(url)).default.render({model, el: document.getElementById("cell")});
        }""",
        code,
    )
    waiting = []
    channel = Channel(session, lambda *message: waiting.append(message))
    with channel:
        assert sent[0] == {"type": "open"}
        assert session.engine.wait(lambda: session.engine.settled)
        deadline = time.monotonic() + 30
        while page.locator(".ck").get_attribute("data-stage") != "settled":
            assert time.monotonic() < deadline
            for header, payload in [waiting.pop(0) for _ in range(len(waiting))]:
                data = list(memoryview(payload).cast("B"))
                page.evaluate("([h, b]) => window.fromPython(h, b)", [header, data])
            page.wait_for_timeout(50)
            for header in [sent.pop(0) for _ in range(len(sent))]:
                if header["type"] not in ("open", "close"):
                    channel.receive(header, b"")
    check_slider_waits_for_its_answer(page, sent, session.state())
    assert page.locator(".ck-map").get_attribute("data-renderer") == browser.graphics
    page.close()

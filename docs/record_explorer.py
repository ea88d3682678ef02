"""Make ``explorer.webp``: a drag of the perplexity in the explorer, recorded in Chromium.

Run it from anywhere, with closeknit[explore,test] installed and Chromium on the PATH:
``python docs/record_explorer.py``.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits

from closeknit.explore import open_data
from closeknit.explore.server import serving

PICTURE = Path(__file__).with_name("explorer.webp")
SIZE = (1040, 640)
SHOWN = (780, 480)
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
#: Where the slider goes, in thousandths of its length, and how many pictures are taken there.
WAY = [(None, 6), *((place, 2) for place in range(790, 90, -100)), (90, 8),
       *((place, 2) for place in range(190, 800, 100)), (790, 10)]  # fmt: skip


def shoot(page: Any) -> Image.Image:
    """One picture of the page."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return picture.resize(SHOWN, Image.Resampling.LANCZOS)


def main() -> None:
    """Drag the perplexity down and up again, taking pictures."""
    digits = load_digits()
    session = open_data(digits.data, digits.target, title="1,797 digits", max_perplexity=60)
    with serving(session) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        page.goto(address)
        page.wait_for_selector('.ck[data-stage="settled"]', timeout=120_000)
        page.wait_for_timeout(800)
        pictures = []
        for place, count in WAY:
            if place is not None:
                page.evaluate(
                    """(place) => {
                      const input = document.querySelector('.ck-slider input');
                      input.value = String((place / 1000) * Number(input.max));
                      input.dispatchEvent(new Event('input'));
                      input.dispatchEvent(new Event('change'));
                    }""",
                    place,
                )
            for _ in range(count):
                page.wait_for_timeout(120)
                pictures.append(shoot(page))
        browser.close()
    options = {"duration": 140, "loop": 0, "quality": 62, "method": 6}
    pictures[0].save(PICTURE, save_all=True, append_images=pictures[1:], **options)
    print(f"{PICTURE.name}: {len(pictures)} pictures, {PICTURE.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()

"""Race the explorer's renderer against deck.gl and cosmos.gl: a new map of a million points.

In Chromium with software WebGL, after ``npm install`` in this folder::

    python benchmarks/renderers/race.py
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
BUNDLES = {
    "deck": 'export { Deck, OrthographicView } from "@deck.gl/core";'
    'export { ScatterplotLayer } from "@deck.gl/layers";',
    "cosmos": 'export { Graph } from "@cosmos.gl/graph";',
}


def bundle(source: str) -> bytes:
    """What esbuild makes of some lines, minified."""
    command = ["npx", "esbuild", "--bundle", "--minify", "--format=iife", "--log-level=error"]
    return subprocess.run(
        command, input=source.encode(), cwd=HERE, stdout=subprocess.PIPE, check=True
    ).stdout


def main() -> None:
    page = (HERE / "../../src/closeknit/explore/static/app.js").resolve().read_bytes()
    sizes = {"ours": page} | {name: bundle(source) for name, source in BUNDLES.items()}
    print("| | JavaScript per update | until the pixels are there | bundle | compressed |")
    print("|" + " --- |" * 5)
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        Path(folder, "race.js").write_bytes(bundle('import "./race.ts";'))
        html = Path(folder, "race.html")
        html.write_text(
            '<!doctype html><meta charset="utf-8"><body><script src="race.js"></script>'
        )
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, code in sizes.items():
            tab = browser.new_page()
            tab.set_default_timeout(600_000)
            tab.goto(html.as_uri())
            script, pixels = tab.evaluate("(name) => race(name)", name)
            shown = "–" if pixels is None or pixels != pixels else f"{pixels / 1000:.2f} s"
            kib = f"{len(code) / 1024:.0f} KiB | {len(gzip.compress(code)) / 1024:.0f} KiB"
            print(f"| {name} | {script:.1f} ms | {shown} | {kib} |", flush=True)
            tab.close()
        browser.close()


if __name__ == "__main__":
    main()

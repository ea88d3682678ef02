// A new map of a million points: milliseconds of JavaScript, and until the pixels are there.

import { Camera } from "../../explorer/src/camera";
import { makeRenderer } from "../../explorer/src/renderer";

const COUNT = 1_000_000;
const UPDATES = 4;
const SIDE = 256;
const maps = [0, 1, 2].map((k) =>
  Float32Array.from({ length: 2 * COUNT }, (_, i) => 100 * Math.sin(12.9898 * i + 0.001 * k)),
);
const steps = maps.map((map) => Uint16Array.from(map, (value) => 327.6 * (value + 100)));
const colors = new Uint8Array(4 * COUNT).fill(200);
const wait = (time: number) => new Promise((resolve) => setTimeout(resolve, time));

function addCanvas(): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIDE;
  document.body.append(canvas);
  return canvas;
}

/** The least time of an update, and until a pixel can be read; the first is for warming up. */
async function least(update: (turn: number) => void, canvas?: HTMLCanvasElement): Promise<number[]> {
  const times: number[][] = [];
  for (let turn = 0; turn < UPDATES; turn++) {
    await wait(50);
    const begun = performance.now();
    update(turn % 3);
    const script = performance.now() - begun;
    const gl = canvas?.getContext("webgl2");
    gl?.readPixels(SIDE / 2, SIDE / 2, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    times.push([script, gl ? performance.now() - begun : NaN]);
  }
  return [0, 1].map((i) => Math.min(...times.slice(1).map((pair) => pair[i])));
}

async function ours(): Promise<number[]> {
  const canvas = addCanvas();
  const renderer = makeRenderer(canvas);
  const camera = new Camera();
  camera.width = camera.height = SIDE;
  renderer.resize(SIDE, SIDE);
  renderer.setColors(colors);
  return least((turn) => {
    renderer.setPositions({ count: COUNT, data: steps[turn], box: { low: [-100, -100], high: [100, 100] } });
    renderer.draw(camera, 0.5, 1.3);
  }, canvas);
}

// The two others bring luma.gl in different versions, which do not bear each other on one page.
async function deck(): Promise<number[]> {
  const { Deck, OrthographicView } = await import("@deck.gl/core");
  const { ScatterplotLayer } = await import("@deck.gl/layers");
  const canvas = addCanvas();
  const layer = (map: Float32Array) =>
    new ScatterplotLayer({
      id: "points",
      data: { length: COUNT, attributes: { getPosition: { value: map, size: 2 }, getFillColor: { value: colors, size: 4 } } },
      getRadius: 0.65,
      radiusUnits: "pixels",
    });
  let made: any;
  await new Promise<void>((resolve) => {
    made = new Deck({
      canvas,
      width: SIDE,
      height: SIDE,
      views: new OrthographicView({}),
      initialViewState: { target: [0, 0, 0], zoom: 0 },
      layers: [layer(maps[0])],
      onAfterRender: () => resolve(),
    });
  });
  return least((turn) => {
    made.setProps({ layers: [layer(maps[turn])] });
    made.redraw("race");
  }, canvas);
}

async function cosmos(): Promise<number[]> {
  const { Graph } = await import("@cosmos.gl/graph");
  const parent = document.createElement("div");
  parent.style.width = parent.style.height = `${SIDE}px`;
  document.body.append(parent);
  const graph = new Graph(parent, { enableSimulation: false, pointDefaultSize: 1.3, fitViewOnInit: false });
  return least((turn) => {
    graph.setPointPositions(maps[turn]);
    graph.render();
  });
}

(window as any).race = (name: string) => ({ ours, deck, cosmos })[name]!();

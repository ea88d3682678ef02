// What is known about one point.

import { h, replace, shown } from "./dom";
import type { Header } from "./protocol";

export function showPoint(parent: HTMLElement, header: Header, payload: ArrayBuffer): void {
  const pairs = (header.values as [string, string][]).slice(0, 12);
  const items = pairs.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
  const sigma = header.sigma === null ? [] : [h("dt", {}, "bandwidth σ"), h("dd", {}, shown(header.sigma))];
  replace(
    parent,
    h("h3", {}, header.name),
    header.size && payload.byteLength ? thumbnail(header.size, payload) : null,
    h("dl", {}, ...sigma, ...items),
  );
}

function thumbnail([width, height]: [number, number], payload: ArrayBuffer): HTMLElement {
  const canvas = h("canvas", { width, height, className: "ck-thumbnail", role: "img" });
  canvas.setAttribute("aria-label", "Picture of the point");
  const pixels = new ImageData(new Uint8ClampedArray(payload), width, height);
  canvas.getContext("2d")!.putImageData(pixels, 0, 0);
  return canvas;
}

/** The true neighbours of a point, nearest first, with their affinities. */
export function showNeighbors(parent: HTMLElement, header: Header): void {
  const items = (header.names as string[])
    .slice(0, 10)
    .map((name, i) => h("li", {}, `${name}: ${shown(100 * header.affinities[i], 3)} %`));
  replace(
    parent,
    h("h3", {}, `Neighbours of ${header.name}`),
    h("p", { className: "ck-hint" }, `Shares of its affinity; its bandwidth σ is ${shown(header.sigma)}.`),
    h("ol", {}, ...items),
  );
}

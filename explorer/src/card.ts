// What is known about one point.

import { h, replace, shown } from "./dom";
import type { Header } from "./protocol";

const MOST = 12; // columns, and
const NEAREST = 10; // neighbours that there is room for

export function showPoint(parent: HTMLElement, header: Header, payload: ArrayBuffer): void {
  const pairs = (header.values as [string, string][]).slice(0, MOST);
  const hidden = header.columns - pairs.length;
  const items = pairs.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]);
  const sigma = header.sigma === null ? [] : [h("dt", {}, "bandwidth σ"), h("dd", {}, shown(header.sigma))];
  replace(
    parent,
    h("h3", {}, header.name),
    header.size && payload.byteLength ? thumbnail(header.size, payload) : null,
    hidden > 0 && h("p", { className: "ck-hint" }, `${pairs.length} of ${shown(header.columns)} columns`),
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
    .slice(0, NEAREST)
    .map((name, i) => h("li", {}, `${name}: ${shown(100 * header.affinities[i], 3)} %`));
  const which = header.total > items.length ? `The ${items.length} nearest of ${shown(header.total)} neighbours. ` : "";
  const drawn = header.total > header.names.length ? ` Lines lead to the nearest ${header.names.length}.` : "";
  replace(
    parent,
    h("h3", {}, `Neighbours of ${header.name}`),
    h("p", { className: "ck-hint" }, `${which}Shares of its affinity; its bandwidth σ is ${shown(header.sigma)}.${drawn}`),
    h("ol", {}, ...items),
  );
}

// What the colours mean; a click on a name selects its points.

import { css, extended, rangeOf, viridis, type Coloring, type Scheme } from "./colors";
import { h, replace, shown } from "./dom";

// What numbers mean that are no columns of the data.
const MEANINGS: Record<string, string> = {
  sigma: "How far away the neighbours of each point are, in the data’s own unit.",
  "trust:kept": "Of each point’s 15 nearest neighbours, how many are nearest on the map. Where few are, do not believe its place.",
  "trust:divergence": "What each point adds to the divergence, in nats. Where it is much, the map distorts the neighbourhood.",
  "trust:changed": "Of each point’s 15 nearest neighbours on one map, how many are not so on the other.",
};

/** While values are computed, which takes seconds for many points. */
export function showWaiting(parent: HTMLElement): void {
  replace(parent, h("p", { className: "ck-hint", role: "status" }, "Computing the colours…"));
}

export function showLegend(
  parent: HTMLElement,
  coloring: Coloring,
  { palette, ramp }: Scheme,
  choose: (code: number) => void,
): void {
  const { names, values, others } = coloring;
  if (!values) {
    replace(parent);
  } else if (names) {
    const colors = extended(palette, names.length);
    const items = names.map((name, code) => {
      const dot = h("span", { className: "ck-dot", "aria-hidden": "true" });
      dot.style.backgroundColor = css(colors[code]);
      const hint = `Select the points of ${name}`;
      return h("li", {}, h("button", { type: "button", title: hint, onclick: () => choose(code) }, dot, name));
    });
    const more = others ? `${shown(others)} rarer values have no colour of their own.` : "";
    replace(
      parent,
      h("ul", { className: "ck-names", "aria-label": "Legend" }, ...items),
      more && h("p", { className: "ck-hint" }, more),
    );
  } else {
    const numbers = values as Float32Array;
    const share = coloring.by === "trust:kept" || coloring.by === "trust:changed";
    const range = rangeOf(numbers);
    const beyond = [numbers.some((value) => value < range[0]), numbers.some((value) => value > range[1])];
    const [low, high] = range.map((end, i) => {
      const sign = beyond[i] ? ["≤ ", "≥ "][i] : "";
      return sign + (share ? `${shown(100 * end, 3)} %` : shown(end));
    });
    const bar = h("div", { className: "ck-bar", role: "img" });
    bar.setAttribute("aria-label", `Colours from ${low} to ${high}`);
    const stops = Array.from({ length: 9 }, (_, i) => css(viridis(i / 8, ramp)));
    bar.style.backgroundImage = `linear-gradient(90deg, ${stops.join(", ")})`;
    const without = numbers.reduce((count, value) => count + (Number.isNaN(value) ? 1 : 0), 0);
    const hints = [MEANINGS[coloring.by], without > 0 && `${shown(without)} points have no value; they are grey.`];
    replace(
      parent,
      bar,
      h("div", { className: "ck-ends" }, h("span", {}, low), h("span", {}, high)),
      ...hints.map((text) => text && h("p", { className: "ck-hint" }, text)),
    );
  }
}

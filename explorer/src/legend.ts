// What the colours mean; a click on a name selects its points.

import { css, extended, rangeOf, viridis, type Coloring, type Scheme } from "./colors";
import { h, replace, shown } from "./dom";

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
    const [low, high] = rangeOf(values as Float32Array);
    const bar = h("div", { className: "ck-bar", role: "img" });
    bar.setAttribute("aria-label", `Colours from ${shown(low)} to ${shown(high)}`);
    const stops = Array.from({ length: 9 }, (_, i) => css(viridis(i / 8, ramp)));
    bar.style.backgroundImage = `linear-gradient(90deg, ${stops.join(", ")})`;
    const ends = h("div", { className: "ck-ends" }, h("span", {}, shown(low)), h("span", {}, shown(high)));
    replace(parent, bar, ends);
  }
}

// The selected points: their rows, and how they differ from the others.

import { h, replace, shown } from "./dom";
import type { Header } from "./protocol";

interface Line {
  name: string;
  most?: string;
  inside: number;
  outside: number;
}

export function showSelection(parent: HTMLElement, header: Header): void {
  if (!header.count) {
    replace(parent, h("p", { className: "ck-hint" }, "Nothing is selected. Draw around points with the lasso or a box, or press a name of the legend. Hold Ctrl while drawing to add to what is selected."));
    return;
  }
  replace(
    parent,
    h("h3", {}, "What sets them apart"),
    summary(header.summary),
    h("h3", {}, header.rows.length < header.count ? `The first ${header.rows.length} rows of ${shown(header.count)}` : `${header.count} rows`),
    header.hidden > 0 && h("p", { className: "ck-hint" }, `${shown(header.hidden)} more columns are not shown here; exported rows have all.`),
    rows(header.columns, header.rows),
  );
}

function summary(lines: Line[]): HTMLElement {
  const cells = lines.map((line) => {
    const share = (value: number) => `${shown(100 * value, 3)} %`;
    const form = line.most === undefined ? (value: number) => shown(value) : share;
    const name = line.most === undefined ? `${line.name} (mean)` : `${line.name} is ${line.most}`;
    return h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, form(line.inside)), h("td", {}, form(line.outside)));
  });
  const head = h("tr", {}, ...["", "selected", "others"].map((text) => h("th", { scope: "col" }, text)));
  return scrolling("Summary of the selection", h("table", {}, h("thead", {}, head), h("tbody", {}, ...cells)));
}

function rows(columns: string[], content: string[][]): HTMLElement {
  const head = h("tr", {}, ...columns.map((text) => h("th", { scope: "col", title: text }, text)));
  const body = content.map((row) => h("tr", {}, ...row.map((text) => h("td", { title: text }, text))));
  return scrolling("Selected rows", h("table", {}, h("thead", {}, head), h("tbody", {}, ...body)));
}

function scrolling(label: string, table: HTMLElement): HTMLElement {
  return h("div", { className: "ck-table", tabIndex: 0, role: "region", "aria-label": label }, table);
}

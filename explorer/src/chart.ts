// How the divergence falls and the neighbours kept rise, iteration by iteration.

import { h, shown } from "./dom";

type Row = [number, number | null, number | null];

export class Chart {
  readonly element: HTMLElement;
  private rows: Row[] = [];
  private canvas = h("canvas", { className: "ck-chart", role: "img" });

  constructor() {
    this.element = h(
      "figure",
      { className: "ck-figure" },
      this.canvas,
      h(
        "figcaption",
        {},
        h("span", { className: "ck-key ck-key-1" }, "divergence"),
        " ",
        h("span", { className: "ck-key ck-key-2" }, "neighbours kept"),
      ),
    );
  }

  set(rows: Row[]): void {
    this.rows = [];
    rows.forEach((row) => this.add(row));
    this.draw();
  }

  add(row: Row): void {
    while (this.rows.length && this.rows[this.rows.length - 1][0] >= row[0]) this.rows.pop();
    this.rows.push(row);
    if (this.rows.length > 1200) this.rows = this.rows.filter((_, i) => i % 2 === 0);
  }

  draw(): void {
    const { canvas, rows } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext("2d")!;
    context.scale(ratio, ratio);
    const style = getComputedStyle(canvas);
    const last = rows[rows.length - 1];
    const first = rows[0]?.[0] ?? 0;
    const span = Math.max(1, (last?.[0] ?? 1) - first);
    for (const [column, color] of [
      [1, "--ck-accent"],
      [2, "--ck-second"],
    ] as const) {
      const values = rows.map((row) => row[column]).filter((v): v is number => v !== null);
      if (!values.length) continue;
      const low = column === 2 ? 0 : Math.min(...values);
      const high = column === 2 ? 1 : Math.max(...values.slice(Math.floor(values.length / 10)));
      context.strokeStyle = style.getPropertyValue(color);
      context.lineWidth = 1.5;
      context.beginPath();
      for (const row of rows) {
        const value = row[column];
        if (value === null) continue;
        const y = height - 3 - ((Math.min(value, high) - low) / (high - low || 1)) * (height - 6);
        context.lineTo(((row[0] - first) / span) * width, y);
      }
      context.stroke();
    }
    const words = last
      ? `Learning curve: after ${last[0]} iterations divergence ${shown(last[1])}, neighbours kept ` +
        (last[2] === null ? "unknown" : `${shown(100 * last[2], 3)} percent`)
      : "Learning curve, empty";
    canvas.setAttribute("aria-label", words);
  }
}

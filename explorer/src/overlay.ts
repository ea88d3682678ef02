// What is drawn over the points: lines to neighbours, rings, and the outline of a selection.

import type { Camera } from "./camera";
import { pointAt, type Positions } from "./positions";

export type Place = [number, number];

export interface Lines {
  from: number;
  to: Uint32Array;
  affinities: number[];
}

export interface Marks {
  lines: Lines | null;
  found: Uint32Array | null; // by the search
  marked: number; // the point under the pointer, or -1
  outline: Place[]; // of a lasso or box
  cursor: Place | null; // the cross that keys move
  corner: Place | null; // of the box that they draw
}

export function drawMarks(canvas: HTMLCanvasElement, camera: Camera, positions: Positions, marks: Marks): void {
  // On the processor: where there is no graphics card, Chromium shows old lines after a mere clearing.
  const c = canvas.getContext("2d", { willReadFrequently: true })!;
  const ratio = canvas.width / camera.width;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, camera.width, camera.height);
  const style = getComputedStyle(canvas);
  const [ink, accent] = ["--ck-ink", "--ck-accent"].map((name) => style.getPropertyValue(name));
  const at = (index: number) => camera.toScreen(...pointAt(positions, index));
  const there = (index: number) => index >= 0 && index < positions.count;
  const { lines, found, marked, outline, cursor, corner } = marks;
  if (lines && there(lines.from)) {
    const start = at(lines.from);
    const most = Math.max(...lines.affinities, 1e-12);
    c.strokeStyle = accent;
    lines.to.forEach((to, i) => {
      const share = lines.affinities[i] / most;
      c.globalAlpha = 0.15 + 0.75 * share;
      c.lineWidth = 0.5 + 2 * share;
      c.beginPath();
      c.moveTo(...start);
      c.lineTo(...at(to));
      c.stroke();
    });
    c.globalAlpha = 1;
    ring(c, start, 6, accent);
  }
  found?.forEach((index) => there(index) && ring(c, at(index), 5, ink));
  if (there(marked)) ring(c, at(marked), 7, ink);
  if (outline.length > 1) area(c, outline, accent);
  if (cursor) cross(c, cursor, accent);
  if (cursor && corner) area(c, rectangle(corner, cursor), accent);
}

export function rectangle([x, y]: Place, [u, v]: Place): Place[] {
  return [
    [x, y],
    [u, y],
    [u, v],
    [x, v],
  ];
}

function ring(c: CanvasRenderingContext2D, [x, y]: Place, r: number, color: string): void {
  c.strokeStyle = color;
  c.lineWidth = 1.5;
  c.beginPath();
  c.arc(x, y, r, 0, 2 * Math.PI);
  c.stroke();
}

function cross(c: CanvasRenderingContext2D, [x, y]: Place, color: string): void {
  c.strokeStyle = color;
  c.lineWidth = 1.5;
  c.beginPath();
  c.moveTo(x - 9, y);
  c.lineTo(x + 9, y);
  c.moveTo(x, y - 9);
  c.lineTo(x, y + 9);
  c.stroke();
}

function area(c: CanvasRenderingContext2D, polygon: Place[], color: string): void {
  c.strokeStyle = c.fillStyle = color;
  c.lineWidth = 1.5;
  c.beginPath();
  polygon.forEach((place, i) => (i ? c.lineTo(...place) : c.moveTo(...place)));
  c.closePath();
  c.globalAlpha = 0.12;
  c.fill();
  c.globalAlpha = 1;
  c.stroke();
}

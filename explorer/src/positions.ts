// A map as it came: in 16 bits inside a box while it moves, in 32 when it rests.

import type { Box } from "./camera";
import type { Header } from "./protocol";

export interface Positions {
  count: number;
  data: Uint16Array | Float32Array;
  /** Where 0 and 65535 lie; for floats, the box around them. */
  box: Box;
}

export function positionsOf(header: Header, payload: ArrayBuffer): Positions {
  if (header.low) {
    const data = new Uint16Array(payload);
    return { count: data.length / 2, data, box: { low: header.low, high: header.high } };
  }
  const data = new Float32Array(payload);
  const box: Box = { low: [Infinity, Infinity], high: [-Infinity, -Infinity] };
  for (let i = 0; i < data.length; i++) {
    const axis = i & 1;
    if (data[i] < box.low[axis]) box.low[axis] = data[i];
    if (data[i] > box.high[axis]) box.high[axis] = data[i];
  }
  return { count: data.length / 2, data, box };
}

/** What a stored number must be multiplied by, and what be added: [sx, sy, ox, oy]. */
export function frameOf({ data, box }: Positions): [number, number, number, number] {
  if (data instanceof Float32Array) return [1, 1, 0, 0];
  const span = (axis: 0 | 1) => (box.high[axis] - box.low[axis]) / 65535;
  return [span(0), span(1), box.low[0], box.low[1]];
}

export function pointAt(positions: Positions, index: number): [number, number] {
  const [sx, sy, ox, oy] = frameOf(positions);
  return [positions.data[2 * index] * sx + ox, positions.data[2 * index + 1] * sy + oy];
}

/** The point nearest to a place, if there is one within a distance: a scan, 2 ms for a million. */
export function nearest(positions: Positions, x: number, y: number, within: number): number {
  const { data, count } = positions;
  const [sx, sy, ox, oy] = frameOf(positions);
  let best = within * within;
  let found = -1;
  for (let i = 0; i < count; i++) {
    const dx = data[2 * i] * sx + ox - x;
    const dy = data[2 * i + 1] * sy + oy - y;
    const distance = dx * dx + dy * dy;
    if (distance < best) {
      best = distance;
      found = i;
    }
  }
  return found;
}

/** Which points lie inside a polygon, as ones and zeros. */
export function inside(positions: Positions, polygon: [number, number][]): Uint8Array {
  const { data, count } = positions;
  const [sx, sy, ox, oy] = frameOf(positions);
  const xs = polygon.map(([x]) => x);
  const ys = polygon.map(([, y]) => y);
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = [Math.min(...ys), Math.max(...ys)];
  const out = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const x = data[2 * i] * sx + ox;
    const y = data[2 * i + 1] * sy + oy;
    if (x < x0 || x > x1 || y < y0 || y > y1) continue;
    let odd = false;
    for (let a = 0, b = polygon.length - 1; a < polygon.length; b = a++) {
      if (ys[a] > y !== ys[b] > y && x < ((xs[b] - xs[a]) * (y - ys[a])) / (ys[b] - ys[a]) + xs[a]) {
        odd = !odd;
      }
    }
    if (odd) out[i] = 1;
  }
  return out;
}

/** A bit per point, the lowest first. */
export function bits(selected: Uint8Array): Uint8Array {
  const out = new Uint8Array((selected.length + 7) >> 3);
  for (let i = 0; i < selected.length; i++) if (selected[i]) out[i >> 3] |= 1 << (i & 7);
  return out;
}

export function unbits(payload: ArrayBuffer, count: number): Uint8Array {
  const packed = new Uint8Array(payload);
  return Uint8Array.from({ length: count }, (_, i) => (packed[i >> 3] >> (i & 7)) & 1);
}

// Colours of points: the palette that pictures have, and viridis for numbers.

export interface Coloring {
  /** What is shown, or "" for one colour for all. */
  by: string;
  names: string[] | null;
  values: Uint16Array | Float32Array | null;
}

type RGB = [number, number, number];

const VIRIDIS = (
  "440154 481a6c 472f7d 414487 39568c 31688e 2a788e 23888e " +
  "1f988b 22a884 35b779 54c568 7ad151 a5db36 d2e21b fde725"
)
  .split(" ")
  .map(parse);

export function parse(color: string): RGB {
  const number = parseInt(color.replace("#", ""), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

export const css = ([r, g, b]: RGB) => `rgb(${r} ${g} ${b})`;

/** The palette, repeated paler and darker by turns, as closeknit.plotting extends it. */
export function extended(palette: string[], count: number): RGB[] {
  const rounds = Math.max(1, Math.ceil(count / palette.length));
  const colors: RGB[] = palette.map(parse);
  for (let turn = 1; turn < rounds; turn++) {
    const share = (0.5 * Math.floor((turn + 1) / 2)) / Math.floor(rounds / 2);
    const goal = turn % 2 ? 255 : 0;
    for (const color of palette.map(parse)) {
      colors.push(color.map((part) => Math.round(part + share * (goal - part))) as RGB);
    }
  }
  return colors.slice(0, Math.max(count, 1));
}

export function viridis(share: number): RGB {
  const place = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return VIRIDIS[low].map((part, i) =>
    Math.round(part + (place - low) * (VIRIDIS[low + 1][i] - part)),
  ) as RGB;
}

/** The range that colours span: all but a hundredth of the values at either end. */
export function rangeOf(values: Float32Array): [number, number] {
  const step = Math.max(1, Math.floor(values.length / 20_000));
  const sample: number[] = [];
  for (let i = 0; i < values.length; i += step) if (Number.isFinite(values[i])) sample.push(values[i]);
  sample.sort((a, b) => a - b);
  if (!sample.length) return [0, 1];
  const low = sample[Math.floor(0.01 * (sample.length - 1))];
  const high = sample[Math.ceil(0.99 * (sample.length - 1))];
  return high > low ? [low, high] : [low, low + 1];
}

/** Red, green, blue and opacity of every point; what is not selected is faint. */
export function paint(
  count: number,
  coloring: Coloring,
  selected: Uint8Array | null,
  palette: string[],
  missing: string,
): Uint8Array {
  const out = new Uint8Array(4 * count);
  const { names, values } = coloring;
  const usable = values && values.length === count;
  const table = new Uint8Array(4 * 257);
  const entry = (i: number, [r, g, b]: RGB) => table.set([r, g, b, 255], 4 * i);
  let code: (i: number) => number;
  if (!usable) {
    entry(0, parse(palette[0]));
    code = () => 0;
  } else if (names) {
    extended(palette, names.length).forEach((color, i) => i < 256 && entry(i, color));
    entry(256, parse(missing));
    code = (i) => (values[i] < names.length ? values[i] : 256);
  } else {
    const [low, high] = rangeOf(values as Float32Array);
    for (let i = 0; i < 256; i++) entry(i, viridis(i / 255));
    const scale = 255 / (high - low);
    code = (i) => Math.min(Math.max(Math.round((values[i] - low) * scale), 0), 255);
  }
  for (let i = 0; i < count; i++) {
    const from = 4 * code(i);
    out[4 * i] = table[from];
    out[4 * i + 1] = table[from + 1];
    out[4 * i + 2] = table[from + 2];
    out[4 * i + 3] = selected && !selected[i] ? 40 : 235;
  }
  return out;
}

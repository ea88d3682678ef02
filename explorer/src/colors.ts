// Colours of points: the palette that pictures have, and viridis for numbers.

export interface Coloring {
  /** What is shown, or "" for one colour for all. */
  by: string;
  names: string[] | null;
  values: Uint16Array | Float32Array | null;
  /** Names without a colour, of which there are too many. */
  others?: number;
}

/** Colours of a theme. */
export interface Scheme {
  palette: string[];
  missing: string;
  /** The part of the colour map that numbers run along. */
  ramp: [number, number];
  /** Opacity of what is not selected, of 255. */
  faint: number;
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

export function viridis(share: number, [from, to]: [number, number] = [0, 1]): RGB {
  const place = (from + (to - from) * Math.min(Math.max(share, 0), 1)) * (VIRIDIS.length - 1);
  const low = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return VIRIDIS[low].map((part, i) =>
    Math.round(part + (place - low) * (VIRIDIS[low + 1][i] - part)),
  ) as RGB;
}

/** The range that colours span: all but a hundredth of the values at either end, which look like the ends. */
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
  { palette, missing, ramp, faint }: Scheme,
): Uint8Array {
  const out = new Uint8Array(4 * count);
  const { names, values } = coloring;
  const usable = values && values.length === count;
  const none = names ? names.length : 256; // the entry of points without a value
  const table = new Uint8Array(4 * (none + 1));
  const entry = (i: number, [r, g, b]: RGB) => table.set([r, g, b, 255], 4 * i);
  entry(none, parse(missing));
  let code: (i: number) => number;
  if (!usable) {
    entry(0, parse(palette[0]));
    code = () => 0;
  } else if (names) {
    extended(palette, names.length).forEach((color, i) => i < none && entry(i, color));
    code = (i) => Math.min(values[i], none);
  } else {
    const [low, high] = rangeOf(values as Float32Array);
    for (let i = 0; i < 256; i++) entry(i, viridis(i / 255, ramp));
    const scale = 255 / (high - low);
    code = (i) => {
      const place = Math.round((values[i] - low) * scale);
      return place === place ? Math.min(Math.max(place, 0), 255) : none;
    };
  }
  for (let i = 0; i < count; i++) {
    const from = 4 * code(i);
    out[4 * i] = table[from];
    out[4 * i + 1] = table[from + 1];
    out[4 * i + 2] = table[from + 2];
    out[4 * i + 3] = selected && !selected[i] ? faint : 235;
  }
  return out;
}

"use strict";
// Everything that comes from the data is set as text, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
const X = new Float32Array(bytes(data.positions));
const n = X.length / 2;
const over = data.over; // the first of the points that are drawn over the others
for (const column of data.columns) {
  if (column.kind === "labels") column.codes = new Int32Array(bytes(column.codes));
  if (column.kind === "values") {
    const numbers = bytes(column.numbers);
    column.numbers = column.wide ? new Float64Array(numbers) : new Float32Array(numbers);
  }
}
const element = (id) => document.getElementById(id);
const canvas = element("points"), tip = element("tip"), choice = element("color");
const context = canvas.getContext("2d");
const MISSING = [200, 200, 200], PLAIN = data.plain;

let low = [Infinity, Infinity], high = [-Infinity, -Infinity];
for (let i = 0; i < 2 * n; i++) {
  low[i % 2] = Math.min(low[i % 2], X[i]);
  high[i % 2] = Math.max(high[i % 2], X[i]);
}
// The same order every time, in which no class hides another.
const order = new Uint32Array(n);
for (let i = 0, state = 1; i < n; i++) {
  order[i] = i;
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  const j = Math.floor((state / 4294967296) * (i + 1));
  [order[i], order[j]] = [order[j], order[i]];
}

const view = { scale: 1, x: 0, y: 0 };
let width = 1, height = 1, ratio = 1, column = null, only = null, hovered = -1, waiting = false;
let image = null; // what was drawn last, without the point under the pointer
const colors = new Uint8Array(3 * n);

function fit() {
  const extent = Math.max(high[0] - low[0], 1e-9), rise = Math.max(high[1] - low[1], 1e-9);
  view.scale = 0.92 * Math.min(width / extent, height / rise);
  view.x = 0.5 * (low[0] + high[0]);
  view.y = 0.5 * (low[1] + high[1]);
  view.whole = view.scale;
}

const place = (i) => [
  0.5 * width + view.scale * (X[2 * i] - view.x),
  0.5 * height - view.scale * (X[2 * i + 1] - view.y),
];

function radius() {
  const usual = Math.min(4, Math.max(1.1, 130 / Math.sqrt(n)));
  return ratio * Math.min(7, usual * Math.sqrt(view.scale / view.whole));
}

function recolor() {
  column = data.columns[Number(choice.value)] ?? null;
  only = null;
  for (let i = 0; i < n; i++) colors.set(colorOf(i), 3 * i);
  drawLegend();
  redraw();
}

// Counts and numbers of rows to the last digit, measurements to some.
const shown = (value, whole, digits) => String(whole ? value : Number(value.toPrecision(digits)));

function colorOf(i) {
  if (!column) return PLAIN;
  if (column.kind === "labels") return column.codes[i] < 0 ? MISSING : column.colors[column.codes[i]];
  const value = column.numbers[i];
  if (!Number.isFinite(value)) return MISSING;
  const share = column.high > column.low ? (value - column.low) / (column.high - column.low) : 0.5;
  return data.scale[Math.round(share * (data.scale.length - 1))];
}

// Dots are blended into an image: tens of thousands take a few milliseconds.
function draw() {
  waiting = false;
  image = context.createImageData(canvas.width, canvas.height);
  const pixels = image.data;
  const r = radius(), reach = Math.ceil(r);
  const faded = only === null ? 0.85 : 0.06;
  for (const first of only === null ? [false] : [false, true]) {
    for (let k = 0; k < n; k++) {
      const i = order[k];
      const chosen = only !== null && column.codes[i] === only;
      if (i >= over || (only !== null && chosen !== first)) continue;
      const cx = ratio * (0.5 * width + view.scale * (X[2 * i] - view.x));
      const cy = ratio * (0.5 * height - view.scale * (X[2 * i + 1] - view.y));
      if (cx < -r || cy < -r || cx > canvas.width + r || cy > canvas.height + r) continue;
      const px = Math.floor(cx), py = Math.floor(cy), alpha = chosen ? 0.95 : faded;
      for (let row = Math.max(0, py - reach); row <= Math.min(canvas.height - 1, py + reach); row++) {
        for (let at = Math.max(0, px - reach); at <= Math.min(canvas.width - 1, px + reach); at++) {
          const cover = Math.min(1, r + 0.5 - Math.hypot(at + 0.5 - cx, row + 0.5 - cy));
          if (cover <= 0) continue;
          const a = alpha * cover, p = 4 * (row * canvas.width + at), before = (pixels[p + 3] / 255) * (1 - a);
          const total = a + before;
          for (let c = 0; c < 3; c++) pixels[p + c] = (a * colors[3 * i + c] + before * pixels[p + c]) / total;
          pixels[p + 3] = 255 * total;
        }
      }
    }
  }
  mark();
}

// The rings of new points and of the point under the pointer, over the image of all others.
function mark() {
  if (!image) return;
  context.putImageData(image, 0, 0);
  const r = radius();
  const ink = getComputedStyle(document.body).color;
  const ring = (i, size, line) => {
    const [x, y] = place(i);
    context.beginPath();
    context.arc(x * ratio, y * ratio, size, 0, 2 * Math.PI);
    context.lineWidth = line * ratio;
    context.strokeStyle = ink;
    context.fillStyle = `rgb(${colors.subarray(3 * i, 3 * i + 3).join(" ")})`;
    context.fill();
    context.stroke();
  };
  for (let i = over; i < n; i++) ring(i, r + 2 * ratio, 1.2);
  if (hovered >= 0) ring(hovered, r + 3 * ratio, 2);
}

function redraw() {
  if (!waiting) {
    waiting = true;
    requestAnimationFrame(draw);
  }
}

function drawLegend() {
  const legend = element("legend");
  legend.replaceChildren();
  legend.hidden = !column;
  if (!column) return;
  if (column.kind === "values") {
    const bar = document.createElement("canvas"), ends = document.createElement("div");
    bar.width = data.scale.length;
    bar.height = 1;
    const brush = bar.getContext("2d");
    data.scale.forEach((color, i) => {
      brush.fillStyle = `rgb(${color.join(" ")})`;
      brush.fillRect(i, 0, 1, 1);
    });
    for (const end of [column.low, column.high]) {
      const text = document.createElement("span");
      text.textContent = shown(end, column.whole, 4);
      ends.append(text);
    }
    legend.append(bar, ends);
    return;
  }
  const names = column.names.map((name, code) => [name, column.colors[code], code]);
  if (column.codes.includes(-1)) names.push(["no label", MISSING, -1]);
  for (const [name, color, code] of names) {
    const button = document.createElement("button"), dot = document.createElement("i");
    dot.style.background = `rgb(${color.join(" ")})`;
    const text = document.createElement("span");
    text.textContent = name;
    button.append(dot, text);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      only = only === code ? null : code;
      for (const other of legend.children) other.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-pressed", String(only === code));
      redraw();
    });
    legend.append(button);
  }
}

// ---- the point under the pointer, by cells of the plane --------------------------------------------

const SIDE = Math.max(1, Math.floor(Math.sqrt(n / 4)));
const cellOf = (value, axis) =>
  Math.min(SIDE - 1, Math.max(0, Math.floor(((value - low[axis]) / (high[axis] - low[axis] || 1)) * SIDE)));
const starts = new Uint32Array(SIDE * SIDE + 1), members = new Uint32Array(n);
const home = (i) => cellOf(X[2 * i + 1], 1) * SIDE + cellOf(X[2 * i], 0);
for (let i = 0; i < n; i++) starts[home(i) + 1]++;
for (let c = 0; c < SIDE * SIDE; c++) starts[c + 1] += starts[c];
const next = starts.slice();
for (let i = 0; i < n; i++) members[next[home(i)]++] = i;

function nearest(px, py) {
  const reach = 9 / view.scale;
  const x = view.x + (px - 0.5 * width) / view.scale, y = view.y - (py - 0.5 * height) / view.scale;
  let best = -1, least = reach * reach;
  for (let row = cellOf(y - reach, 1); row <= cellOf(y + reach, 1); row++) {
    for (let at = cellOf(x - reach, 0); at <= cellOf(x + reach, 0); at++) {
      for (let k = starts[row * SIDE + at]; k < starts[row * SIDE + at + 1]; k++) {
        const i = members[k], distance = (X[2 * i] - x) ** 2 + (X[2 * i + 1] - y) ** 2;
        if (distance <= least) [best, least] = [i, distance];
      }
    }
  }
  return best;
}

function describe(i) {
  const list = document.createElement("dl");
  const add = (name, value) => {
    const term = document.createElement("dt"), text = document.createElement("dd");
    term.textContent = name;
    text.textContent = value;
    list.append(term, text);
  };
  add(i < over ? "point" : "new point", String((i < over ? i : i - over) + 1));
  for (const one of data.columns) {
    if (one.kind === "labels") add(one.name, one.codes[i] < 0 ? "–" : one.names[one.codes[i]]);
    else if (one.kind === "values") add(one.name, shown(one.numbers[i], one.whole, 6));
    else add(one.name, one.items[i]);
  }
  tip.replaceChildren(list);
}

function hover(px, py) {
  const i = nearest(px, py);
  if (i !== hovered) {
    hovered = i;
    if (i >= 0) describe(i);
    mark();
  }
  tip.hidden = i < 0;
  if (i < 0) return;
  tip.style.left = `${Math.max(0, Math.min(px + 14, width - tip.offsetWidth - 4))}px`;
  tip.style.top = `${Math.max(0, Math.min(py + 14, height - tip.offsetHeight - 4))}px`;
}

// ---- zoom and pan ----------------------------------------------------------------------------------

function zoom(factor, px = 0.5 * width, py = 0.5 * height) {
  const scale = Math.min(view.whole * 2000, Math.max(view.whole * 0.5, view.scale * factor));
  view.x += (px - 0.5 * width) * (1 / view.scale - 1 / scale);
  view.y -= (py - 0.5 * height) * (1 / view.scale - 1 / scale);
  view.scale = scale;
  redraw();
}

function pan(dx, dy) {
  view.x -= dx / view.scale;
  view.y += dy / view.scale;
  redraw();
}

const fingers = new Map();
const at = (event) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoom(Math.exp(-0.0015 * event.deltaY), ...at(event));
}, { passive: false });
canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  fingers.set(event.pointerId, at(event));
});
canvas.addEventListener("pointermove", (event) => {
  const [x, y] = at(event), before = fingers.get(event.pointerId);
  if (!before) return hover(x, y);
  if (fingers.size === 1) pan(x - before[0], y - before[1]);
  else {
    const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
    const spread = (point) => Math.max(1, Math.hypot(point[0] - other[0], point[1] - other[1]));
    zoom(spread([x, y]) / spread(before), 0.5 * (x + other[0]), 0.5 * (y + other[1]));
  }
  fingers.set(event.pointerId, [x, y]);
});
for (const name of ["pointerup", "pointercancel"])
  canvas.addEventListener(name, (event) => fingers.delete(event.pointerId));
canvas.addEventListener("pointerleave", () => hover(-1e9, -1e9));
canvas.addEventListener("dblclick", () => { fit(); redraw(); });
const KEYS = {
  "+": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: () => { fit(); redraw(); },
  ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0),
  ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60),
};
canvas.addEventListener("keydown", (event) => {
  if (KEYS[event.key]) {
    KEYS[event.key]();
    event.preventDefault();
  }
});

// ---- begin -----------------------------------------------------------------------------------------

data.columns.forEach((one, i) => {
  if (one.kind === "text") return;
  const option = document.createElement("option");
  option.value = String(i);
  option.textContent = one.name;
  choice.append(option);
});
choice.value = String(data.color);
choice.parentElement.hidden = choice.options.length < 2;
choice.addEventListener("change", recolor);
new ResizeObserver(() => {
  const box = element("map").getBoundingClientRect(), first = width === 1;
  ratio = window.devicePixelRatio || 1;
  [width, height] = [Math.max(1, box.width), Math.max(1, box.height)];
  [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (first) fit();
  redraw();
}).observe(element("map"));
recolor();

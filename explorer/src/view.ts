// One map on the screen: points, lines to neighbours, and what hands and keys do to it.

import { Camera } from "./camera";
import { h } from "./dom";
import { ARROWS, keyOf } from "./keys";
import { drawMarks, rectangle, type Lines, type Marks, type Place } from "./overlay";
import { inside, nearest, type Positions } from "./positions";
import { makeRenderer, pointSize, type Renderer } from "./renderer";

export type Mode = "pan" | "lasso" | "box";

export interface ViewEvents {
  onHover(index: number, x: number, y: number): void;
  onPick(index: number): void;
  onSelect(selected: Uint8Array, add: boolean): void;
  onKey(key: string): boolean;
}

const REACH = 14; // pixels around a pointer in which a point is meant
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class MapView {
  readonly element: HTMLElement;
  readonly camera = new Camera();
  positions: Positions | null = null;
  mode: Mode = "pan";
  private renderer: Renderer;
  private overlay: HTMLCanvasElement;
  private marks: Marks = { lines: null, found: null, marked: -1, outline: [], cursor: null, corner: null };
  private pointers = new Map<number, Place>();
  private dragged = 0;
  private drawing = false;
  private began = 0;
  private pace = 50; // milliseconds between frames
  private arrived = 0;
  private eased = 0;
  private onDrawn: (() => void) | null = null;
  private watcher: ResizeObserver;

  constructor(
    label: string,
    private events: ViewEvents,
  ) {
    const canvas = h("canvas", { className: "ck-points", "aria-hidden": "true" });
    this.overlay = h("canvas", { className: "ck-overlay", tabIndex: 0, role: "application" });
    this.overlay.setAttribute("aria-label", label);
    this.element = h("div", { className: "ck-map" }, canvas, this.overlay);
    this.renderer = makeRenderer(canvas);
    this.element.dataset.renderer = this.renderer.kind;
    this.listen();
    this.watcher = new ResizeObserver(() => this.resize());
    this.watcher.observe(this.element);
  }

  /** Take a new map, towards which points move; `drawn` is called once it is on the screen. */
  show(positions: Positions, drawn?: () => void): void {
    const now = performance.now();
    const others = this.positions?.count !== positions.count;
    if (this.arrived && !others) {
      this.pace = Math.min(Math.max(0.7 * this.pace + 0.3 * (now - this.arrived), 16), 600);
    }
    this.arrived = this.began = now;
    this.positions = positions;
    this.camera.target = positions.box;
    this.renderer.setPositions(positions);
    if (others) {
      Object.assign(this.marks, { lines: null, found: null, marked: -1 });
      this.camera.follows = true;
    }
    if (this.camera.follows && (others || calm.matches)) this.camera.fit(positions.box);
    this.onDrawn = drawn ?? null;
    this.element.toggleAttribute("data-moving", true); // for whoever waits for a still picture
    this.redraw();
  }

  paint(colors: Uint8Array): void {
    this.renderer.setColors(colors);
    this.redraw();
  }

  setLines(lines: Lines | null): void {
    this.marks.lines = lines;
    this.redraw();
  }

  mark(index: number): void {
    if (this.marks.marked !== index) {
      this.marks.marked = index;
      this.redraw();
    }
  }

  setFound(found: Uint32Array | null): void {
    this.marks.found = found;
    this.redraw();
  }

  fit(): void {
    this.camera.follows = true;
    if (this.positions) this.camera.fit(this.positions.box);
    this.redraw();
  }

  setMode(mode: Mode): void {
    this.mode = mode;
    this.marks.cursor = this.marks.corner = null;
    this.overlay.style.cursor = mode === "pan" ? "grab" : "crosshair";
    this.redraw();
  }

  dispose(): void {
    this.watcher.disconnect();
    this.renderer.dispose();
  }

  redraw(): void {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.drawing = false;
    const positions = this.positions;
    if (!positions) return;
    const spent = (performance.now() - this.began) / this.pace;
    const share = calm.matches ? 1 : Math.min(1, spent);
    const arrived = !this.camera.follows || this.camera.fit(positions.box, this.easing());
    const size = pointSize(positions.count, this.camera, this.camera.scaleOf(positions.box));
    this.renderer.draw(this.camera, share, size);
    drawMarks(this.overlay, this.camera, positions, this.marks);
    const drawn = this.onDrawn;
    this.onDrawn = null;
    drawn?.();
    const moving = share < 1 || !arrived;
    this.element.toggleAttribute("data-moving", moving);
    if (moving) this.redraw();
  }

  /** The share of the way that the camera goes in this frame: most of it in a quarter second. */
  private easing(): number {
    const now = performance.now();
    const passed = now - this.eased;
    this.eased = now;
    return calm.matches ? 1 : 1 - Math.exp(-Math.min(passed, 250) / 90);
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.element;
    if (!clientWidth || !clientHeight) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.camera.width = clientWidth;
    this.camera.height = clientHeight;
    const [width, height] = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    this.renderer.resize(width, height);
    this.overlay.width = width;
    this.overlay.height = height;
    if (this.camera.follows && this.positions) this.camera.fit(this.positions.box);
    this.redraw();
  }

  // Hands and keys ------------------------------------------------------------------------------

  private listen(): void {
    const on = <K extends keyof HTMLElementEventMap>(
      name: K,
      act: (event: HTMLElementEventMap[K]) => void,
      options?: AddEventListenerOptions,
    ) => this.overlay.addEventListener(name, act, options);
    on("pointerdown", (event) => this.press(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", (event) => this.release(event));
    on("pointercancel", (event) => this.release(event));
    on("pointerleave", () => this.events.onHover(-1, 0, 0));
    on("blur", () => this.leave());
    on("dblclick", () => this.fit());
    on("keydown", (event) => this.key(event));
    on("wheel", (event) => this.wheel(event), { passive: false });
  }

  private place(event: MouseEvent): Place {
    const box = this.overlay.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  private selecting(event: MouseEvent): boolean {
    return this.mode !== "pan" || event.shiftKey;
  }

  private press(event: PointerEvent): void {
    this.overlay.focus();
    this.overlay.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.place(event));
    this.dragged = 0;
    this.events.onHover(-1, 0, 0);
    if (this.mode === "pan") this.marks.cursor = null;
    this.marks.outline = this.selecting(event) && this.pointers.size === 1 ? [this.place(event)] : [];
  }

  private move(event: PointerEvent): void {
    const here = this.place(event);
    const last = this.pointers.get(event.pointerId);
    if (!last) {
      this.hover(here);
      return;
    }
    const [dx, dy] = [here[0] - last[0], here[1] - last[1]];
    this.dragged += Math.abs(dx) + Math.abs(dy);
    if (this.marks.outline.length) {
      if (this.mode === "box") this.marks.outline = rectangle(this.marks.outline[0], here);
      else this.marks.outline.push(here);
    } else if (this.pointers.size === 2) {
      this.pinch(event.pointerId, here);
    } else {
      this.camera.pan(dx, dy);
    }
    this.pointers.set(event.pointerId, here);
    this.redraw();
  }

  private pinch(moved: number, here: Place): void {
    const [other] = [...this.pointers].filter(([id]) => id !== moved).map(([, place]) => place);
    const last = this.pointers.get(moved)!;
    const length = (a: Place) => Math.hypot(a[0] - other[0], a[1] - other[1]) || 1;
    this.camera.zoom(length(here) / length(last), (here[0] + other[0]) / 2, (here[1] + other[1]) / 2);
  }

  private release(event: PointerEvent): void {
    const place = this.place(event);
    this.pointers.delete(event.pointerId);
    const polygon = this.marks.outline;
    this.marks.outline = [];
    if (this.dragged < 4) {
      this.events.onPick(this.pick(place));
    } else if (polygon.length > 2) {
      this.select(polygon, event.ctrlKey || event.metaKey);
    }
    this.redraw();
  }

  private select(polygon: Place[], add: boolean): void {
    if (!this.positions) return;
    const corners = polygon.map(([x, y]) => this.camera.toMap(x, y));
    this.events.onSelect(inside(this.positions, corners), add);
  }

  private pick([x, y]: Place): number {
    if (!this.positions) return -1;
    return nearest(this.positions, ...this.camera.toMap(x, y), REACH / this.camera.scale);
  }

  private hover(place: Place): void {
    this.events.onHover(this.pick(place), ...place);
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.camera.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), ...this.place(event));
    this.redraw();
  }

  private key(event: KeyboardEvent): void {
    const key = keyOf(event);
    const arrow = ARROWS[key];
    if (arrow && this.mode === "pan") {
      this.camera.pan(-40 * arrow[0], -40 * arrow[1]);
      this.showMiddle();
    } else if (arrow) {
      this.steer(arrow, event.shiftKey ? 4 : 20);
    } else if (key === "Enter" && this.mode === "pan") {
      this.showMiddle();
      this.events.onPick(this.pick(this.marks.cursor!));
    } else if (key === "Enter") {
      this.setCorner(event.ctrlKey || event.metaKey);
    } else if (key === "+" || key === "=") this.camera.zoom(1.25);
    else if (key === "-") this.camera.zoom(0.8);
    else if (key === "f" || key === "0") this.fit();
    else if (key === "Escape" && this.marks.corner) this.marks.corner = null;
    else if (!this.events.onKey(key)) return;
    event.preventDefault();
    this.redraw();
  }

  /** A cross where Enter looks for a point, and that point. */
  private showMiddle(): void {
    this.marks.cursor = [this.camera.width / 2, this.camera.height / 2];
    this.hover(this.marks.cursor);
  }

  /** The keys go elsewhere: what they showed goes, but for a box that was begun. */
  private leave(): void {
    if (!this.marks.corner) this.marks.cursor = null;
    this.events.onHover(-1, 0, 0);
    this.redraw();
  }

  /** Move the cross with which keys draw a box. */
  private steer([dx, dy]: Place, step: number): void {
    const [x, y] = this.marks.cursor ?? [this.camera.width / 2, this.camera.height / 2];
    this.marks.cursor = [
      Math.min(Math.max(x + step * dx, 0), this.camera.width),
      Math.min(Math.max(y + step * dy, 0), this.camera.height),
    ];
    this.hover(this.marks.cursor);
  }

  private setCorner(add: boolean): void {
    this.marks.cursor ??= [this.camera.width / 2, this.camera.height / 2];
    if (!this.marks.corner) {
      this.marks.corner = this.marks.cursor;
      return;
    }
    this.select(rectangle(this.marks.corner, this.marks.cursor), add);
    this.marks.corner = null;
  }
}

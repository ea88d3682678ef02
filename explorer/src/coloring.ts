// What points are coloured by: asks for values, paints the maps and shows the legend.

import { latest, type Client } from "./client";
import { paint, type Coloring, type Scheme } from "./colors";
import { showLegend, showWaiting } from "./legend";
import type { MapView } from "./view";

const PLAIN: Scheme = { palette: ["#0072B2"], missing: "#C8C8C8", ramp: [0, 1], faint: 40 };
// Numbers run along viridis but for the end that would vanish in the ground.
const RAMPS: Record<string, [number, number]> = { light: [0, 0.94], dark: [0.2, 1] };
const FAINT: Record<string, number> = { light: 40, dark: 70 };
// Milliseconds between two looks at which parts to believe, and in units of what one takes: of many
// points it is seconds, in which the map would stand still.
const TRUST_EVERY = 1500;
const TRUST_COST = 5;
const PATIENCE = 300; // milliseconds that users wait for colours without being told

export class Colors {
  current: Coloring = { by: "", names: null, values: null };
  private schemes: Record<string, Scheme> = {};
  private theme = "light";
  private shown = ""; // whose values the legend explains
  private refreshed = 0; // when values came last
  private cost = 0; // milliseconds that they took

  constructor(
    private client: Client,
    private legend: HTMLElement,
    private views: () => MapView[],
    private selected: () => Uint8Array | null,
    private choose: (code: number) => void,
    private failed: (words: string) => void,
  ) {}

  get by(): string {
    return this.current.by;
  }

  /** Take the palettes of both themes. */
  setThemes(themes: Record<string, { palette: string[]; missing: string }>): void {
    for (const [name, theme] of Object.entries(themes)) {
      this.schemes[name] = { ...theme, ramp: RAMPS[name] ?? [0, 1], faint: FAINT[name] ?? 40 };
    }
    this.show(this.current);
  }

  setTheme(theme: string): void {
    this.theme = theme;
    this.show(this.current);
  }

  /** Colour by something else. */
  set(by: string): void {
    this.current = { ...this.current, by };
    this.fetch(by);
  }

  /** Ask for the values again; `only` those that change while the map moves. */
  refresh(only = false): void {
    if (only && !this.by.startsWith("trust:") && this.by !== "sigma") return;
    this.fetch(this.by);
  }

  /** The map has moved: what depends on it is asked for again, now and then. */
  moved(): void {
    const due = performance.now() - this.refreshed > Math.max(TRUST_EVERY, TRUST_COST * this.cost);
    if (due && this.by.startsWith("trust:")) this.refresh(true);
  }

  show(coloring: Coloring): void {
    this.current = coloring;
    this.shown = coloring.by;
    this.repaint();
    showLegend(this.legend, coloring, this.scheme, this.choose);
  }

  /** Paint all maps; the first may be about to show another `count` of points. */
  repaint(count?: number): void {
    const all = this.selected();
    for (const [i, view] of this.views().entries()) {
      const points = (i === 0 && count) || view.positions?.count;
      if (!points) continue;
      const selected = all?.length === points && all.includes(1) ? all : null;
      view.paint(paint(points, this.current, selected, this.scheme));
    }
  }

  private get scheme(): Scheme {
    return this.schemes[this.theme] ?? PLAIN;
  }

  private fetch = latest(async (by: string) => {
    let found: Coloring = { by, names: null, values: null };
    const begun = performance.now();
    const waiting = setTimeout(() => by !== this.shown && showWaiting(this.legend), PATIENCE);
    this.refreshed = Infinity; // not again before these are here
    try {
      if (by) found = await this.ask(by);
    } catch (error) {
      this.failed((error as Error).message);
    }
    clearTimeout(waiting);
    this.refreshed = performance.now();
    this.cost = this.refreshed - begun;
    if (this.by === by) this.show(found);
  });

  private async ask(by: string): Promise<Coloring> {
    const [kind, name] = [by.split(":")[0], by.slice(by.indexOf(":") + 1)];
    const { header, payload } =
      kind === "column"
        ? await this.client.ask("column", { name })
        : kind === "trust"
          ? await this.client.ask("trust", { kind: name })
          : await this.client.ask("sigma", { perplexity: null });
    const values = header.names ? new Uint16Array(payload) : new Float32Array(payload);
    return { by, names: header.names, values, others: header.others };
  }
}

// The selected and the found points, on the maps and in the session.

import type { Client } from "./client";
import type { Colors } from "./coloring";
import { shown } from "./dom";
import type { Maps } from "./maps";
import type { Panel } from "./panel";
import { bits, unbits } from "./positions";
import { showSelection } from "./selection";

const RINGS = 500; // more would cover the map

export class Selecting {
  /** 1 for each point that is selected. */
  selected: Uint8Array | null = null;
  private found: Uint32Array | null = null;

  constructor(
    private client: Client,
    private panel: Panel,
    private maps: Maps,
    private colors: () => Colors,
    private quietly: (act: () => Promise<unknown>) => void,
  ) {}

  /** Other points are on the map: forget these, and ask what is selected of them. */
  reset(count: number): void {
    this.selected = this.found = null;
    this.quietly(async () => {
      const { header, payload } = await this.client.ask("selection");
      this.selected = unbits(payload, count);
      showSelection(this.panel.selection, header);
      this.colors().repaint();
    });
  }

  select(selected: Uint8Array): void {
    this.selected = selected;
    this.colors().repaint();
    this.quietly(async () => {
      const { header } = await this.client.ask("select", {}, bits(selected));
      showSelection(this.panel.selection, header);
    });
  }

  add(more: Uint8Array): void {
    const last = this.selected;
    this.select(last ? more.map((on, i) => on || last[i]) : more);
  }

  clear(): void {
    this.select(new Uint8Array(this.maps.count));
  }

  invert(): void {
    this.select(Uint8Array.from({ length: this.maps.count }, (_, i) => (this.selected?.[i] ? 0 : 1)));
  }

  /** Select the points of one entry of the legend. */
  selectCode(code: number): void {
    const values = this.colors().current.values;
    if (values) this.select(Uint8Array.from(values, (value) => (value === code ? 1 : 0)));
  }

  async search(text: string): Promise<void> {
    this.found = null;
    if (text) {
      const { header, payload } = await this.client.ask("search", { text: text.slice(0, 200) });
      this.found = new Uint32Array(payload);
      this.panel.showFound(header.total, header.names, RINGS);
    } else {
      this.panel.showFound(null, [], RINGS);
    }
    const ringed = this.found?.subarray(0, RINGS) ?? null;
    this.maps.each((view) => view.setFound(ringed));
  }

  selectFound(): void {
    const selected = new Uint8Array(this.maps.count);
    this.found?.forEach((index) => (selected[index] = 1));
    this.select(selected);
  }

  async label(text: string): Promise<void> {
    const count = this.selected?.reduce((sum, on) => sum + on, 0) ?? 0;
    const { header } = await this.client.ask("label", { text: text.slice(0, 200) });
    this.panel.say(`Named ${shown(count)} points in the column ${header.column}.`);
    this.panel.chooseColor(`column:${header.column}`);
  }
}

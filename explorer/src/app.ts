// The explorer: a session on the screen, whatever carries its messages.

import { showBusy } from "./busy";
import { showNeighbors, showPoint } from "./card";
import { Chart } from "./chart";
import { Client, latest } from "./client";
import { Colors } from "./coloring";
import { download, h, shown } from "./dom";
import { Panel, type Actions } from "./panel";
import { bits, positionsOf, unbits } from "./positions";
import type { Header, Transport } from "./protocol";
import { showSelection } from "./selection";
import { Theme } from "./theme";
import { MapView, type Mode, type ViewEvents } from "./view";

export class App {
  readonly element: HTMLElement;
  private client: Client;
  private panel: Panel;
  private chart = new Chart();
  private view: MapView;
  private pinned: MapView | null = null;
  private maps = h("div", { className: "ck-maps" });
  private tip = h("div", { className: "ck-card ck-tip", hidden: true });
  private state: Header | null = null;
  private colors: Colors;
  private theme = new Theme((name) => this.showTheme(name));
  private busy = h("div", { className: "ck-busy", hidden: true });
  private selected: Uint8Array | null = null;
  private found: Uint32Array | null = null;
  private frames: number[] = [];

  constructor(transport: Transport) {
    this.client = new Client(
      transport,
      (header, payload) => this.hear(header, payload),
      (reason) => this.lost(reason),
    );
    this.panel = new Panel(this.actions(), this.chart.element);
    this.view = new MapView("Map of the points", this.events());
    this.colors = new Colors(
      this.client,
      this.panel.legend,
      () => (this.pinned ? [this.view, this.pinned] : [this.view]),
      () => this.selected,
      (code) => this.selectCode(code),
      (words) => this.state?.stage !== "searching for neighbours" && this.panel.say(words),
    );
    this.maps.append(this.view.element, this.busy);
    this.element = h(
      "div",
      { className: "ck" },
      h(
        "div",
        { className: "ck-body" },
        h("main", { className: "ck-main" }, this.panel.toolbar, this.maps, this.tip),
        this.panel.element,
      ),
    );
    this.showTheme(this.theme.name);
  }

  dispose(): void {
    this.theme.dispose();
    this.client.close();
    this.view.dispose();
    this.pinned?.dispose();
  }

  // What comes from the session -----------------------------------------------------------------

  private hear(header: Header, payload: ArrayBuffer): void {
    if (header.type === "hello") {
      this.colors.setThemes(header.themes);
    } else if (header.type === "state") {
      this.hearState(header);
    } else if (header.type === "frame") {
      this.hearFrame(header, payload);
    }
  }

  private hearState(state: Header): void {
    const before = this.state;
    this.state = state;
    this.panel.show(state);
    this.element.dataset.stage = state.stage;
    showBusy(this.busy, state);
    if (before?.level !== state.level) {
      this.selected = null;
      this.found = null;
      this.panel.point.replaceChildren();
      this.chart.set([]);
      this.loadHistory();
      this.quietly(() => this.loadSelection());
      this.colors.refresh();
    } else if (state.stage !== before?.stage && state.stage !== "running") {
      this.colors.refresh(true);
      if (state.stage !== "building the graph") this.loadHistory(); // with what came between frames
    }
    const pin = JSON.stringify(state.pinned);
    if (pin !== JSON.stringify(before?.pinned ?? null)) this.quietly(() => this.showPinned());
    if (before && before.labels !== state.labels && this.colors.by.startsWith("column:")) {
      this.colors.refresh();
    }
  }

  private hearFrame(header: Header, payload: ArrayBuffer): void {
    const positions = positionsOf(header, payload);
    const others = this.view.positions?.count !== positions.count;
    if (others) this.colors.repaint(positions.count);
    this.view.show(positions, () => this.client.acknowledge(header.frame));
    if (document.hidden) this.client.acknowledge(header.frame); // nothing is drawn there
    const now = performance.now();
    this.frames = [...this.frames.filter((time) => now - time < 2000), now];
    const rate = this.frames.length > 2 ? (1000 * (this.frames.length - 1)) / (now - this.frames[0]) : 0;
    this.panel.showNumbers(header, this.state?.stage === "running" ? rate : 0);
    this.element.dataset.iteration = String(header.iteration);
    if (header.iteration) {
      this.chart.add([header.iteration, header.divergence, header.kept]);
      this.chart.draw();
    } else {
      this.chart.set([]);
    }
    this.colors.moved();
  }

  private lost(reason: string): void {
    const words = reason || "the program that served this page has ended, or cannot be reached";
    this.panel.say(`Disconnected: ${words}. Reload the page to try again.`, true);
    this.element.dataset.stage = "disconnected";
    showBusy(this.busy, { type: "state", stage: "disconnected", error: words });
  }

  private async showPinned(): Promise<void> {
    if (!this.state?.pinned) {
      this.pinned?.element.parentElement?.remove();
      this.pinned?.dispose();
      this.pinned = null;
      if (this.colors.by === "trust:changed") this.panel.chooseColor("");
      this.view.fit();
      return;
    }
    const { header, payload } = await this.client.ask("pinned");
    this.pinned ??= this.addPinned();
    this.pinned.show(positionsOf(header, payload));
    this.pinned.element.nextElementSibling!.textContent = describe(header.parameters);
    this.colors.repaint();
  }

  private addPinned(): MapView {
    const view = new MapView("Pinned map, for comparison", this.events());
    view.setMode(this.view.mode);
    const figure = h("figure", { className: "ck-pinned" }, view.element, h("figcaption", {}));
    this.maps.prepend(figure);
    return view;
  }

  // What the user does --------------------------------------------------------------------------

  private actions(): Actions {
    const does = (type: string) => () => this.quietly(() => this.client.ask(type));
    return {
      play: () => this.quietly(() => this.client.ask(this.state?.playing ? "pause" : "play")),
      step: () => this.quietly(() => this.client.ask("step", { count: 1 })),
      restart: does("restart"),
      undo: does("undo"),
      redo: does("redo"),
      set: (parameters, done) => this.set({ parameters, done }),
      drag: (perplexity) => this.drag(perplexity),
      color: (by) => this.colors.set(by),
      mode: (mode) => this.setMode(mode),
      fit: () => [this.view, this.pinned].forEach((view) => view?.fit()),
      search: (text) => this.quietly(() => this.search(text)),
      selectFound: () => this.selectFound(),
      clear: () => this.select(new Uint8Array(this.count)),
      invert: () => this.select(Uint8Array.from({ length: this.count }, (_, i) => (this.selected?.[i] ? 0 : 1))),
      label: (text) => this.quietly(() => this.label(text)),
      embed: does("embed"),
      leave: does("leave"),
      pin: () => this.quietly(() => this.client.ask(this.state?.pinned ? "unpin" : "pin")),
      export: (what, format) => this.quietly(() => this.export(what, format)),
      code: async () => new TextDecoder().decode((await this.exported("code", null)).payload),
      theme: () => this.theme.toggle(),
    };
  }

  private get count(): number {
    return this.view.positions?.count ?? 0;
  }

  private set = latest(async (change: { parameters: Record<string, unknown>; done: boolean }) => {
    await this.quietly(() => this.client.ask("set", change));
    if (!change.done) await new Promise((resolve) => setTimeout(resolve, 80));
  });

  /** Bandwidths at once, while the slider is still moving. */
  private drag = latest(async (perplexity: number) => {
    try {
      const values = new Float32Array((await this.client.ask("sigma", { perplexity })).payload);
      this.panel.showSigma(median(values));
      if (this.colors.by === "sigma") this.colors.show({ by: "sigma", names: null, values });
    } catch {
      // Neighbours are still being searched.
    }
  });

  private events(): ViewEvents {
    return {
      onHover: (index, x, y) => this.hover({ index, x, y }),
      onPick: (index) => this.quietly(() => this.pick(index)),
      onSelect: (selected, add) => {
        const last = this.selected;
        if (add && last) selected.forEach((on, i) => (selected[i] = on || last[i]));
        this.select(selected);
      },
      onKey: (key) => this.key(key),
    };
  }

  private key(key: string): boolean {
    const act = {
      " ": () => this.quietly(() => this.client.ask(this.state?.playing ? "pause" : "play")),
      ".": () => this.quietly(() => this.client.ask("step", { count: 1 })),
      r: () => this.quietly(() => this.client.ask("restart")),
      u: () => this.quietly(() => this.client.ask("undo")),
      l: () => this.setMode("lasso"),
      b: () => this.setMode("box"),
      p: () => this.setMode("pan"),
      Escape: () => this.select(new Uint8Array(this.count)),
    }[key];
    act?.();
    return !!act;
  }

  private setMode(mode: Mode): void {
    this.panel.showMode(mode);
    [this.view, this.pinned].forEach((view) => view?.setMode(mode));
  }

  private hover = latest(async ({ index, x, y }: { index: number; x: number; y: number }) => {
    [this.view, this.pinned].forEach((view) => view?.mark(index));
    if (index < 0) {
      this.tip.hidden = true;
      return;
    }
    try {
      const { header, payload } = await this.client.ask("point", { index });
      showPoint(this.tip, header, payload);
      this.tip.hidden = false;
      this.tip.classList.toggle("ck-left", x > this.maps.clientWidth / 2);
      this.tip.classList.toggle("ck-top", y > this.maps.clientHeight / 2);
    } catch {
      this.tip.hidden = true;
    }
  });

  private async pick(index: number): Promise<void> {
    const views = [this.view, this.pinned];
    if (index < 0) {
      views.forEach((view) => view?.setLines(null));
      this.panel.point.replaceChildren();
      return;
    }
    const { header, payload } = await this.client.ask("neighbors", { index });
    const lines = { from: index, to: new Uint32Array(payload), affinities: header.affinities };
    views.forEach((view) => view?.setLines(lines));
    showNeighbors(this.panel.point, header);
  }

  private async search(text: string): Promise<void> {
    this.found = null;
    if (text) {
      const { header, payload } = await this.client.ask("search", { text: text.slice(0, 200) });
      this.found = new Uint32Array(payload);
      this.panel.showFound(header.total, header.names);
    } else {
      this.panel.showFound(null, []);
    }
    [this.view, this.pinned].forEach((view) => view?.setFound(this.found));
  }

  private selectFound(): void {
    const selected = new Uint8Array(this.count);
    this.found?.forEach((index) => (selected[index] = 1));
    this.select(selected);
  }

  private selectCode(code: number): void {
    const values = this.colors.current.values;
    if (values) this.select(Uint8Array.from(values, (value) => (value === code ? 1 : 0)));
  }

  private select(selected: Uint8Array): void {
    this.selected = selected;
    this.colors.repaint();
    this.quietly(async () => {
      const { header } = await this.client.ask("select", {}, bits(selected));
      showSelection(this.panel.selection, header);
    });
  }

  private loadHistory(): void {
    this.quietly(async () => this.chart.set((await this.client.ask("history")).header.rows));
  }

  private async loadSelection(): Promise<void> {
    const { header, payload } = await this.client.ask("selection");
    this.selected = unbits(payload, this.state?.n_points ?? 0);
    showSelection(this.panel.selection, header);
    this.colors.repaint();
  }

  private async label(text: string): Promise<void> {
    const { header } = await this.client.ask("label", { text: text.slice(0, 200) });
    this.panel.say(`Named ${shown(this.state?.selected)} points in the column ${header.column}.`);
    this.panel.chooseColor(`column:${header.column}`);
  }

  private exported(what: string, format: string | null) {
    const by = this.colors.by;
    const color = by.startsWith("column:") ? by.slice(7) : null;
    return this.client.ask("export", { what, format, color });
  }

  private async export(what: string, format: string | null): Promise<void> {
    this.panel.say("Preparing the file…");
    const { header, payload } = await this.exported(what, format);
    download(header.name, payload);
    this.panel.say(`Saved ${header.name}.`);
  }

  /** Do something; what goes wrong is said, and nothing else happens. */
  private async quietly(act: () => Promise<unknown>): Promise<void> {
    try {
      await act();
    } catch (error) {
      this.panel.say((error as Error).message, true);
    }
  }

  private showTheme(name: string): void {
    this.element.dataset.theme = name;
    this.colors.setTheme(name);
    this.view.redraw();
    this.pinned?.redraw();
    this.chart.draw();
  }
}

export function describe(parameters: Record<string, any>): string {
  const names: Record<string, string> = { tsne: "t-SNE", ssne: "s-SNE", ee: "elastic embedding" };
  return `${names[parameters.model]}, perplexity ${shown(parameters.perplexity, 3)}`;
}

function median(values: Float32Array): number {
  return Float32Array.from(values).sort()[values.length >> 1];
}

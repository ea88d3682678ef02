// The explorer: shows a session, over any transport of messages.

import { showBusy } from "./busy";
import { showNeighbors, showPoint } from "./card";
import { Chart } from "./chart";
import { Client, latest } from "./client";
import { Colors } from "./coloring";
import { download, h } from "./dom";
import { Maps } from "./maps";
import { Panel, type Actions } from "./panel";
import { positionsOf } from "./positions";
import type { Header, Transport } from "./protocol";
import { Selecting } from "./selecting";
import { Theme } from "./theme";
import type { Mode, ViewEvents } from "./view";

export class App {
  readonly element: HTMLElement;
  private client: Client;
  private panel: Panel;
  private chart = new Chart();
  private maps: Maps;
  private selecting: Selecting;
  private tip = h("div", { className: "ck-card ck-tip", hidden: true });
  private state: Header | null = null;
  /** Parameters that were sent and not yet answered: until then the session's are older. */
  private unanswered: Record<string, unknown> | null = null;
  private colors: Colors;
  private theme = new Theme((name) => this.showTheme(name));
  private busy = h("div", { className: "ck-busy", hidden: true });
  private frames: number[] = [];

  constructor(transport: Transport) {
    this.client = new Client(
      transport,
      (header, payload) => this.receive(header, payload),
      (reason) => this.lost(reason),
    );
    this.panel = new Panel(this.actions(), this.chart.element);
    this.maps = new Maps(this.events());
    const quietly = (act: () => Promise<unknown>) => void this.quietly(act);
    this.selecting = new Selecting(this.client, this.panel, this.maps, () => this.colors, quietly);
    this.colors = new Colors(
      this.client,
      this.panel.legend,
      () => this.maps.all,
      () => this.selecting.selected,
      (code) => this.selecting.selectCode(code),
      (words) => this.state?.stage !== "searching for neighbours" && this.panel.say(words),
    );
    this.maps.element.append(this.busy);
    this.element = h(
      "div",
      { className: "ck" },
      h(
        "div",
        { className: "ck-body" },
        h("main", { className: "ck-main" }, this.panel.toolbar, this.maps.element, this.tip),
        this.panel.element,
      ),
    );
    this.showTheme(this.theme.name);
  }

  dispose(): void {
    this.theme.dispose();
    this.client.close();
    this.maps.each((view) => view.dispose());
  }

  // Messages of the session ---------------------------------------------------------------------

  private receive(header: Header, payload: ArrayBuffer): void {
    if (header.type === "hello") {
      this.colors.setThemes(header.themes);
    } else if (header.type === "state") {
      this.receiveState(header);
    } else if (header.type === "frame") {
      this.receiveFrame(header, payload);
    }
  }

  private receiveState(state: Header): void {
    const before = this.state;
    this.state = state;
    this.panel.show(state);
    if (!this.unanswered) this.panel.showParameters(state);
    this.element.dataset.stage = state.stage;
    showBusy(this.busy, state);
    this.maps.describe(state.parameters);
    if (before?.level !== state.level) {
      this.panel.point.replaceChildren();
      this.chart.set([]);
      this.loadHistory();
      this.selecting.reset(state.n_points);
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

  private receiveFrame(header: Header, payload: ArrayBuffer): void {
    const positions = positionsOf(header, payload);
    const others = this.maps.count !== positions.count;
    if (others) this.colors.repaint(positions.count);
    this.maps.moving.show(positions, () => this.client.acknowledge(header.frame));
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
    if (this.state?.pinned) {
      const { header, payload } = await this.client.ask("pinned");
      this.maps.pin(header, payload);
      this.colors.repaint();
    } else {
      this.maps.unpin();
      if (this.colors.by === "trust:changed") this.panel.chooseColor("");
    }
  }

  // Actions of the user --------------------------------------------------------------------------

  private actions(): Actions {
    const does = (type: string) => () => this.quietly(() => this.client.ask(type));
    return {
      play: () => this.quietly(() => this.client.ask(this.state?.playing ? "pause" : "play")),
      step: () => this.quietly(() => this.client.ask("step", { count: 1 })),
      restart: does("restart"),
      undo: does("undo"),
      redo: does("redo"),
      set: (parameters, done) => {
        this.unanswered = { ...this.unanswered, ...parameters };
        this.set({ parameters: this.unanswered, done });
      },
      drag: (perplexity) => this.drag(perplexity),
      color: (by) => this.colors.set(by),
      mode: (mode) => this.setMode(mode),
      fit: () => this.maps.each((view) => view.fit()),
      search: (text) => this.quietly(() => this.selecting.search(text)),
      selectFound: () => this.selecting.selectFound(),
      clear: () => this.selecting.clear(),
      invert: () => this.selecting.invert(),
      label: (text) => this.quietly(() => this.selecting.label(text)),
      embed: does("embed"),
      leave: does("leave"),
      pin: () => this.quietly(() => this.client.ask(this.state?.pinned ? "unpin" : "pin")),
      export: (kind, format) => this.quietly(() => this.export(kind, format)),
      code: async () => new TextDecoder().decode((await this.exported("code", null)).payload),
      theme: () => this.theme.toggle(),
    };
  }

  private set = latest(async (change: { parameters: Record<string, unknown>; done: boolean }) => {
    await this.quietly(() => this.client.ask("set", change));
    if (this.unanswered === change.parameters) {
      this.unanswered = null;
      if (this.state) this.panel.showParameters(this.state);
    }
    if (!change.done) await new Promise((resolve) => setTimeout(resolve, 80));
  });

  /** Bandwidths at once, while the slider is still moving. */
  private drag = latest(async (perplexity: number) => {
    try {
      const values = new Float32Array((await this.client.ask("sigma", { perplexity })).payload);
      this.panel.showSigma(perplexity, median(values));
      if (this.colors.by === "sigma") this.colors.show({ by: "sigma", names: null, values });
    } catch {
      // Neighbours are still being searched.
    }
  });

  private events(): ViewEvents {
    return {
      onHover: (index, x, y) => this.hover({ index, x, y }),
      onPick: (index) => this.quietly(() => this.pick(index)),
      onSelect: (selected, add) => (add ? this.selecting.add(selected) : this.selecting.select(selected)),
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
      Escape: () => this.selecting.clear(),
    }[key];
    act?.();
    return !!act;
  }

  private setMode(mode: Mode): void {
    this.panel.showMode(mode);
    this.maps.setMode(mode);
  }

  private hover = latest(async ({ index, x, y }: { index: number; x: number; y: number }) => {
    this.maps.each((view) => view.mark(index));
    if (index < 0) {
      this.tip.hidden = true;
      return;
    }
    try {
      const { header, payload } = await this.client.ask("point", { index });
      showPoint(this.tip, header, payload);
      this.tip.hidden = false;
      this.tip.classList.toggle("ck-left", x > this.maps.element.clientWidth / 2);
      this.tip.classList.toggle("ck-top", y > this.maps.element.clientHeight / 2);
    } catch {
      this.tip.hidden = true;
    }
  });

  private async pick(index: number): Promise<void> {
    if (index < 0) {
      this.maps.each((view) => view.setLines(null));
      this.panel.point.replaceChildren();
      return;
    }
    const { header, payload } = await this.client.ask("neighbors", { index });
    const lines = { from: index, to: new Uint32Array(payload), affinities: header.affinities };
    this.maps.each((view) => view.setLines(lines));
    showNeighbors(this.panel.point, header);
  }

  private loadHistory(): void {
    this.quietly(async () => this.chart.set((await this.client.ask("history")).header.rows));
  }

  private exported(kind: string, format: string | null) {
    return this.client.ask("export", { kind, format, color: this.colors.by || null });
  }

  private async export(kind: string, format: string | null): Promise<void> {
    this.panel.say("Preparing the file…");
    const { header, payload } = await this.exported(kind, format);
    download(header.name, payload);
    this.panel.say(`Saved ${header.name}.`);
  }

  /** Call, and show the message of an error. */
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
    this.maps.each((view) => view.redraw());
    this.chart.draw();
  }
}

function median(values: Float32Array): number {
  return Float32Array.from(values).sort()[values.length >> 1];
}

// Everything beside the map.

import { button, fill, section, select, slider } from "./controls";
import { h, replace, shown } from "./dom";
import { exportForm, namingForm, searchForm } from "./forms";
import { icon } from "./icons";
import type { Header } from "./protocol";
import type { Mode } from "./view";

export interface Actions {
  play(): void;
  step(): void;
  restart(): void;
  undo(): void;
  redo(): void;
  set(parameters: Record<string, unknown>, done: boolean): void;
  drag(perplexity: number): void;
  color(by: string): void;
  mode(mode: Mode): void;
  fit(): void;
  search(text: string): void;
  selectFound(): void;
  clear(): void;
  invert(): void;
  label(text: string): void;
  embed(): void;
  leave(): void;
  pin(): void;
  export(kind: string, format: string | null): void;
  code(): Promise<string>;
  theme(): void;
}

const MODELS: [string, string][] = [
  ["tsne", "t-SNE"],
  ["ssne", "s-SNE (Gaussian kernel)"],
  ["ee", "Elastic embedding"],
];
export class Panel {
  readonly element: HTMLElement;
  readonly toolbar: HTMLElement;
  readonly legend = h("div", { className: "ck-legend" });
  readonly selection = h("div", {});
  readonly point = h("div", { className: "ck-neighbors", "aria-live": "polite" });
  private status = h("p", { className: "ck-status", role: "status" });
  private title = h("h1", {}, "closeknit explorer");
  private numbers = h("dl", { className: "ck-numbers" });
  private hits = h("p", { className: "ck-hint", role: "status" });
  private modes: Record<Mode, HTMLButtonElement>;
  private buttons;
  private sliders;
  private model;
  private colors;
  private sigma = { at: 0, text: "" }; // the median bandwidth, and at which perplexity
  private columns = "";

  constructor(
    private actions: Actions,
    chart: HTMLElement,
  ) {
    this.buttons = {
      play: button("Play", "Optimise the map (space)", actions.play, "play"),
      step: button("Step", "Do one iteration (.)", actions.step, "step"),
      restart: button("Restart", "Begin again at the start (R)", actions.restart, "restart"),
      undo: button("Undo", "Take back the last change (U)", actions.undo, "undo"),
      redo: button("Redo", "Do again what was undone", actions.redo, "redo"),
      embed: button("Embed alone", "Make a map of the selected points alone", actions.embed),
      leave: button("Back to all points", "Leave the map of the selection", actions.leave),
      clear: button("Clear", "Select nothing (Escape)", actions.clear),
      invert: button("Invert", "Select the others instead", actions.invert),
      pin: button("Pin this map", "Keep a copy beside the moving map", actions.pin),
    };
    this.modes = {
      pan: button("Move", "Drag to move the map (P)", () => actions.mode("pan"), "move"),
      lasso: button("Lasso", "Draw around points to select them (L)", () => actions.mode("lasso"), "lasso"),
      box: button("Box", "Select with a box; keys: arrows and Enter (B)", () => actions.mode("box"), "box"),
    };
    this.showMode("pan");
    this.sliders = this.makeSliders();
    this.model = select("Model", MODELS, (model) => actions.set({ model }, true));
    this.colors = select("Colour by", [["", "one colour"]], (by) => actions.color(by));
    this.toolbar = this.makeToolbar();
    this.element = h("aside", { className: "ck-panel", "aria-label": "Controls" }, ...this.sections(chart));
  }

  private makeSliders() {
    const { set, drag } = this.actions;
    return {
      perplexity: slider(
        "Perplexity",
        "Neighbours that each point has, in effect.",
        2,
        100,
        (value) => `${shown(value, 3)} neighbours${this.sigma.text}`,
        (perplexity, done) => {
          drag(perplexity);
          set({ perplexity }, done);
        },
      ),
      lam: slider(
        "Exaggeration",
        "Attraction over repulsion (1/λ): more draws clusters together.",
        0.1,
        12,
        (value) => `× ${shown(value, 2)}`,
        (value, done) => set({ lam: 1 / value }, done),
      ),
      dof: slider(
        "Degrees of freedom",
        "Fewer let clusters fall apart into finer ones. t‑SNE only.",
        0.2,
        10,
        (value) => shown(value, 2),
        (dof, done) => set({ dof }, done),
      ),
    };
  }

  private makeToolbar(): HTMLElement {
    const { play, step, restart, undo, redo } = this.buttons;
    const { pan, lasso, box } = this.modes;
    const fit = button("Fit", "Show the whole map (F)", this.actions.fit, "fit");
    const theme = button("Theme", "Light or dark", this.actions.theme, "theme");
    const group = (label: string, ...items: Node[]) =>
      h("div", { className: "ck-group", role: "group", "aria-label": label }, ...items);
    return h(
      "div",
      { className: "ck-toolbar", role: "toolbar", "aria-label": "Map" },
      group("Optimisation", play, step, restart),
      group("History", undo, redo),
      group("Pointer", pan, lasso, box, fit),
      group("View", theme),
    );
  }

  private sections(chart: HTMLElement): Node[] {
    const { embed, leave, clear, invert, pin } = this.buttons;
    const { perplexity, lam, dof } = this.sliders;
    return [
      h("header", {}, this.title, this.status),
      section("Parameters", true, perplexity.element, lam.element, dof.element, this.model.element),
      section("Colours", true, this.colors.element, this.legend),
      section("Progress", true, this.numbers, chart),
      section("Find", false, searchForm(this.actions.search, this.actions.selectFound), this.hits),
      section(
        "Selection",
        true,
        h("div", { className: "ck-row" }, clear, invert, embed, leave),
        namingForm(this.actions.label),
        this.point,
        this.selection,
      ),
      section(
        "Compare",
        false,
        h("p", { className: "ck-hint" }, "Pin the map, then change its parameters: both stay side by side, with one selection. Colour by “neighbours changed” to see where they differ."),
        h("div", { className: "ck-row" }, pin),
      ),
      section("Export", false, ...exportForm(this.actions.export, this.actions.code)),
      h("p", { className: "ck-hint" }, "On the map: arrows move, + and − zoom, F fits, Enter shows the neighbours of the point in the middle; space plays, . does one iteration, R restarts, U undoes; L, B and P choose what the pointer does. With the box, arrows and Enter set its corners."),
    ];
  }

  // What is shown -------------------------------------------------------------------------------

  show(state: Header): void {
    const { playing } = state;
    this.title.textContent = this.title.title = state.title || "closeknit explorer";
    const { play, undo, redo, embed, leave, clear, invert, pin } = this.buttons;
    play.querySelector(".ck-text")!.textContent = playing ? "Pause" : "Play";
    play.querySelector(".ck-icon")!.replaceWith(icon(playing ? "pause" : "play"));
    undo.disabled = !state.undo;
    redo.disabled = !state.redo;
    embed.disabled = state.selected < 10;
    clear.disabled = invert.disabled = !state.selected;
    leave.hidden = !state.depth;
    pin.textContent = state.pinned ? "Unpin" : "Pin this map";
    this.say(statusOf(state), state.stage === "failed");
    this.showColumns(state);
  }

  showParameters({ parameters, max_perplexity }: Header): void {
    const { perplexity, lam, dof } = this.sliders;
    perplexity.range(Math.min(2, max_perplexity / 2), max_perplexity);
    if (this.sigma.at !== parameters.perplexity && !perplexity.input.matches(":focus")) this.sigma.text = "";
    perplexity.set(parameters.perplexity);
    lam.set(1 / parameters.lam);
    dof.set(parameters.dof);
    dof.input.disabled = parameters.model !== "tsne";
    this.model.input.value = parameters.model;
  }

  private showColumns(state: Header): void {
    const options: [string, string][] = [
      ["", "one colour"],
      ...(state.columns as string[]).slice(0, state.labels).map(column),
      ["sigma", "bandwidth σ"],
      ["trust:kept", "trust: neighbours kept"],
      ["trust:divergence", "trust: term of the divergence"],
      ...(state.pinned ? [["trust:changed", "neighbours changed since the pin"] as [string, string]] : []),
      ...(state.columns as string[]).slice(state.labels).map(column),
    ];
    const key = JSON.stringify(options);
    if (key === this.columns) return;
    const first = !this.columns;
    this.columns = key;
    fill(this.colors.input, options);
    if (first && state.first !== null) this.chooseColor(column(state.first)[0]);
  }

  chooseColor(by: string): void {
    this.colors.input.value = by;
    this.actions.color(by);
  }

  showMode(mode: Mode): void {
    for (const [name, item] of Object.entries(this.modes)) {
      item.setAttribute("aria-pressed", String(name === mode));
    }
  }

  showSigma(at: number, value: number): void {
    this.sigma = { at, text: `, median σ ${shown(value, 3)}` };
    this.sliders.perplexity.refresh();
  }

  showNumbers(frame: Header, rate: number): void {
    const kept = frame.kept === null ? "–" : `${shown(100 * frame.kept, 3)} %`;
    const rows: [string, string, string][] = [
      ["Iteration", shown(frame.iteration), "Steps of the optimisation since the start"],
      frame.divergence === null && frame.objective !== null
        ? ["Objective", shown(frame.objective), "What is made small: attraction plus λ times repulsion"]
        : ["Divergence", frame.divergence === null ? "–" : `${shown(frame.divergence)} nats`, "KL(P‖Q): how much the map differs from the data's neighbourhoods"],
      ["Neighbours kept", kept, "Of the 15 nearest neighbours, how many are nearest on the map"],
      ["Frames", rate ? `${shown(rate, 2)} per second` : "–", "Maps received per second"],
    ];
    replace(this.numbers, ...rows.flatMap(([name, value, hint]) => [h("dt", { title: hint }, name), h("dd", {}, value)]));
  }

  showFound(total: number | null, names: string[], rings: number): void {
    const some = names.slice(0, 8).join(", ") + (names.length > 8 ? ", …" : "");
    const marked = total && total > rings ? `. Rings show the first ${shown(rings)}; Select takes all.` : "";
    this.hits.textContent = total === null ? "" : total ? `${shown(total)} found: ${some}${marked}` : "Nothing found.";
  }

  say(words: string, alarming = false): void {
    this.status.textContent = words;
    this.status.classList.toggle("ck-alarm", alarming);
  }
}

const column = (name: string): [string, string] => [`column:${name}`, name];

function statusOf(state: Header): string {
  const points = `${shown(state.n_points)} points`;
  const share = state.progress ? ` (${Math.round(100 * state.progress)} %)` : "";
  const words: Record<string, string> = {
    "searching for neighbours": `searching for neighbours${share}`,
    running: "optimising",
  };
  const selected = state.selected ? `, ${shown(state.selected)} selected` : "";
  return `${points}${selected}, ${words[state.stage] ?? state.stage}`;
}

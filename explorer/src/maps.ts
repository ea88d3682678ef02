// The moving map and, for comparison, one that is pinned beside it.

import { h, shown } from "./dom";
import { positionsOf } from "./positions";
import type { Header } from "./protocol";
import { MapView, type Mode, type ViewEvents } from "./view";

export class Maps {
  readonly element = h("div", { className: "ck-maps" });
  readonly moving: MapView;
  private pinned: MapView | null = null;
  private caption = h("p", { className: "ck-caption", hidden: true });

  constructor(private events: ViewEvents) {
    this.moving = new MapView("Map of the points", events);
    this.element.append(this.moving.element);
    this.moving.element.append(this.caption);
  }

  /** Say which map is which, as long as there are two. */
  describe(parameters: Record<string, any>): void {
    this.caption.textContent = `Now: ${describe(parameters)}`;
  }

  get all(): MapView[] {
    return this.pinned ? [this.moving, this.pinned] : [this.moving];
  }

  /** Number of points. */
  get count(): number {
    return this.moving.positions?.count ?? 0;
  }

  each(act: (view: MapView) => void): void {
    this.all.forEach(act);
  }

  setMode(mode: Mode): void {
    this.each((view) => view.setMode(mode));
  }

  pin(header: Header, payload: ArrayBuffer): void {
    this.pinned ??= this.add();
    this.pinned.show(positionsOf(header, payload));
    this.pinned.element.nextElementSibling!.textContent = `Pinned: ${describe(header.parameters)}`;
    this.caption.hidden = false;
  }

  unpin(): void {
    this.pinned?.element.parentElement?.remove();
    this.pinned?.dispose();
    this.pinned = null;
    this.caption.hidden = true;
    this.moving.fit();
  }

  private add(): MapView {
    const view = new MapView("Pinned map, for comparison", this.events);
    view.setMode(this.moving.mode);
    const figure = h("figure", { className: "ck-pinned" }, view.element, h("figcaption", {}));
    this.element.prepend(figure);
    return view;
  }
}

function describe(parameters: Record<string, any>): string {
  const names: Record<string, string> = { tsne: "t-SNE", ssne: "s-SNE", ee: "elastic embedding" };
  const parts = [names[parameters.model], `perplexity ${shown(parameters.perplexity, 3)}`];
  if (parameters.lam !== 1) parts.push(`exaggeration × ${shown(1 / parameters.lam, 2)}`);
  if (parameters.model === "tsne" && parameters.dof !== 1) parts.push(`${shown(parameters.dof, 2)} degrees of freedom`);
  return parts.join(", ");
}

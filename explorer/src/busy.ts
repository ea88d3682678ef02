// A note over the map while it waits for a search, and after a failure.

import { h, replace } from "./dom";
import type { Header } from "./protocol";

export function showBusy(parent: HTMLElement, state: Header): void {
  const words: Record<string, string> = {
    "searching for neighbours": "Searching for neighbours. Until then, the two columns that vary most:",
    failed: `The map failed: ${state.error}`,
    disconnected: `Disconnected: ${state.error}. Reload the page to try again.`,
  };
  const text = words[state.stage];
  parent.hidden = !text;
  parent.classList.toggle("ck-alarm", state.stage !== "searching for neighbours");
  if (!text) return;
  const share = Math.round(100 * (state.progress ?? 0));
  const bar = h("progress", { max: 100, "aria-label": "Share of the search that is done" });
  if (share) bar.value = share;
  replace(parent, h("p", {}, text), state.stage === "searching for neighbours" ? bar : null);
}

// The controls beside the map: they show a value, and call back when the user changes it.

import { h, unique } from "./dom";
import { icon, type IconName } from "./icons";

export interface Slider {
  element: HTMLElement;
  set(value: number): void;
  /** Write the text of the value again. */
  refresh(): void;
  range(low: number, high: number): void;
  input: HTMLInputElement;
}

const STEPS = 200; // so that a key changes a perplexity by 2 %

/** A slider on a logarithmic scale, with its value as text beside it. */
export function slider(
  label: string,
  hint: string,
  low: number,
  high: number,
  form: (value: number) => string,
  moved: (value: number, done: boolean) => void,
): Slider {
  const id = unique("slider");
  const input = h("input", {
    type: "range",
    id,
    min: "0",
    max: String(STEPS),
    step: "1",
    "aria-describedby": `${id}-hint`,
  });
  const output = h("output", {});
  output.setAttribute("for", id);
  const value = () => low * Math.pow(high / low, Number(input.value) / STEPS);
  const refresh = (given = value()) => {
    output.textContent = form(given);
    input.setAttribute("aria-valuetext", form(given));
  };
  let exact: number | null = null; // what was set, of which the slider shows the nearest step
  input.addEventListener("input", () => {
    exact = null;
    refresh();
    moved(value(), false);
  });
  input.addEventListener("change", () => moved(value(), true));
  return {
    element: h(
      "div",
      { className: "ck-slider" },
      h("label", { htmlFor: id }, label),
      output,
      input,
      h("p", { className: "ck-hint", id: `${id}-hint` }, hint),
    ),
    input,
    set(given) {
      if (input.matches(":active")) return; // it is being dragged
      input.value = String(Math.round((STEPS * Math.log(given / low)) / Math.log(high / low)));
      exact = given;
      refresh(given);
    },
    refresh: () => refresh(exact ?? value()),
    range(from, to) {
      [low, high] = [from, Math.max(to, from * 1.001)];
    },
  };
}

export function button(text: string, hint: string, act: () => void, picture?: IconName): HTMLButtonElement {
  return h(
    "button",
    { type: "button", title: hint, onclick: act },
    picture && icon(picture),
    picture ? h("span", { className: "ck-text" }, text) : text,
  );
}

export function select(
  label: string,
  options: [string, string][],
  changed: (value: string) => void,
): { element: HTMLElement; input: HTMLSelectElement } {
  const id = unique("select");
  const input = h("select", { id, onchange: () => changed(input.value) });
  fill(input, options);
  return {
    element: h("div", { className: "ck-field" }, h("label", { htmlFor: id }, label), input),
    input,
  };
}

/** Set the options of a menu, and keep what is chosen if it is still there. */
export function fill(input: HTMLSelectElement, options: [string, string][]): void {
  const chosen = input.value;
  input.replaceChildren(...options.map(([value, text]) => h("option", { value }, text)));
  if (options.some(([value]) => value === chosen)) input.value = chosen;
}

export function section(title: string, open: boolean, ...children: (Node | string)[]): HTMLElement {
  return h("details", { className: "ck-section", open }, h("summary", {}, title), ...children);
}

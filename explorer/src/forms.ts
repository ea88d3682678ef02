// Fields that are filled in and sent: a search, a name, a file.

import { button, select } from "./controls";
import { h, unique } from "./dom";

const EXPORTS: [string, string][] = [
  ["map csv", "Map, CSV"],
  ["map parquet", "Map, Parquet"],
  ["map h5ad", "Map, H5AD"],
  ["rows csv", "Selected rows (all if none), CSV"],
  ["rows parquet", "Selected rows (all if none), Parquet"],
  ["rows h5ad", "Selected rows (all if none), H5AD"],
  ["labels csv", "Labels, CSV"],
  ["labels parquet", "Labels, Parquet"],
  ["labels h5ad", "Labels, H5AD"],
  ["picture png", "Picture, PNG"],
  ["picture svg", "Picture, SVG"],
  ["picture pdf", "Picture, PDF"],
  ["code", "Python code"],
  ["session", "Session, to go on later"],
];

function form(label: string, input: HTMLInputElement, submit: () => void, ...buttons: Node[]): HTMLElement {
  input.id = unique("field");
  input.maxLength = 200;
  const onsubmit = (event: Event) => {
    event.preventDefault();
    submit();
  };
  return h(
    "form",
    { className: "ck-field", onsubmit },
    h("label", { htmlFor: input.id }, label),
    h("div", { className: "ck-row" }, input, ...buttons),
  );
}

export function searchForm(search: (text: string) => void, selectFound: () => void): HTMLElement {
  const input = h("input", { type: "search" });
  return form(
    "Name or label contains",
    input,
    () => search(input.value.trim()),
    h("button", { type: "submit" }, "Find"),
    button("Select", "Select what was found", selectFound),
  );
}

export function namingForm(label: (text: string) => void): HTMLElement {
  const input = h("input", { type: "text" });
  const submit = () => {
    if (input.value.trim()) label(input.value.trim());
    input.value = "";
  };
  return form("Name the selection", input, submit, h("button", { type: "submit" }, "Name"));
}

export function exportForm(
  download: (kind: string, format: string | null) => void,
  readCode: () => Promise<string>,
): Node[] {
  const kind = select("File", EXPORTS, () => {});
  const code = h("pre", { className: "ck-code", tabIndex: 0, hidden: true });
  const go = () => {
    const [name, format = null] = kind.input.value.split(" ");
    download(name, format);
  };
  const show = async () => {
    code.textContent = await readCode();
    code.hidden = false;
  };
  return [
    kind.element,
    h(
      "div",
      { className: "ck-row" },
      button("Download", "Save the file", go),
      button("Show code", "The Python code that makes this map again", show),
    ),
    code,
  ];
}

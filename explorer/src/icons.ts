// Pictures on buttons, drawn in the colour of their text: no font has all of them.

const SVG = "http://www.w3.org/2000/svg";

// On a square of 16; those named in FILLED are filled, the others are lines.
const PATHS = {
  play: "M4 2.5v11l9-5.5z",
  pause: "M3.5 2.5h3.2v11H3.5zM9.3 2.5h3.2v11H9.3z",
  step: "M3 2.5v11L10 8zM11 2.5h2.4v11H11z",
  restart: "M3.2 5.2A5.6 5.6 0 1 1 2.4 8M3 1.8v3.6h3.6",
  undo: "M2.5 6.5h7a4 4 0 0 1 0 8H6M5.6 3.2 2.4 6.5l3.2 3.3",
  redo: "M13.5 6.5h-7a4 4 0 0 0 0 8H10M10.4 3.2l3.2 3.3-3.2 3.3",
  move: "M8 1.5v13M1.5 8h13M6 3.4 8 1.4l2 2M6 12.6l2 2 2-2M3.4 6l-2 2 2 2M12.6 6l2 2-2 2",
  lasso: "M8 2c3.6 0 6.5 1.9 6.5 4.4S11.600 10.800 8 10.800 1.500 8.900 1.500 6.400 4.400 2 8 2zM4.800 10.300c-1.400.8-1.400 2.900.4 2.900s1.600-2.100.2-2.700M5.600 13.100 4.600 15",
  box: "M2 3.500V2h1.500M6 2h1.500M9 2h1.500M12.500 2H14v1.500M14 6v1.500M14 9v1.500M14 12.500V14h-1.500M10 14H8.500M7 14H5.500M3.500 14H2v-1.500M2 10V8.500M2 7V5.500",
  fit: "M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4",
  theme: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 2v12A6 6 0 0 0 8 2z",
};
const FILLED = ["play", "pause", "step"];

export type IconName = keyof typeof PATHS;

export function icon(name: IconName): SVGElement {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "0 0 16 16");
  picture.setAttribute("class", FILLED.includes(name) ? "ck-icon ck-filled" : "ck-icon");
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  if (name === "theme") path.setAttribute("fill-rule", "evenodd");
  picture.append(path);
  return picture;
}

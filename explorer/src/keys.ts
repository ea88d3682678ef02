// What a key press means on a map.

import type { Place } from "./overlay";

/** Which way the arrow keys go. */
export const ARROWS: Record<string, Place> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The key, in lower case if it is a letter; "" if the press is the browser's own, such as Ctrl-R. */
export function keyOf({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): string {
  if (altKey || ((ctrlKey || metaKey) && key !== "Enter")) return "";
  return key.length === 1 ? key.toLowerCase() : key;
}

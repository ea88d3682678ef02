// Light or dark, as the user chose here, or else as the system has it.

export type ThemeName = "light" | "dark";

const KEY = "closeknit-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export class Theme {
  private chosen: string | null = null;

  constructor(private changed: (name: ThemeName) => void) {
    try {
      this.chosen = localStorage.getItem(KEY);
    } catch {
      // Nothing is remembered here.
    }
    system.addEventListener("change", this.notify);
  }

  get name(): ThemeName {
    if (this.chosen === "light" || this.chosen === "dark") return this.chosen;
    return system.matches ? "dark" : "light";
  }

  toggle(): void {
    this.chosen = this.name === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEY, this.chosen);
    } catch {
      // It is forgotten, then.
    }
    this.notify();
  }

  dispose(): void {
    system.removeEventListener("change", this.notify);
  }

  private notify = () => this.changed(this.name);
}

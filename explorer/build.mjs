// Bundles the page and the widget into the package, which users install without Node.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = process.argv[2] ?? `${here}../src/closeknit/explore/static`;
await mkdir(target, { recursive: true });
const common = {
  bundle: true,
  minify: true,
  charset: "utf8",
  target: "es2022",
  legalComments: "none",
  absWorkingDir: here,
};
const banner = { js: "// Built from explorer/ by `npm run build`; change it there." };
await build({ ...common, banner, entryPoints: ["src/page.ts"], format: "iife", outfile: `${target}/app.js` });
await build({ ...common, banner, entryPoints: ["src/widget.ts"], format: "esm", outfile: `${target}/widget.js` });
await build({ ...common, entryPoints: ["src/app.css"], outfile: `${target}/app.css` });
for (const name of ["index.html", "icon.svg", "LICENCES.txt"]) {
  await copyFile(`${here}public/${name}`, `${target}/${name}`);
}

/**
 * Builds the scripts and styles of the server's pages, which are in the repository: nobody who installs hybriddp needs Node.
 *
 * `npm run pages` writes them to where the server reads them; test/pages.test.js builds them elsewhere and compares.
 */

import { copyFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { buildSync } from "esbuild";

const folder = fileURLToPath(new URL(".", import.meta.url));
const pages = join(folder, "pages");
const uplot = join(folder, "node_modules", "uplot");

/** Where the server reads them. */
export const STATIC = join(folder, "..", "src", "hybriddp", "service", "static");

/** Writes all files into a folder. uPlot's style and license go with the bundle that it is in. */
export function buildPages(to) {
  buildSync({
    absWorkingDir: folder,
    entryPoints: readdirSync(pages).filter((name) => name.endsWith(".ts")).map((name) => join(pages, name)),
    bundle: true,
    format: "esm",
    minify: true,
    target: "es2022",
    legalComments: "eof",
    logLevel: "warning",
    outdir: to,
  });
  copyFileSync(join(uplot, "dist", "uPlot.min.css"), join(to, "uplot.css"));
  copyFileSync(join(uplot, "LICENSE"), join(to, "uplot-license.txt"));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) buildPages(STATIC);

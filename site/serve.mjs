/**
 * Serves the site while you write: a change of a page is on the screen a moment later, a change of a
 * doc comment of the SDK after some seconds. Faults of the pages are printed. A change of pages.mjs
 * needs a new start. `npm run docs` installs the tools and runs this; options: `--port N`.
 */
import { watch } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { createServer } from "vitepress";
import { generateSite, ROOT, SITE, writePages } from "./generate.mjs";
import { HOME, SDK_REFERENCE } from "./pages.mjs";
import { writeSdkReference } from "./write-sdk-reference.mjs";

const DELAY_MS = 100;
const SDK_SOURCES = join(ROOT, "packages", "peer", "src");

const { values } = parseArgs({ options: { port: { type: "string", default: "5173" } } });
const port = Number(values.port);
if (!Number.isInteger(port) || port < 0 || port > 65_535) {
  throw new Error(`expected a port, found ${values.port} at --port`);
}

await updateReference();
const { pages } = update();
const server = await createServer(SITE, { port, host: "127.0.0.1" });
await server.listen();
server.printUrls();

// Vite would wait for open connections.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));

let timer;
let updating = Promise.resolve();
const files = [HOME, ...pages.flatMap(({ file }) => (file === undefined ? [] : [file]))];
const folders = new Set(files.map(dirname));
folders.delete(SDK_REFERENCE);
for (const folder of folders) {
  watch(join(ROOT, folder), (_event, name) => {
    if (!name?.endsWith(".md")) return;
    clearTimeout(timer);
    timer = setTimeout(updateAgain, DELAY_MS);
  });
}

let referenceTimer;
watch(SDK_SOURCES, { recursive: true }, () => {
  clearTimeout(referenceTimer);
  referenceTimer = setTimeout(() => {
    updating = updating.then(updateReference).then(updateAgain);
  }, DELAY_MS);
});

/** A file that is being moved is absent for a moment. */
function updateAgain() {
  try {
    update();
  } catch (error) {
    console.error(error.message);
  }
}

/** Prints what the doc comments lack. The pages of the reference then stay as they were. */
async function updateReference() {
  try {
    await writeSdkReference();
  } catch (error) {
    console.error(error.message);
  }
}

function update() {
  const site = generateSite();
  for (const fault of site.faults) console.error(fault);
  writePages(site);
  return site;
}

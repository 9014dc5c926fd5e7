/**
 * Builds the app: with the connection of this machine in it, and with a service worker that knows
 * all files of the build.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig, loadEnv } from "vite";
import { PREFIXES, readConnection } from "./connection.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));

/**
 * In the repository the app uses the packages beside it. In a folder of your own, remove this and
 * run `npm install @bigpeer/peer`.
 */
const PEER = fileURLToPath(new URL("../../packages/peer/", import.meta.url));
const alias = existsSync(join(PEER, "dist"))
  ? [
      { find: "@bigpeer/peer/react", replacement: join(PEER, "dist/react/index.js") },
      { find: "@bigpeer/peer", replacement: join(PEER, "dist/sdk/bigpeer.js") },
    ]
  : [];

// oxlint-disable-next-line import/no-default-export -- Vite takes this one.
export default defineConfig(({ mode, command }) => ({
  base: "./",
  plugins: [react(), serviceWorker()],
  // One React, also for the hooks, which are outside of this folder.
  resolve: { alias, dedupe: ["react", "react-dom"] },
  define: {
    __CONNECTION__: JSON.stringify(
      readConnection({ ...loadEnv(mode, here, PREFIXES), ...process.env }),
    ),
  },
  build: { target: "es2022", assetsInlineLimit: 0 },
  ...(command === "serve" && { server: { fs: { allow: [here, PEER] } } }),
}));

/** Writes sw.js with the names of all built files, and a version that changes with them. */
function serviceWorker() {
  return {
    name: "service-worker",
    apply: "build",
    writeBundle({ dir }) {
      const files = readdirSync(dir, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== "sw.js")
        .map(({ parentPath, name }) => join(parentPath, name))
        .toSorted();
      const hash = createHash("sha256");
      for (const file of files) hash.update(file).update(readFileSync(file));
      // The page is asked for by the name of its folder.
      const paths = files.map((file) => `./${file.slice(dir.length + 1).replaceAll("\\", "/")}`);
      const listed = paths.map((path) => (path === "./index.html" ? "./" : path));
      const code = readFileSync(join(here, "src/service-worker.js"), "utf8")
        .replace('"VERSION"', JSON.stringify(hash.digest("hex").slice(0, 16)))
        .replace('["FILES"]', JSON.stringify(listed, undefined, 2));
      writeFileSync(join(dir, "sw.js"), code);
    },
  };
}

/**
 * Starts two Big Peers in temporary folders and sends the calls of the .http files in this folder with
 * curl. README.md shows how to run it.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { orGiveUp, RunError, runExamples } from "../curl/example-run.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const program = process.env.BIGPEER ?? join(root, "packages/server/dist/main.js");
const folder = mkdtempSync(join(tmpdir(), "big-peers-"));
const servers = [];

/** Replication secret of both servers. */
const secret = randomBytes(24).toString("hex");

/** Starts a Big Peer on free ports; resolves with its addresses when it is ready. */
function startServer(name) {
  if (!existsSync(program)) {
    throw new RunError(`${program} does not exist: run npm run build first`);
  }
  const dataDir = join(folder, name);
  const ports = ["--port", "0", "--management-port", "0", "--replication-port", "0"];
  const words = ["--data-dir", dataDir, ...ports, "--log-level", "warn"];
  const server = spawn(process.execPath, [program, ...words], {
    env: { ...process.env, BIGPEER_REPLICATION_SECRET: secret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  servers.push(server);
  return new Promise((resolve, reject) => {
    let text = "";
    server.on("exit", () => reject(new RunError(`${name} did not start`)));
    server.stdout.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
      if (!/^ +stop /m.test(text)) return;
      const link = new URL(/^ +links +(\S+)/m.exec(text)[1]).host;
      const quickstart = JSON.parse(readFileSync(join(dataDir, "quickstart.json"), "utf8"));
      resolve({ link, ...quickstart });
    });
  });
}

async function stopServers() {
  for (const server of servers) {
    const isOver = new Promise((resolve) => server.once("exit", resolve));
    if (server.exitCode === null && server.kill()) await isOver;
  }
  rmSync(folder, { recursive: true, force: true });
}

try {
  const north = await startServer("north");
  const south = await startServer("south");
  orGiveUp("examples/replication", () => {
    runExamples({
      folder: fileURLToPath(new URL(".", import.meta.url)),
      wanted: process.argv.slice(2),
      settings: { baseUrl: north.managementUrl, isShown: process.env.SHOW === "1" },
      variables: {
        N: "/namespace/default/bigPeer/big-peer",
        NORTH: north.managementUrl,
        NORTH_DATA: north.dataUrl,
        NORTH_LINK: north.link,
        SOUTH: south.managementUrl,
        SOUTH_DATA: south.dataUrl,
      },
    });
  });
} catch (error) {
  if (!(error instanceof RunError)) throw error;
  console.error(`examples/replication: ${error.message}`);
  process.exitCode = 2;
} finally {
  await stopServers();
}

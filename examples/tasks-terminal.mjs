// Shared task list in the terminal, which also works offline. It shows the state of the sync and the
// other connected peers, and it answers remote statements.
//
//   npm start                                       starts a server on ./data
//   node examples/tasks-terminal.mjs --name till    in other terminals, each with its own name
//   node examples/tasks-terminal.mjs --help         lists the options
//
// This remote statement then reads the tasks of all terminals (docs/remote-execute.md):
//   SYNC CONTEXT ( PEERS WHERE peerMetadata.app = 'tasks' ) SELECT title FROM tasks
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { openPeer } from "@bigpeer/peer";
import { fromEnvironment } from "./ditto-environment.mjs";

const USAGE = `Usage: node examples/tasks-terminal.mjs [options]

A task list that all terminals with this program share. It also works offline.
Start a server first: npm start

Options:
  --name NAME         name of this device (default: host name)
  --folder FOLDER     folder that keeps the tasks (default: memory only)
  --quickstart FILE   file that the first start of the server wrote
                      (default: DITTO_DATABASE_ID, DITTO_SERVER_URL and DITTO_DEVELOPMENT_TOKEN
                      if they are set, otherwise data/quickstart.json)
  --remote KIND       remote statements that may run here: read, write or off (default: read)
  --help              show this text

Commands: add <title>, toggle <number>, quit`;

/** Parses the command line; prints the usage and exits if it is invalid. */
function readOptions(options) {
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    return process.exit(2);
  }
}

const given = readOptions({
  name: { type: "string", default: hostname() },
  folder: { type: "string" },
  quickstart: { type: "string" },
  remote: { type: "string", default: "read" },
  help: { type: "boolean", short: "h", default: false },
});

if (given.help) {
  console.log(USAGE);
  process.exit(0);
}

/** App, address and credential, from the file of the server. */
function fromQuickstart(path) {
  if (!existsSync(path)) {
    console.error(`failed to find ${path}: start a server first (npm start), or set --quickstart`);
    process.exit(1);
  }
  const { appId, apiKey: token, dataUrl: url } = JSON.parse(readFileSync(path, "utf8"));
  return { appId, url, token };
}

const connection =
  given.quickstart === undefined ? fromEnvironment() : fromQuickstart(given.quickstart);
const peer = await openPeer({
  ...(given.folder === undefined ? { memory: true } : { folder: given.folder }),
  ...(connection ?? fromQuickstart("data/quickstart.json")),
  deviceName: given.name,
  metadata: { app: "tasks" },
  remote: given.remote,
});

// The lines of each part of the screen. Without a terminal, a part is printed each time it changes.
const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
const parts = { sync: [], tasks: [], peers: [], news: [] };
const input = createInterface({
  input: process.stdin,
  ...(isTerminal && { output: process.stdout, prompt: "> " }),
});

function show(part, lines) {
  if (JSON.stringify(parts[part]) === JSON.stringify(lines)) return;
  parts[part] = lines;
  if (!isTerminal) {
    for (const line of lines) console.log(`${part}: ${line}`);
    return;
  }
  if (peer.isClosed) return;
  const text = Object.entries(parts).flatMap(([name, shown]) => [bold(name), ...shown, ""]);
  process.stdout.write(`\u001b[2J\u001b[H${text.join("\n")}\n`);
  console.log("add <title>, toggle <number>, quit");
  input.prompt(true);
}

function notify(line) {
  const news = plain(`${new Date().toISOString().slice(11, 19)} ${line}`);
  // A terminal shows the last five; a file or a pipe gets all of them.
  if (isTerminal) show("news", [...parts.news.slice(-4), news]);
  else console.log(`news: ${plain(line)}`);
}

const bold = (text) => `\u001b[1m${text}\u001b[0m`;
// Titles come from other peers: remove control characters, which could control the terminal.
const plain = (text) => text.replace(/\p{Cc}/gu, " ");

// The connection.
function showSync({ state, pendingCount, reason }) {
  const why = state === "connected" || reason === undefined ? "" : ` (${reason})`;
  show("sync", [plain(`${state}${why}, ${pendingCount} to be uploaded`)]);
}
peer.on("status", showSync);
peer.on("error", ({ message }) => notify(`error: ${message}`));
peer.on("warning", (message) => notify(`warning: ${message}`));
peer.on("refused", ({ reason }) => notify(`the server refused a change: ${reason}`));
peer.on("remote", ({ statement, itemCount, elapsedMs, error }) => {
  const outcome = error === undefined ? `${itemCount} rows in ${elapsedMs} ms` : error.message;
  notify(`remote statement: ${statement}: ${outcome}`);
});

// The tasks: the peer subscribes to all of them and shows them each time they change.
let tasks = [];
peer.sync.registerSubscription("SELECT * FROM tasks");
peer.store.registerObserver("SELECT * FROM tasks ORDER BY title, _id LIMIT 30", ({ items }) => {
  tasks = items;
  const lines = items.map(({ title, isDone }, i) => {
    const name = typeof title === "string" ? plain(title) : "(without a title)";
    return `${i + 1} [${isDone === true ? "x" : " "}] ${name}`;
  });
  show("tasks", lines.length === 0 ? ["none"] : lines);
});

// The other connected peers.
peer.presence.observe(({ remotePeers, remotePeerCount }) => {
  const names = remotePeers.slice(0, 10).map(({ deviceName }) => plain(deviceName));
  const more = remotePeerCount - names.length;
  if (more > 0) names.push(`${more} more`);
  show("peers", [names.length === 0 ? "none" : names.join(", ")]);
});

// Commands of the user.
const commands = {
  async add(title) {
    if (title === "") return notify("expected a title");
    const task = { _id: randomUUID(), title, isDone: false };
    await peer.store.execute("INSERT INTO tasks DOCUMENTS (:task)", { task });
  },
  async toggle(number) {
    const task = tasks[Number(number) - 1];
    if (task === undefined) return notify(`expected a number from 1 to ${tasks.length}`);
    const { _id: id, isDone } = task;
    const statement = "UPDATE tasks SET isDone = :isDone WHERE _id = :id";
    await peer.store.execute(statement, { id, isDone: isDone !== true });
  },
  quit: () => input.close(),
};

showSync(peer.sync.status);
peer.sync.start();
// Commands run one after the other, and all of them before the program ends.
let done = Promise.resolve();
input.on("line", (line) => {
  done = done.then(() => runCommand(line));
});
input.on("close", () => void leave());

async function leave() {
  await done;
  // A pipe that stays open would keep the process alive.
  process.stdin.destroy();
  await peer.close();
}

async function runCommand(line) {
  const [word = "", ...rest] = line.trim().split(" ");
  try {
    if (!Object.hasOwn(commands, word)) notify(`expected add, toggle or quit, found "${word}"`);
    else await commands[word](rest.join(" "));
  } catch (error) {
    notify(`error: ${error.message}`);
  }
  if (isTerminal && !peer.isClosed) input.prompt();
}

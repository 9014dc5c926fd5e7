// Tasks in a terminal: shared with all who run it, with and without a connection. It shows the state
// of the sync and who else is there, and answers statements that are sent to its peers.
//
//   npm start                                       a server on ./data
//   node examples/tasks-terminal.mjs --name till    in other terminals, each with another name
//   node examples/tasks-terminal.mjs --help         what else can be said
//
// Then ask all of them what they have (docs/remote-execute.md):
//   SYNC CONTEXT ( PEERS WHERE peerMetadata.app = 'tasks' ) SELECT title FROM tasks
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { openPeer } from "@bigpeer/peer";

const USAGE = `Usage: node examples/tasks-terminal.mjs [options]

Tasks in a terminal, shared with all who run it, with and without a connection.
Start a server first: npm start

Options:
  --name NAME         how others see this device (default: the name of the machine)
  --folder FOLDER     where the tasks are kept (default: in memory, gone at the end)
  --quickstart FILE   what the first start of the server left in its data folder
                      (default: data/quickstart.json)
  --remote WHAT       which statements of others run here: read, write or off (default: read)
  --help              shows this text

Commands: add <title>, toggle <number>, quit`;

/** What was given, or why it cannot be read. */
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
  quickstart: { type: "string", default: "data/quickstart.json" },
  remote: { type: "string", default: "read" },
  help: { type: "boolean", short: "h", default: false },
});

if (given.help) {
  console.log(USAGE);
  process.exit(0);
}

if (!existsSync(given.quickstart)) {
  console.error(
    `There is no ${given.quickstart}: start a server first (npm start), or name its file.`,
  );
  process.exit(1);
}
const { appId, apiKey: token, dataUrl: url } = JSON.parse(readFileSync(given.quickstart, "utf8"));
const peer = await openPeer({
  ...(given.folder === undefined ? { memory: true } : { folder: given.folder }),
  appId,
  url,
  token,
  deviceName: given.name,
  metadata: { app: "tasks" },
  remote: given.remote,
});

// What is shown: one list of lines for each part. Where there is no terminal, a part is printed when
// it has changed.
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

function tell(line) {
  const news = plain(`${new Date().toISOString().slice(11, 19)} ${line}`);
  // A terminal shows the last few; a file or a pipe has those before.
  if (isTerminal) show("news", [...parts.news.slice(-4), news]);
  else console.log(`news: ${plain(line)}`);
}

const bold = (text) => `\u001b[1m${text}\u001b[0m`;
// Titles come from others: nothing in them may steer the terminal.
const plain = (text) => text.replace(/\p{Cc}/gu, " ");

// The connection.
function showSync({ state, pendingCount, reason }) {
  const why = state === "connected" || reason === undefined ? "" : ` (${reason})`;
  show("sync", [plain(`${state}${why}, ${pendingCount} to be uploaded`)]);
}
peer.on("status", showSync);
peer.on("error", ({ message }) => tell(`error: ${message}`));
peer.on("warning", (message) => tell(`warning: ${message}`));
peer.on("refused", ({ reason }) => tell(`the server did not take a change: ${reason}`));
peer.on("remote", ({ statement, itemCount, elapsedMs, error }) => {
  const outcome = error === undefined ? `${itemCount} rows in ${elapsedMs} ms` : error.message;
  tell(`asked from outside: ${statement}: ${outcome}`);
});

// The tasks: all of them are brought here, and shown whenever they are others.
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

// Who else is there.
peer.presence.observe(({ remotePeers, remotePeerCount }) => {
  const names = remotePeers.slice(0, 10).map(({ deviceName }) => plain(deviceName));
  const more = remotePeerCount - names.length;
  if (more > 0) names.push(`${more} more`);
  show("peers", [names.length === 0 ? "nobody else" : names.join(", ")]);
});

// What the user says.
const commands = {
  async add(title) {
    if (title === "") return tell("expected a title");
    const task = { _id: randomUUID(), title, isDone: false };
    await peer.store.execute("INSERT INTO tasks DOCUMENTS (:task)", { task });
  },
  async toggle(number) {
    const task = tasks[Number(number) - 1];
    if (task === undefined) return tell(`expected a number of 1 to ${tasks.length}`);
    const { _id: id, isDone } = task;
    const statement = "UPDATE tasks SET isDone = :isDone WHERE _id = :id";
    await peer.store.execute(statement, { id, isDone: isDone !== true });
  },
  quit: () => input.close(),
};

showSync(peer.sync.status);
peer.sync.start();
// One command after the other: what was said before the end is done before it.
let done = Promise.resolve();
input.on("line", (line) => {
  done = done.then(() => obey(line));
});
input.on("close", () => void leave());

async function leave() {
  await done;
  // A pipe that stays open would keep the process alive.
  process.stdin.destroy();
  await peer.close();
}

async function obey(line) {
  const [word = "", ...rest] = line.trim().split(" ");
  try {
    if (!Object.hasOwn(commands, word)) tell(`expected add, toggle or quit, found "${word}"`);
    else await commands[word](rest.join(" "));
  } catch (error) {
    tell(`error: ${error.message}`);
  }
  if (isTerminal && !peer.isClosed) input.prompt();
}

/**
 * The longest piece of work in a CPU profile: samples in a row whose stacks have the same bottom, so
 * that nothing else had a turn between them; with where its time went.
 */
import { existsSync, readFileSync } from "node:fs";

const SHOWN = 8;
const IDLE = new Set(["(idle)", "(program)", "(root)"]);

function frameName({ callFrame: { functionName, url, lineNumber } }) {
  const file = url.slice(url.lastIndexOf("/") + 1);
  return file === "" ? functionName : `${functionName || "(anonymous)"} ${file}:${lineNumber + 1}`;
}

/** For each node its parent and the bottom frame of its stack. */
function readTree(nodes) {
  const byId = new Map(
    nodes.map((node) => [node.id, { node, parent: undefined, bottom: node.id }]),
  );
  for (const node of nodes) {
    for (const child of node.children ?? []) byId.get(child).parent = node.id;
  }
  const root = nodes[0].id;
  for (const node of nodes) {
    for (const child of node.children ?? []) {
      byId.get(child).bottom = node.id === root ? child : byId.get(node.id).bottom;
    }
  }
  return byId;
}

/** First and last sample of the longest run, and how long it took. */
function longestRun({ samples, timeDeltas }, tree) {
  let best = { ms: 0, from: 0, to: 0 };
  let run = { bottom: undefined, from: 0, ms: 0 };
  for (const [i, id] of samples.entries()) {
    const { node, bottom } = tree.get(id);
    const name = node.callFrame.functionName;
    const isGc = name === "(garbage collector)";
    if (IDLE.has(name)) run = { bottom: undefined, from: i + 1, ms: 0 };
    else if (!isGc && bottom !== run.bottom) run = { bottom, from: i, ms: 0 };
    run.ms += (timeDeltas[i + 1] ?? 0) / 1000;
    if (run.bottom !== undefined && run.ms > best.ms) best = { ms: run.ms, from: run.from, to: i };
  }
  return best;
}

function stackOf(id, tree) {
  const names = [];
  for (let at = id; at !== undefined; at = tree.get(at).parent)
    names.push(frameName(tree.get(at).node));
  return names;
}

/** Text with the length of the longest piece, its own time by function, and its most common stack. */
export function describeLongest(file) {
  if (!existsSync(file)) return `  no profile at ${file}`;
  const profile = JSON.parse(readFileSync(file, "utf8"));
  const tree = readTree(profile.nodes);
  const { ms, from, to } = longestRun(profile, tree);
  const self = new Map();
  const byNode = new Map();
  for (let i = from; i <= to; i++) {
    const id = profile.samples[i];
    const time = (profile.timeDeltas[i + 1] ?? 0) / 1000;
    const name = frameName(tree.get(id).node);
    self.set(name, (self.get(name) ?? 0) + time);
    byNode.set(id, (byNode.get(id) ?? 0) + time);
  }
  const most = [...self].sort(([, a], [, b]) => b - a).slice(0, SHOWN);
  const [[hottest] = []] = [...byNode].sort(([, a], [, b]) => b - a);
  const stack = hottest === undefined ? [] : stackOf(hottest, tree);
  return [
    `  longest piece ${ms.toFixed(0)} ms`,
    ...most.map(([name, time]) => `    ${time.toFixed(0).padStart(6)} ms  ${name}`),
    `    stack: ${stack.join(" < ")}`,
  ].join("\n");
}

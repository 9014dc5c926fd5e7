/**
 * Finds the longest piece of work in a CPU profile: consecutive samples whose stacks have the same
 * bottom, so that no other work ran in between. It also reports where the time was spent.
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
function longestRun({ samples, timeDeltas }, tree, begin) {
  let best = { ms: 0, from: 0, to: 0 };
  let run = { bottom: undefined, from: begin, ms: 0 };
  for (let i = begin; i < samples.length; i++) {
    const { node, bottom } = tree.get(samples[i]);
    const name = node.callFrame.functionName;
    const isGc = name === "(garbage collector)";
    if (IDLE.has(name)) run = { bottom: undefined, from: i + 1, ms: 0 };
    else if (!isGc && bottom !== run.bottom) run = { bottom, from: i, ms: 0 };
    run.ms += (timeDeltas[i + 1] ?? 0) / 1000;
    if (run.bottom !== undefined && run.ms > best.ms) best = { ms: run.ms, from: run.from, to: i };
  }
  return best;
}

/** Milliseconds by function, of some samples. */
function timesOf({ samples, timeDeltas }, tree, { from, to }) {
  const self = new Map();
  for (let i = from; i <= to; i++) {
    const name = frameName(tree.get(samples[i]).node);
    self.set(name, (self.get(name) ?? 0) + (timeDeltas[i + 1] ?? 0) / 1000);
  }
  const most = [...self].sort(([, a], [, b]) => b - a).slice(0, SHOWN);
  return most.map(([name, time]) => `    ${time.toFixed(0).padStart(6)} ms  ${name}`);
}

/** The most frequent stack of a run. */
function commonStack({ samples }, tree, { from, to }) {
  const counts = new Map();
  for (let i = from; i <= to; i++) counts.set(samples[i], (counts.get(samples[i]) ?? 0) + 1);
  const [[id] = []] = [...counts]
    .filter(([one]) => tree.get(one).node.callFrame.functionName !== "(garbage collector)")
    .sort(([, a], [, b]) => b - a);
  const names = [];
  for (let at = id; at !== undefined; at = tree.get(at).parent) {
    names.push(frameName(tree.get(at).node));
  }
  return names;
}

/** The first sample that was taken `ms` after the profile began. */
function sampleAt({ samples, timeDeltas }, ms) {
  let passed = 0;
  const found = samples.findIndex((_, i) => {
    passed += timeDeltas[i] / 1000;
    return passed >= ms;
  });
  return found === -1 ? samples.length : found;
}

/** Describes, from `skipMs` on, the longest piece with its stack, and all functions. */
export function describeLongest(file, skipMs) {
  if (!existsSync(file)) return `  no profile at ${file}`;
  const profile = JSON.parse(readFileSync(file, "utf8"));
  const tree = readTree(profile.nodes);
  const begin = sampleAt(profile, skipMs);
  const run = longestRun(profile, tree, begin);
  return [
    `  longest piece ${run.ms.toFixed(0)} ms`,
    ...timesOf(profile, tree, run),
    `    stack: ${commonStack(profile, tree, run).join(" < ")}`,
    "  all pieces",
    ...timesOf(profile, tree, { from: begin, to: profile.samples.length - 1 }),
  ].join("\n");
}

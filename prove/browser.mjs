/**
 * Proof that a peer in a browser loses no acknowledged write and uploads each exactly once: real
 * Chromium and real Firefox are killed at random times while two tabs write, and the peer is read
 * again each time. With `--storage`, the same for the storage alone.
 */
import { Random } from "../compare/random.mjs";
import { killPeer } from "./browser/killed-peer.mjs";
import { killStorage } from "./browser/killed-storage.mjs";

export { parseOptions, USAGE } from "./browser/options.mjs";

/** Returns the code that the process exits with. */
export async function prove(options) {
  const { browsers, kills, seed, isStorage } = options;
  console.log(`seed ${seed}`);
  const random = new Random(seed);
  const results = [];
  for (const [index, name] of browsers.entries()) {
    const count = Math.floor((kills * (index + 1)) / browsers.length) - countOf(results);
    const run = { kills: count, random: () => random.next(), report: console.log };
    const result = await (isStorage ? killStorage : killPeer)(name, run);
    results.push({ name, ...result });
  }
  for (const result of results) console.log(isStorage ? storageLine(result) : peerLine(result));
  return results.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

function peerLine({ name, kills, steps, acknowledged, uploaded, failures }) {
  const counts =
    `${kills} kills; ${acknowledged} writes acknowledged, ${steps} found after the kills; ` +
    `${uploaded} on the server before the last start, ${steps} at the end`;
  if (failures.length > 0) return `${name}: FAILS: ${failures.join("; ")} (${counts})`;
  return `${name}: ${counts}: no acknowledged write is lost, each is uploaded exactly once`;
}

function storageLine({ name, kills, commits, failures }) {
  const end = failures.length === 0 ? "holds" : `FAILS: ${failures.join("; ")}`;
  return `${name}: ${kills} kills, ${commits} commits in the store at the end: ${end}`;
}

function countOf(results) {
  return results.reduce((sum, { kills }) => sum + kills, 0);
}

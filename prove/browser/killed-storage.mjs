/**
 * Kills a real browser at random times while a page writes to its storage, and checks each time that
 * no acknowledged strict commit is lost and that none is applied in part.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { bundlePage, openBrowser, servePage } from "../../scripts/open-browser.mjs";
import { removeFolder } from "../../scripts/remove-folder.mjs";

const PAGE = fileURLToPath(new URL("storage-page.mjs", import.meta.url));

/** A kill comes after this time at the latest, counted from the first acknowledged commit. */
const KILL_MS_MAX = 1500;

/**
 * One profile and one store for all kills, so that each starts from what the last one left. Returns
 * `{ kills, commits, unacknowledged, failures }`. `report` is called with a line for each kill.
 */
export async function killStorage(name, { kills, random, report = () => {} }) {
  const profile = mkdtempSync(join(tmpdir(), `bigpeer-killed-${name}-`));
  const state = { acknowledged: 0, onAcknowledged: () => {} };
  const page = await servePage(await bundlePage(PAGE), {
    onMessage: (text) => {
      state.acknowledged = Math.max(state.acknowledged, Number(text));
      state.onAcknowledged();
    },
  });
  const run = { name, profile, url: page.url, state, report };
  const result = { kills: 0, commits: 0, unacknowledged: 0, failures: [] };
  try {
    while (result.kills < kills && result.failures.length === 0) {
      await checkAndKill(run, result, random() * KILL_MS_MAX);
    }
    const browser = await openBrowser(name, { profile });
    try {
      await check(await browser.openPage(page.url), run, result);
    } finally {
      await browser.close();
    }
    return result;
  } finally {
    await page.close();
    await removeFolder(profile);
  }
}

/** Checks what the last kill has left, then writes on until the next one. */
async function checkAndKill(run, result, afterMs) {
  const { name, profile, url, state } = run;
  const browser = await openBrowser(name, { profile });
  try {
    const page = await browser.openPage(url);
    await check(page, run, result);
    const begun = new Promise((resolve) => {
      state.onAcknowledged = resolve;
    });
    const writing = page.evaluate('storagePage.write("killed")').then(
      () => "the page stopped writing",
      (error) => String(error),
    );
    const early = await Promise.race([begun, writing]);
    if (early !== undefined) throw new Error(`${early}: ${page.console.join("; ")}`);
    await wait(afterMs);
  } finally {
    await browser.kill();
  }
  result.kills++;
}

async function check(page, { name, state, report }, result) {
  const found = await page.evaluate('storagePage.check("killed")');
  result.commits = found.number;
  result.unacknowledged += Math.max(0, found.number - state.acknowledged);
  const fault = faultOf(found, state.acknowledged);
  if (fault !== undefined) result.failures.push(fault);
  report(
    `${name} after ${result.kills} kills: ${state.acknowledged} acknowledged, ` +
      `${found.number} found${fault === undefined ? "" : `: ${fault}`}`,
  );
}

function faultOf({ number, difference }, acknowledged) {
  if (number < acknowledged) return `${acknowledged - number} acknowledged commits are lost`;
  return difference;
}

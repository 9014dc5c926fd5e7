/**
 * The screenshots of the README and the site, made in real Chromium with real servers, in docs/images.
 * `screenshots.mjs console` makes those of the console alone, `screenshots.mjs tasks-web` those of
 * examples/tasks-web.
 */
import { openBrowser } from "./open-browser.mjs";
import { shootConsole } from "./screenshots/console.mjs";
import { shootTasksWeb } from "./screenshots/tasks-web.mjs";

const SUBJECTS = { console: shootConsole, "tasks-web": shootTasksWeb };

const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(SUBJECTS);
for (const subject of wanted) {
  if (!Object.hasOwn(SUBJECTS, subject)) {
    throw new Error(`expected ${Object.keys(SUBJECTS).join(" or ")}, found ${subject}`);
  }
}

const browser = await openBrowser("chromium");
try {
  for (const subject of wanted) await SUBJECTS[subject](browser);
} finally {
  await browser.close();
}

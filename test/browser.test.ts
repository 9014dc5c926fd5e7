/**
 * scripts/browser.mjs: which browser the tests of pages use, and why there is none.
 */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../packages/node/test/support/temporary-folder.ts";
import { findBrowser, findChromium } from "../scripts/browser.mjs";

/** A folder of programs, each a script of the shell. */
function plantPrograms(programs: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, lines] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${lines}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

test("an installed Chromium is used, or the program that CHROMIUM names", async () => {
  const folder = plantPrograms({ "google-chrome": "", chromium: "", other: "" });
  expect(await findChromium({ PATH: folder })).toEqual({ path: join(folder, "chromium") });
  const other = join(folder, "other");
  expect(await findChromium({ PATH: folder, CHROMIUM: other })).toEqual({ path: other });
});

test("an installed Firefox is used, or the program that FIREFOX names", async () => {
  const folder = plantPrograms({ firefox: "", "firefox-esr": "", other: "" });
  const other = join(folder, "other");
  expect(await findBrowser("firefox", { PATH: folder })).toEqual({
    path: join(folder, "firefox-esr"),
  });
  expect(await findBrowser("firefox", { PATH: folder, FIREFOX: other })).toEqual({ path: other });
  expect(await findBrowser("firefox", { PATH: temporaryFolder() })).toEqual({
    reason: "Firefox is not installed: there is no apt-get to install it with",
  });
});

test("a named program that is none, and a machine without apt-get, are reasons", async () => {
  expect(await findChromium({ PATH: "", CHROMIUM: "/no/such" })).toEqual({
    reason: "CHROMIUM is no program: /no/such",
  });
  expect(await findChromium({ PATH: temporaryFolder() })).toEqual({
    reason: "Chromium is not installed: there is no apt-get to install it with",
  });
});

test.runIf(process.getuid?.() === 0)(
  "root installs it, or gets the reason of apt-get",
  async () => {
    const folder = plantPrograms({
      "apt-get": `case "$*" in *update) exit 0;; esac
[ -n "$FAILS" ] && { echo "E: one" >&2; echo "E: no such package" >&2; exit 100; }
printf '#!/bin/sh\\n' > "$FOLDER/chromium"
/bin/chmod +x "$FOLDER/chromium"`,
    });
    expect(await findChromium({ PATH: folder, FOLDER: folder, FAILS: "1" })).toEqual({
      reason: "Chromium is not installed: apt-get install failed: E: no such package",
    });
    expect(await findChromium({ PATH: folder, FOLDER: folder })).toEqual({
      path: join(folder, "chromium"),
    });
  },
);

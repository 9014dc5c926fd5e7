/**
 * scripts/debian-program.mjs: which nginx, Caddy and promtool the tests use, and why there is none.
 */
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../packages/node/test/support/temporary-folder.ts";
import { findDebianProgram } from "../scripts/debian-program.mjs";

/** A folder of programs, each a script of the shell. */
function plantPrograms(programs: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, lines] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${lines}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

const DOWNLOADED = "touch nginx_1.0_amd64.deb";
const UNPACKED = `/bin/mkdir -p content/usr/sbin
printf '#!/bin/sh\\nexit 0\\n' > content/usr/sbin/nginx
/bin/chmod +x content/usr/sbin/nginx`;

test("an installed program that runs is used, or the one that the variable names", async () => {
  const folder = plantPrograms({ nginx: "exit 0", other: "exit 0" });
  const env = { PATH: folder, XDG_CACHE_HOME: temporaryFolder() };
  expect(await findDebianProgram("nginx", env)).toEqual({ path: join(folder, "nginx") });
  const other = join(folder, "other");
  expect(await findDebianProgram("nginx", { ...env, NGINX: other })).toEqual({ path: other });
  expect(await findDebianProgram("nginx", { ...env, NGINX: "/no/such" })).toEqual({
    reason: "NGINX is no program: /no/such",
  });
});

test("a program that is absent is unpacked into the cache, and found there the next time", async () => {
  const folder = plantPrograms({ "apt-get": DOWNLOADED, "dpkg-deb": UNPACKED });
  const cache = temporaryFolder();
  const path = join(cache, "bigpeer/nginx_1.0_amd64/usr/sbin/nginx");
  const env = { PATH: `${folder}:/bin`, XDG_CACHE_HOME: cache };
  expect(await findDebianProgram("nginx", env)).toEqual({ path });
  expect(existsSync(path)).toBe(true);
  expect(await findDebianProgram("nginx", { PATH: "", XDG_CACHE_HOME: cache })).toEqual({ path });
});

test("a machine without apt-get, and a package that cannot be had, are reasons", async () => {
  const env = { PATH: temporaryFolder(), XDG_CACHE_HOME: temporaryFolder() };
  expect(await findDebianProgram("caddy", env)).toEqual({
    reason: "there is no caddy: spawn apt-get ENOENT",
  });
  const folder = plantPrograms({ "apt-get": 'echo "E: no such package" >&2; exit 100' });
  expect(await findDebianProgram("caddy", { ...env, PATH: folder })).toEqual({
    reason: "there is no caddy: E: no such package",
  });
});

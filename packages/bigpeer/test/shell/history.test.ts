/**
 * History of the shell.
 */

import { expect, test } from "vitest";
import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { History } from "../../src/shell/history.ts";

test("a statement of several lines is one line that means the same", () => {
  const history = new History({ env: { XDG_STATE_HOME: temporaryFolder() } });
  history.add("SELECT * -- all of them\nFROM tasks /* the\nlist */ WHERE t = 'a\n -- b';");
  history.add(".import a.csv tasks --batch 10");
  expect(history.read()).toEqual([
    ".import a.csv tasks --batch 10",
    "SELECT *   FROM tasks   WHERE t = 'a\\n -- b';",
  ]);
});

/**
 * The configuration of a server in a test: the defaults, a folder of its own, a free port. It has no
 * management API unless the test asks for one: `managementPort: 0`.
 */

import { temporaryFolder } from "../../../node/test/support/temporary-folder.ts";
import { type Config, readConfig } from "../../src/config/config.ts";

export function testConfig(changes: Partial<Config> = {}): Config {
  const defaults = readConfig(new Map([["--port", "0"]]), { BIGPEER_MANAGEMENT_PORT: "off" });
  return { ...defaults, dataDir: changes.dataDir ?? temporaryFolder(), ...changes };
}

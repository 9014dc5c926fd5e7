/**
 * All attacks, in the order in which they run. Each has a name, the credential that it needs, a
 * description, and `run`, which lasts until the attack is over. `flags` are settings of the server.
 */
import { BODY_ATTACKS } from "./attacks/bodies.mjs";
import { CONNECTION_ATTACKS } from "./attacks/connections.mjs";
import { FUNCTION_ATTACKS } from "./attacks/functions.mjs";
import { REQUEST_ATTACKS } from "./attacks/requests.mjs";
import { STATEMENT_ATTACKS } from "./attacks/statements.mjs";
import { SYNC_ATTACKS } from "./attacks/sync.mjs";
import { TRANSFER_ATTACKS } from "./attacks/transfers.mjs";
import { WRITE_ATTACKS } from "./attacks/writes.mjs";

export const ATTACKS = [
  ...BODY_ATTACKS,
  ...CONNECTION_ATTACKS,
  ...REQUEST_ATTACKS,
  ...FUNCTION_ATTACKS,
  ...STATEMENT_ATTACKS,
  ...SYNC_ATTACKS,
  ...WRITE_ATTACKS,
  ...TRANSFER_ATTACKS,
];

export function findAttack(name) {
  const attack = ATTACKS.find((one) => one.name === name);
  if (attack === undefined) throw new Error(`expected the name of an attack, found '${name}'`);
  return attack;
}

/**
 * All commands of `bigpeer`, in the order of the help.
 */

import type { CommandDefinition } from "../program/definition.ts";
import { APP_COMMAND } from "./app.ts";
import { ATTACHMENT } from "./attachment.ts";
import { completionCommand } from "./completion.ts";
import { DATASET } from "./dataset.ts";
import { DEV } from "./dev.ts";
import { DOCTOR } from "./doctor.ts";
import { EXPORT } from "./export.ts";
import { IMPORT } from "./import.ts";
import { KEY } from "./key.ts";
import { LOGIN } from "./login.ts";
import { OPENAPI } from "./openapi.ts";
import { PEERS } from "./peers.ts";
import { PROVIDER } from "./provider.ts";
import { QUERY } from "./query.ts";
import { REMOTE } from "./remote.ts";
import { REPLICATION } from "./replication.ts";
import { serverCommands } from "./server-commands.ts";
import { SINK } from "./sink.ts";
import { STATUS } from "./status.ts";
import { TAIL } from "./tail.ts";
import { VERSION_COMMAND } from "./version.ts";
import { WEBHOOK } from "./webhook.ts";

const [START, ...FOLDER_COMMANDS] = serverCommands();

export const COMMANDS: readonly CommandDefinition[] = [
  ...(START === undefined ? [] : [START]),
  DEV,
  STATUS,
  DOCTOR,
  PEERS,
  OPENAPI,
  LOGIN,
  QUERY,
  REMOTE,
  TAIL,
  IMPORT,
  EXPORT,
  DATASET,
  ATTACHMENT,
  APP_COMMAND,
  KEY,
  PROVIDER,
  REPLICATION,
  WEBHOOK,
  SINK,
  ...FOLDER_COMMANDS,
  completionCommand(() => COMMANDS),
  VERSION_COMMAND,
];

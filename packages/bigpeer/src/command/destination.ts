/**
 * Commands for what changes are delivered to: webhooks and sinks, which have the same operations.
 */

import type { ArgumentDefinition, CommandDefinition } from "../program/definition.ts";
import {
  create,
  type DestinationKind,
  discard,
  EVENTS,
  fromOf,
  list,
  onOne,
  POSITIONS,
  remove,
  resend,
  showLetters,
  status,
  update,
} from "./destination-runs.ts";
import { APP, MANAGEMENT, OUTPUT, own, YES } from "./shared-options.ts";

export function destinationCommand(kind: DestinationKind): CommandDefinition {
  const { name, meaning, examples } = kind;
  return {
    name,
    meaning,
    group: "Manage a server",
    examples,
    commands: [
      ...lookCommands(kind),
      ...writeCommands(kind),
      ...pauseCommands(kind),
      ...letterCommands(kind),
    ],
  };
}

function nameWord({ name }: DestinationKind): ArgumentDefinition {
  return { name: "name", meaning: `name of the ${name}` };
}

function lookCommands(kind: DestinationKind): CommandDefinition[] {
  const { name } = kind;
  return [
    {
      name: "list",
      meaning: `list the ${name}s of an app`,
      examples: [`${name} list`, `${name} list --app shop --format json`],
      groups: [own(APP), MANAGEMENT, OUTPUT],
      run: (call) => list(kind, call),
    },
    {
      name: "show",
      meaning: `show a ${name}, without its secrets`,
      examples: [`${name} show orders`],
      words: [nameWord(kind)],
      groups: [own(APP), MANAGEMENT, OUTPUT],
      run: (call) => onOne(kind, call, (calls, app, one) => calls.get(app, one)),
    },
    {
      name: "status",
      meaning: "show how far deliveries are, and why they wait",
      examples: [`${name} status  # of all`, `${name} status orders`],
      words: [{ ...nameWord(kind), isOptional: true }],
      groups: [own(APP), MANAGEMENT, OUTPUT],
      run: (call) => status(kind, call),
    },
  ];
}

function writeCommands(kind: DestinationKind): CommandDefinition[] {
  const { name, address } = kind;
  const content = {
    name: "config",
    meaning: `${address.meaning}, or the configuration in JSON; @FILE reads a file`,
    isOptional: true,
  };
  const fields = own(
    { name: "collection", short: "c", argument: "NAME", meaning: "whose changes are delivered" },
    { name: "query", argument: "FILTER", meaning: "only documents that this filter chooses" },
    { name: "events", argument: "LIST", meaning: `some of ${EVENTS.join(",")}; default: all` },
    ...kind.options,
    APP,
  );
  return [
    {
      name: "create",
      meaning: `create a ${name}, which gets the changes from now on`,
      examples: [
        `${name} create orders ${address.example} --collection orders`,
        `${name} create orders @${name}.json`,
      ],
      words: [nameWord(kind), content],
      groups: [fields, MANAGEMENT, OUTPUT],
      run: (call) => create(kind, call),
    },
    {
      name: "update",
      meaning: `change a ${name}; what is not given stays`,
      examples: [
        `${name} update orders ${address.example}`,
        `${name} update orders --events insert,delete`,
        `${name} update orders '{"query": null}'`,
      ],
      words: [nameWord(kind), content],
      groups: [fields, MANAGEMENT, OUTPUT],
      run: (call) => update(kind, call),
    },
    {
      name: "delete",
      meaning: `delete a ${name} with its dead letters`,
      examples: [`${name} delete orders --yes`],
      words: [nameWord(kind)],
      groups: [own(APP, YES), MANAGEMENT],
      run: (call) => remove(kind, call),
    },
  ];
}

function pauseCommands(kind: DestinationKind): CommandDefinition[] {
  const { name } = kind;
  const from = {
    name: "from",
    argument: "PLACE",
    choices: POSITIONS,
    meaning: "where deliveries go on; default: position, where they stopped",
  };
  return [
    {
      name: "pause",
      meaning: "pause deliveries; the position is kept",
      examples: [`${name} pause orders`],
      words: [nameWord(kind)],
      groups: [own(APP), MANAGEMENT, OUTPUT],
      run: (call) => onOne(kind, call, (calls, app, one) => calls.pause(app, one)),
    },
    {
      name: "resume",
      meaning: "resume deliveries",
      examples: [`${name} resume orders`, `${name} resume orders --from now  # leave out the rest`],
      words: [nameWord(kind)],
      groups: [own(APP, from), MANAGEMENT, OUTPUT],
      run: (call) => onOne(kind, call, (calls, app, one) => calls.resume(app, one, fromOf(call))),
    },
  ];
}

function letterCommands(kind: DestinationKind): CommandDefinition[] {
  const { name } = kind;
  const word = nameWord(kind);
  const letter = { name: "letter", meaning: "id of a dead letter" };
  return [
    {
      name: "dead-letters",
      meaning: "list deliveries that were given up, or show one with its changes",
      examples: [`${name} dead-letters orders`, `${name} dead-letters orders 12`],
      words: [word, { ...letter, isOptional: true }],
      groups: [own(APP), MANAGEMENT, OUTPUT],
      run: (call) => showLetters(kind, call),
    },
    {
      name: "resend",
      meaning: "send dead letters again, all of them until one fails, or one",
      examples: [`${name} resend orders`, `${name} resend orders 12`],
      words: [word, { ...letter, isOptional: true }],
      groups: [own(APP), MANAGEMENT, OUTPUT],
      run: (call) => resend(kind, call),
    },
    {
      name: "discard",
      meaning: "delete a dead letter without sending it",
      examples: [`${name} discard orders 12 --yes`],
      words: [word, letter],
      groups: [own(APP, YES), MANAGEMENT],
      run: (call) => discard(kind, call),
    },
  ];
}

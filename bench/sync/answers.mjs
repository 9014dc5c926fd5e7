/**
 * Child side of the messages between a benchmark and its processes: one function answers each kind
 * of question. An error that a function throws is also an answer. The process ends with its parent.
 */

const known = new Map();

/** Questions that arrived before their function was registered. */
let waiting = [];

async function reply({ id, kind, ...given }) {
  try {
    process.send?.({ id, answer: await known.get(kind)(given) });
  } catch (error) {
    process.send?.({ id, error: error.stack ?? String(error) });
  }
}

function hear(question) {
  if (known.has(question.kind)) void reply(question);
  else waiting.push(question);
}

/** Several modules may call it. */
export function answer(functions) {
  if (known.size === 0) {
    process.on("message", hear);
    process.once("disconnect", () => process.exit());
  }
  for (const [kind, find] of Object.entries(functions)) known.set(kind, find);
  const questions = waiting;
  waiting = [];
  for (const question of questions) hear(question);
}

/** Sends a message that is not an answer. */
export function notify(message) {
  process.send?.(message);
}

/** Processor time of all threads since `before`, in seconds. */
export function cpuSecondsSince(before) {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

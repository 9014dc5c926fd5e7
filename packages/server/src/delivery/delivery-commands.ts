/**
 * Delivery commands: what an operator asks of a webhook or a sink, on the node that evaluates its
 * app: the status, the dead letters, and to send these again or to discard them.
 */

import type { Platform } from "@bigpeer/engine";
import type { ValueObject } from "@bigpeer/protocol";
import type { Delivery } from "./delivery.ts";
import type { DeliveryJournal } from "./delivery-journal.ts";
import { type StatusParts, showLetter, showStatus, showWholeLetter } from "./delivery-status.ts";
import type { Sender } from "./sender.ts";

export type DestinationNoun = "webhook" | "sink";

export interface DeliveryCommand {
  readonly kind: DestinationNoun;
  readonly appId: string;
  /** Name of the webhook or the sink. */
  readonly name: string;
  readonly command: "status" | "letters" | "letter" | "retry" | "discard";
  /** A dead letter; absent for all of them. */
  readonly letter?: string | undefined;
}

/** The webhook or sink that a command is for. */
export interface CommandTarget extends Pick<StatusParts, "destination" | "store"> {
  readonly journal: DeliveryJournal;
  /** Absent while it does not run. */
  readonly delivery: Delivery | undefined;
  readonly platform: Pick<Platform, "now" | "elapsed">;
  readonly createSender: () => Sender;
  /** Lets other work proceed. */
  readonly pause: () => Promise<void>;
}

/** How long dead letters are sent again in one call. */
const RESEND_MS_MAX = 20_000;

/** Undefined when there is no such dead letter. */
export async function runDeliveryCommand(
  target: CommandTarget,
  { command, letter: letterId }: DeliveryCommand,
): Promise<ValueObject | undefined> {
  const { destination, journal, platform } = target;
  const { id } = destination;
  if (command === "status") return showStatus({ ...target, nowMs: platform.now() });
  if (command === "letters") {
    return { letters: await showLetters(target) };
  }
  if (command === "retry" && letterId === undefined) return resend(target, journal.letterIds(id));
  const letter = journal.letter(id, letterId ?? "");
  if (letter === undefined) return undefined;
  if (command === "letter") return showWholeLetter(letter);
  if (command === "retry") return resend(target, [letter.id]);
  await journal.removeLetter(id, letter.id);
  return {};
}

/** All dead letters, without their payloads: of these, one at a time is in memory. */
async function showLetters({
  destination: { id },
  journal,
  pause,
}: CommandTarget): Promise<ValueObject[]> {
  const shown: ValueObject[] = [];
  for (const letterId of journal.letterIds(id)) {
    const letter = journal.letter(id, letterId);
    if (letter !== undefined) shown.push(showLetter(letter));
    await pause();
  }
  return shown;
}

/** Sends dead letters again, the oldest first, until one fails. */
async function resend(
  { destination: { id }, journal, platform, createSender }: CommandTarget,
  letterIds: readonly string[],
): Promise<ValueObject> {
  const endMs = platform.elapsed() + RESEND_MS_MAX;
  const sender = createSender();
  let delivered = 0;
  try {
    for (const letterId of letterIds) {
      const letter = journal.letter(id, letterId);
      if (letter === undefined) continue;
      const { messageId, payload, attempts } = letter;
      const signal = AbortSignal.timeout(RESEND_MS_MAX);
      const outcome = await sender.send({ id: messageId, payload }, signal);
      if (outcome.kind !== "delivered") {
        const error = outcome.message;
        await journal.updateLetter(id, { ...letter, attempts: attempts + 1, error });
        return { delivered, left: journal.letterCount(id), error };
      }
      await journal.removeLetter(id, letterId);
      delivered++;
      if (platform.elapsed() >= endMs) break;
    }
  } finally {
    await sender.close();
  }
  return { delivered, left: journal.letterCount(id), error: null };
}

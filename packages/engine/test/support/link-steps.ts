/**
 * One side of a link in each of its phases, and short words for what happens to it.
 */

import {
  type Bye,
  type LinkHello,
  type LinkMessage,
  SYNC_VERSION,
  type SyncCursor,
} from "@bigpeer/protocol";
import { linkProofBytes } from "../../src/link/link-proof.ts";
import { linkStep, newLink } from "../../src/link/link-session.ts";
import {
  CLOSED,
  LINK_LIMITS,
  type LinkAction,
  type LinkMoment,
  type LinkSessionEvent,
  type LinkState,
  type LinkStep,
  type WantedQuery,
} from "../../src/link/link-state.ts";

export const NOW: LinkMoment = { wallMs: 1_000_000, elapsedMs: 5000, txn: 7 };

export const DIAL_NONCE: Uint8Array = new Uint8Array(32).fill(1);
export const ACCEPT_NONCE: Uint8Array = new Uint8Array(32).fill(2);
export const FILTER: Uint8Array = new Uint8Array(16).fill(3);
/** Of Big Peers that this side knows. */
export const SITES: readonly string[] = ["00000000000000a1"];
const NONCES = { dial: DIAL_NONCE, accept: ACCEPT_NONCE };

export const CARS: WantedQuery = { collection: "cars", condition: "true", statement: "Q1" };
export const BOATS: WantedQuery = { collection: "boats", condition: "n = 1", statement: "Q2" };
export const CURSOR: SyncCursor = { history: "h2", filter: FILTER, txn: 5 };

/** What a side would prove with the right secret: enough that the two differ. */
export function proofOf(side: "dial" | "accept"): Uint8Array {
  return linkProofBytes({ app: "app1", side, nonces: NONCES })
    .slice(-32)
    .map((byte) => byte ^ side.length);
}

export const HELLO_OF_ACCEPT: LinkHello = {
  t: "link",
  version: SYNC_VERSION,
  app: "app1",
  nonce: ACCEPT_NONCE,
};
export const HELLO_OF_DIAL: LinkHello = { ...HELLO_OF_ACCEPT, nonce: DIAL_NONCE };

export function said(message: LinkMessage): LinkSessionEvent {
  return { kind: "message", message, size: 100 };
}

export function later(ms: number): LinkMoment {
  return { ...NOW, wallMs: NOW.wallMs + ms, elapsedMs: NOW.elapsedMs + ms };
}

export function tickOf(
  change: Partial<Extract<LinkSessionEvent, { kind: "tick" }>> = {},
): LinkSessionEvent {
  const tick = { servedTxn: 7, sites: SITES, queuedBytes: 0, takenBytes: 0, isReading: true };
  return { kind: "tick", ...tick, ...change };
}

/** What happens, one after the other; the actions are those of the last. */
export function run(state: LinkState, ...events: readonly LinkSessionEvent[]): LinkStep {
  let step: LinkStep = { state, actions: [] };
  for (const event of events) step = linkStep(step.state, event, NOW);
  return step;
}

export function begun(side: "dial" | "accept", wanted: readonly WantedQuery[] = [CARS]): LinkState {
  const nonce = NONCES[side];
  const facts = {
    side,
    app: "app1",
    history: "h1",
    nonce,
    sites: SITES,
    limits: LINK_LIMITS,
  };
  return newLink(facts, wanted, NOW);
}

/** What has happened to a side when it is linked. */
export function greetings(side: "dial" | "accept"): LinkSessionEvent[] {
  const other = side === "dial" ? "accept" : "dial";
  const hello = side === "dial" ? HELLO_OF_ACCEPT : HELLO_OF_DIAL;
  const own: LinkSessionEvent = { kind: "signed", side, proof: proofOf(side) };
  const theirs: LinkSessionEvent[] = [
    said({ t: "proof", proof: proofOf(other) }),
    { kind: "signed", side: other, proof: proofOf(other) },
  ];
  const proofs = side === "dial" ? [own, ...theirs] : [...theirs, own];
  return [{ kind: "opened" }, said(hello), ...proofs];
}

export const LINKED: LinkMessage = { t: "linked", history: "h2", txn: 20, now: 999_000 };

export function linkedState(wanted: readonly WantedQuery[] = [CARS]): LinkState {
  return run(begun("dial", wanted), ...greetings("dial"), said(LINKED)).state;
}

export const STATES: { readonly [name: string]: () => LinkState } = {
  "greeting (dial)": () => begun("dial"),
  "greeting (accept)": () => begun("accept"),
  "proving (dial)": () => run(begun("dial"), ...greetings("dial").slice(0, 2)).state,
  "proving (accept)": () => run(begun("accept"), ...greetings("accept").slice(0, 2)).state,
  meeting: () => run(begun("dial"), ...greetings("dial")).state,
  linked: () => linkedState(),
  closed: () => CLOSED,
};

export function kindsOf(actions: readonly LinkAction[]): string {
  const words = actions.map((action) =>
    action.kind === "send" ? `send ${action.message.t}` : action.kind,
  );
  return words.join(", ");
}

export function byeOf({ actions }: LinkStep): Bye | undefined {
  for (const action of actions) {
    if (action.kind === "send" && action.message.t === "bye") return action.message;
  }
  return undefined;
}

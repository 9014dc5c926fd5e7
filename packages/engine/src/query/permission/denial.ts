/**
 * Denials: what a caller is told who may not do something. They name only what he named himself, and
 * are the same for what exists and for what does not.
 */

import { Fault } from "../fault.ts";
import { cutName } from "../unknown-name.ts";

export function collectionDenied(name: string): Fault {
  return denied(`for the collection ${cutName(name)}`);
}

/** The same words whatever the document is, or whether there is one. */
export function documentDenied(collection: string): Fault {
  return denied(`to write this document of the collection ${cutName(collection)}`);
}

export function attachmentDenied(): Fault {
  return denied("to refer to this attachment");
}

export function peersDenied(): Fault {
  return denied("to ask other peers");
}

export function otherPeersDenied(): Fault {
  return denied("to see other peers");
}

/** Indexes and settings concern all documents. */
export function wholeDenied(): Fault {
  return denied("for the store as a whole");
}

function denied(what: string): Fault {
  return new Fault("permission.denied", `the credential has no permission ${what}`);
}

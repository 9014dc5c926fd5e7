/**
 * Denials: the errors for missing permissions. They name only what the caller named, and are the
 * same whether it exists or not.
 */

import { Fault } from "../fault.ts";
import { cutName } from "../unknown-name.ts";

export function collectionDenied(name: string): Fault {
  return denied(`for the collection ${cutName(name)}`);
}

/** The same words for any document, existing or not. */
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

/** Indexes and settings affect all documents. */
export function wholeDenied(): Fault {
  return denied("for the store as a whole");
}

function denied(what: string): Fault {
  return new Fault("permission.denied", `the credential has no permission ${what}`);
}

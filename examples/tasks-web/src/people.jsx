/**
 * Who has the list open now, this browser first.
 */
import { usePresence } from "@bigpeer/peer/react";
import { hueOf, initialsOf, myName } from "./names.js";

const SHOWN_MAX = 4;

export function People() {
  const { remotePeers } = usePresence();
  // The devices of the demonstration below are in this page.
  const others = remotePeers.filter(({ peerMetadata }) => peerMetadata.role !== "demo");
  const names = others.map(({ deviceName }) => deviceName);
  const list = [`${myName} (you)`, ...names].join(", ");
  return (
    <ul className="people" aria-label={`Here now: ${list}`}>
      <Avatar name={myName} title={`${myName} (you)`} />
      {others.slice(0, SHOWN_MAX).map(({ peerKeyString, deviceName }) => (
        <Avatar key={peerKeyString} name={deviceName} title={deviceName} />
      ))}
      {others.length > SHOWN_MAX && <li className="more">+{others.length - SHOWN_MAX}</li>}
    </ul>
  );
}

function Avatar({ name, title }) {
  return (
    <li className="avatar" title={title} style={{ "--hue": hueOf(name) }}>
      <span aria-hidden="true">{initialsOf(name)}</span>
      <span className="hidden">{title}</span>
    </li>
  );
}

/**
 * How edits merge: two devices that a visitor can take offline, edit and bring back. Both are peers
 * in the memory of this page, each with a connection of its own.
 */
import { openPeer } from "@bigpeer/peer";
import {
  PeerProvider,
  useMutation,
  usePeer,
  useQuery,
  useSubscription,
  useSyncStatus,
} from "@bigpeer/peer/react";
import { useEffect, useState } from "react";
import { connection } from "./connection.js";

// A document of its own for each page, so that two visitors do not disturb each other.
const ID = crypto.randomUUID();
const FIND = "SELECT * FROM merge_demo WHERE _id = :id";
const CREATE = "INSERT INTO COLLECTION merge_demo (votes COUNTER) INITIAL DOCUMENTS (:document)";
const RENAME = "UPDATE merge_demo SET title = :title WHERE _id = :id";
const TICK = "UPDATE merge_demo SET isDone = :isDone WHERE _id = :id";
const VOTE =
  "UPDATE COLLECTION merge_demo (votes COUNTER) APPLY votes INCREMENT BY 1 WHERE _id = :id";

const FIRST = { _id: ID, title: "Buy coffee", isDone: false, votes: 0 };

const RULES = [
  ["Title", "One value. The last edit wins, on every device."],
  ["Votes", "A counter. All votes count, those from offline too."],
  ["Done", "Another field than the title: both edits stay."],
];

export function MergeDemo() {
  const [isOpen, setOpen] = useState(false);
  return (
    <section className="merge" aria-labelledby="merge-title">
      <h2 id="merge-title">What if two people edit the same task offline?</h2>
      <p>
        Here are two devices. Take both offline, change the title and vote on each of them, and
        bring them back: they reach the same task, and no vote is lost.
      </p>
      <dl className="rules">
        {RULES.map(([field, rule]) => (
          <div key={field}>
            <dt>{field}</dt>
            <dd>{rule}</dd>
          </div>
        ))}
      </dl>
      {isOpen ? (
        <div className="devices">
          <Device name="Phone" title="Buy espresso" />
          <Device name="Laptop" title="Buy two bags of coffee" />
        </div>
      ) : (
        <button type="button" className="primary" onClick={() => setOpen(true)}>
          Try it
        </button>
      )}
    </section>
  );
}

function Device({ name, title }) {
  const [options] = useState(() => {
    return { ...connection, memory: true, deviceName: name, metadata: { role: "demo" } };
  });
  return (
    <article className="device" aria-label={name}>
      <PeerProvider
        open={openPeer}
        options={options}
        fallback={(error) => <p className="fault">{error?.message}</p>}
      >
        <DeviceScreen name={name} suggestion={title} />
      </PeerProvider>
    </article>
  );
}

function DeviceScreen({ name, suggestion }) {
  const peer = usePeer();
  const { state, pendingCount } = useSyncStatus();
  useSubscription(FIND, { id: ID });
  const { rows } = useQuery(FIND, { id: ID });
  const create = useMutation(CREATE).execute;
  const rename = useMutation(RENAME).execute;
  const tick = useMutation(TICK).execute;
  const vote = useMutation(VOTE).execute;
  // INITIAL: both devices may create it, and it is there once.
  useEffect(() => void create({ document: FIRST }), [create]);
  const isOff = state === "stopped";
  const [task = FIRST] = rows;
  const save = (event) => {
    event.preventDefault();
    void rename({ id: ID, title: new FormData(event.target).get("title") });
  };
  return (
    <>
      <header>
        <h3>{name}</h3>
        <label className="switch">
          <input
            type="checkbox"
            role="switch"
            checked={!isOff}
            onChange={() => (isOff ? peer.sync.start() : void peer.sync.stop())}
          />
          <span>{isOff ? "Offline" : "Online"}</span>
        </label>
      </header>
      <p className="device-task">
        <input
          type="checkbox"
          className="tick"
          checked={task.isDone}
          onChange={() => void tick({ id: ID, isDone: !task.isDone })}
          aria-label={`Done on ${name}`}
        />
        <output className={task.isDone ? "task-done" : undefined}>{task.title}</output>
        <button type="button" className="vote" onClick={() => void vote({ id: ID })}>
          <span aria-hidden="true">▲</span> {task.votes}
          <span className="hidden">votes on {name}</span>
        </button>
      </p>
      <form onSubmit={save}>
        <input name="title" defaultValue={suggestion} aria-label={`New title on ${name}`} />
        <button type="submit">Rename</button>
      </form>
      <p className="device-note" role="status">
        {pendingCount === 0
          ? "Nothing waits"
          : `${pendingCount} ${pendingCount === 1 ? "change is" : "changes are"} in this device alone`}
      </p>
    </>
  );
}

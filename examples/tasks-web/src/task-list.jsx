/**
 * The list: add a task, tick it off, rename it, vote for it, put a photo on it, remove it. Each write
 * takes effect in this browser at once.
 */
import { useAttachment, useMutation, usePeer, useQuery } from "@bigpeer/peer/react";
import { memo, useState } from "react";
import { myName } from "./names.js";

const ALL = "SELECT * FROM tasks ORDER BY isDone, createdAt DESC";
// Votes are a counter: those of two people who are offline add up.
const ADD = "INSERT INTO COLLECTION tasks (votes COUNTER) DOCUMENTS (:task)";
const VOTE = "UPDATE COLLECTION tasks (votes COUNTER) APPLY votes INCREMENT BY 1 WHERE _id = :id";
const TICK = "UPDATE tasks SET isDone = :isDone WHERE _id = :id";
const RENAME = "UPDATE tasks SET title = :title WHERE _id = :id";
const SET_PHOTO = "UPDATE COLLECTION tasks (photo ATTACHMENT) SET photo = :photo WHERE _id = :id";
const REMOVE = "DELETE FROM tasks WHERE _id = :id";

export function NewTask() {
  const { execute, error } = useMutation(ADD);
  const add = (event) => {
    event.preventDefault();
    const form = event.currentTarget;
    const title = new FormData(form).get("title").trim();
    form.reset();
    if (title === "") return;
    void execute({ task: { title, isDone: false, votes: 0, by: myName, createdAt: Date.now() } });
  };
  return (
    <form className="new-task" onSubmit={add}>
      <label className="hidden" htmlFor="new-title">
        New task
      </label>
      <input
        id="new-title"
        name="title"
        placeholder="What needs to be done?"
        autoComplete="off"
        enterKeyHint="done"
      />
      <button type="submit" className="primary">
        Add
      </button>
      {error && (
        <p className="fault" role="alert">
          {error.message}
        </p>
      )}
    </form>
  );
}

export function TaskList() {
  const { rows, isLoading, error } = useQuery(ALL);
  if (error) {
    return (
      <p className="fault" role="alert">
        {error.message}
      </p>
    );
  }
  if (isLoading) return null;
  if (rows.length === 0) {
    return <p className="empty">Nothing to do. Add a task: it works without a connection, too.</p>;
  }
  const ids = rows.map(({ _id }) => _id);
  const open = rows.filter(({ isDone }) => !isDone).length;
  return (
    <>
      <p className="summary">
        {open} open, {rows.length - open} done
      </p>
      <ul className="tasks">
        {rows.map((task, i) => (
          <Task key={ids[i]} task={task} />
        ))}
      </ul>
    </>
  );
}

// A task that did not change is the same object, and is not rendered again.
const Task = memo(({ task }) => {
  const { _id: id, title, isDone = false, votes = 0, photo, by } = task;
  const tick = useMutation(TICK);
  const vote = useMutation(VOTE);
  const rename = useMutation(RENAME);
  const remove = useMutation(REMOVE);
  const name = (event) => {
    const text = event.target.value.trim();
    if (text === "") event.target.value = title;
    else if (text !== title) void rename.execute({ id, title: text });
  };
  return (
    <li className={isDone ? "task task-done" : "task"}>
      <input
        type="checkbox"
        className="tick"
        checked={isDone}
        onChange={() => void tick.execute({ id, isDone: !isDone })}
        aria-label={`Done: ${title}`}
      />
      <div className="task-text">
        <input
          // Another title from elsewhere replaces the text.
          key={title}
          className="task-title"
          defaultValue={title}
          onBlur={name}
          onKeyDown={(event) => event.key === "Enter" && event.target.blur()}
          aria-label="Title"
        />
        {by && <span className="by">{by}</span>}
      </div>
      {photo && <Photo token={photo} title={title} />}
      <AddPhoto id={id} title={title} hasPhoto={photo !== undefined && photo !== null} />
      <button
        type="button"
        className="vote"
        onClick={() => void vote.execute({ id })}
        aria-label={`Vote for ${title}: ${votes} so far`}
      >
        <span aria-hidden="true">▲</span> {votes}
      </button>
      <button
        type="button"
        className="icon-button"
        onClick={() => void remove.execute({ id })}
        aria-label={`Remove ${title}`}
      >
        <span aria-hidden="true">✕</span>
      </button>
    </li>
  );
});
Task.displayName = "Task";

function Photo({ token, title }) {
  const { url, isLoading, received, total, error } = useAttachment(token);
  if (url !== undefined) return <img className="photo" src={url} alt={`Photo of ${title}`} />;
  const text = error ? "No photo" : `${Math.round((100 * received) / Math.max(total, 1))} %`;
  return (
    <span className="photo photo-waiting" role="status" aria-busy={isLoading}>
      {text}
    </span>
  );
}

function AddPhoto({ id, title, hasPhoto }) {
  const peer = usePeer();
  const { execute } = useMutation(SET_PHOTO);
  const [fault, setFault] = useState();
  const add = async ({ target }) => {
    const [file] = target.files;
    target.value = "";
    if (file === undefined) return;
    try {
      setFault(undefined);
      const photo = await peer.attachments.create(file, { name: file.name });
      await execute({ id, photo });
    } catch (error) {
      setFault(error.message);
    }
  };
  return (
    <label className="icon-button" title={fault ?? (hasPhoto ? "Replace photo" : "Add photo")}>
      <input
        type="file"
        accept="image/*"
        className="hidden"
        onChange={(event) => void add(event)}
        aria-label={`Photo for ${title}`}
      />
      <svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true">
        <path
          d="M4 8h3l2-3h6l2 3h3a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V9a1 1 0 0 1 1-1z"
          fill="none"
          stroke="currentColor"
          strokeWidth="1.7"
          strokeLinejoin="round"
        />
        <circle cx="12" cy="13.5" r="3.5" fill="none" stroke="currentColor" strokeWidth="1.7" />
      </svg>
    </label>
  );
}

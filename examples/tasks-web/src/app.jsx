/**
 * The page: who is there, the task list, and how edits merge.
 */
import { useSubscription } from "@bigpeer/peer/react";
import { MergeDemo } from "./merge-demo.jsx";
import { People } from "./people.jsx";
import { SyncState } from "./sync-state.jsx";
import { NewTask, TaskList } from "./task-list.jsx";
import { UpdateNotice } from "./update-notice.jsx";

export function App() {
  const { error } = useSubscription("SELECT * FROM tasks", {}, { prefetch: true });
  return (
    <>
      <header className="bar">
        <div className="bar-inside">
          <img src="icon.svg" alt="" width="32" height="32" />
          <h1>Tasks</h1>
          <People />
          <SyncState />
        </div>
      </header>
      <main className="page">
        <UpdateNotice />
        {error && (
          <p className="fault" role="alert">
            The server refuses this app: {error.message}
          </p>
        )}
        <section className="list" aria-labelledby="list-title">
          <h2 id="list-title" className="hidden">
            Task list
          </h2>
          <NewTask />
          <TaskList />
        </section>
        <MergeDemo />
      </main>
    </>
  );
}

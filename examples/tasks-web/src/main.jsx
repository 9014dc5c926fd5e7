/**
 * The start of the app: opens the peer of this browser, and shows the task list.
 */
import { openPeer } from "@bigpeer/peer";
import { PeerProvider } from "@bigpeer/peer/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.jsx";
import { connection } from "./connection.js";
import { myName } from "./names.js";
// oxlint-disable-next-line import/no-unassigned-import -- the bundler takes it.
import "./style.css";

const options = { ...connection, name: "tasks", deviceName: myName, metadata: { app: "tasks" } };

createRoot(document.querySelector("#root")).render(
  <StrictMode>
    <PeerProvider open={openPeer} options={options} fallback={(error) => <Opening error={error} />}>
      <App />
    </PeerProvider>
  </StrictMode>,
);

function Opening({ error }) {
  if (error === undefined) return null;
  return (
    <main className="page">
      <p className="fault" role="alert">
        The task list cannot be opened: {error.message}
      </p>
    </main>
  );
}

/**
 * The pages of the documentation site, in the order of the sidebar.
 *
 * Each Markdown file of `docs/` is listed here exactly once, or the build fails. An entry is a file:
 *
 *   file    its path in the repository
 *   path    its address on the site below `/docs/`; without it, the path below `docs/`
 *   title   its name in the sidebar; without it, the first heading of the file
 *   about   one line that says what the page is for
 *
 * or a folder, all of whose pages are listed in the order of their names:
 *
 *   folder, path, title, about   as above; `about` is for the list of its pages
 *   summary                      the paragraph of a page that begins with this says what it is for;
 *                                without it, the first paragraph does
 *
 * or pages that the build makes from a folder of the repository:
 *
 *   generated                    folder of the Markdown files that are made, with an `index.md`
 *   folder, path, title, about   as above; a link to `folder` leads to the page `index`
 *   pages                        the other files in their order, each with `file`, `title` and `about`
 *
 * Data only. page-list.mjs reads it.
 */
import { PAGES as SDK_PAGES } from "./sdk-reference/pages.mjs";

/** The page at `/docs/`. */
export const HOME = "site/index.md";

/** Where the build makes the reference of the SDK. */
export const SDK_REFERENCE = "site/dist/sdk-reference";

export const GROUPS = [
  {
    title: "Tutorial",
    pages: [
      {
        file: "docs/tutorial.md",
        about: "Build a task list on two devices: offline, with a conflict and with a permission.",
      },
      {
        file: "README.md",
        path: "quick-start",
        title: "Quick start",
        about: "Start a server, send the first requests, and sync the first small peer with it.",
      },
    ],
  },
  {
    title: "Guides",
    pages: [
      {
        file: "docs/sdk.md",
        about: "Write an app with a small peer: statements, observers, subscriptions, sync.",
      },
      {
        file: "docs/coming-from-ditto.md",
        about: "Move an app of the Ditto SDK: a changed import, what differs, and its data.",
      },
      {
        file: "docs/browser.md",
        about: "Run a small peer in a web page: bundlers, storage, tabs, deployments, origins.",
      },
      {
        file: "docs/react.md",
        about:
          "Show documents in React components: hooks, and an app that installs and works offline.",
      },
      {
        file: "docs/client.md",
        about: "Call a server from a service, with types and safe retries, without a store.",
      },
      {
        file: "docs/console.md",
        about: "See and change everything of a server in the browser.",
      },
      {
        file: "docs/command-line.md",
        about: "Query and manage a server from a terminal or a script.",
      },
      {
        file: "docs/authentication.md",
        about: "Let users and programs log in: API keys, JWT, webhooks, sessions.",
      },
      {
        file: "docs/permissions.md",
        about: "Limit which documents a credential may read and write.",
      },
      {
        file: "docs/attachments.md",
        about: "Store files beside documents, and refer to them by a token.",
      },
      {
        file: "docs/devices.md",
        about: "List connected devices, and find out why a document is not on one of them.",
      },
      {
        file: "docs/remote-execute.md",
        about: "Run a statement on connected devices, and collect their results.",
      },
      {
        file: "docs/webhooks.md",
        about: "Send the changes of an app to a URL or to NATS JetStream.",
      },
      {
        file: "docs/replication.md",
        about: "Connect several Big Peers that copy documents from each other.",
      },
      {
        file: "docs/cluster.md",
        title: "Cluster",
        about: "Three or more servers as one Big Peer, on the log of NATS JetStream.",
      },
      {
        file: "docs/scale.md",
        title: "Scale",
        about: "How far a cluster goes: many apps, many peers, one large app.",
      },
      {
        file: "docs/operating.md",
        about: "Start, configure, observe, upgrade, back up and restore a server.",
      },
      {
        file: "deploy/README.md",
        path: "deploy",
        about: "Run a server with Docker or systemd, behind nginx or Caddy, and upgrade it.",
      },
      {
        file: "docs/security.md",
        about: "What to check before others can reach a server, and which risks remain.",
      },
    ],
  },
  {
    title: "Reference",
    pages: [
      {
        file: "docs/http-api.md",
        about: "Every operation of the data API, with requests, answers and rules.",
      },
      {
        file: "docs/changes.md",
        about: "Follow every change in the order of transactions, and recipes for it.",
      },
      {
        file: "docs/query-language.md",
        title: "Query language",
        about: "The whole statement language: SELECT, INSERT, UPDATE, DELETE, functions, indexes.",
      },
      {
        generated: SDK_REFERENCE,
        folder: "site/sdk-reference",
        path: "sdk-reference",
        title: "SDK reference",
        about: "Every symbol that the small peer exports on Node, each with an example.",
        pages: SDK_PAGES.map(({ path, title, introduction }) => ({
          file: path,
          title,
          about: introduction,
        })),
      },
      {
        file: "docs/management.md",
        about: "The API for apps, API keys, auth providers, replications, settings and audit.",
      },
      {
        file: "docs/errors.md",
        about: "Every error code: its cause, when it is normal, what to do.",
      },
      {
        file: "docs/glossary.md",
        about: "The terms of Big Peer in one sentence each, with the names of other systems.",
      },
      {
        file: "CHANGELOG.md",
        path: "changelog",
        about: "What is in each version.",
      },
    ],
  },
  {
    title: "Internals",
    pages: [
      {
        file: "ARCHITECTURE.md",
        path: "architecture",
        about: "The parts of Big Peer, the way of a write and of a statement, the dependencies.",
      },
      {
        file: "docs/data-model.md",
        about: "Values, documents and stamps, and how documents merge.",
      },
      {
        file: "docs/sync-protocol.md",
        about: "The messages between small peers and Big Peers, and what both sides must do.",
      },
      {
        file: "docs/storage-format.md",
        about: "The files of a data folder, and the guarantees of a store.",
      },
      {
        file: "bench/README.md",
        path: "benchmarks",
        about: "Measured speed, compared with LMDB and with other products in the same run.",
      },
      {
        file: "CONTRIBUTING.md",
        path: "contributing",
        about: "Set up a clone, run the checks, add a rule, a function or a setting.",
      },
      {
        folder: "docs/decisions",
        title: "Decisions",
        about: "Decisions with a cost: their reasons, and what was given up.",
        summary: "**Decision.**",
      },
    ],
  },
];

/**
 * The console: opens the session, then shows the page that the address names.
 */
import { ApiError } from "./api/request.ts";
import { openSession } from "./api/session.ts";
import { render } from "./kit/preact.ts";
import { listenForShortcuts } from "./kit/shortcuts.ts";
import { startRouter } from "./route/router.ts";
import { ConsoleRoot } from "./shell/console-root.tsx";
import { applyTheme } from "./shell/theme.ts";

applyTheme();
startRouter();
listenForShortcuts();

const place = document.getElementById("console");
if (place === null) throw new Error("index.html has no place for the console");

const failure = await openSession().then(
  () => undefined,
  (error: unknown) => ApiError.from(error),
);
render(<ConsoleRoot failure={failure} />, place);

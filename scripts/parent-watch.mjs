/**
 * Stops this process when the process that started it is gone.
 *
 * npm runs a script in a shell. Some shells stay between npm and the program: a signal that npm passes
 * on ends the shell, and the program would go on without both. Windows tells nobody that a parent is
 * gone; there the console ends all its processes.
 *
 * Uses nothing but Node itself.
 */

const POLL_MS = 200;

/** From now on: SIGTERM to this process when its parent is gone, unless a signal came before. */
export function stopWithParent() {
  const parent = process.ppid;
  const polling = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(polling);
    process.kill(process.pid, "SIGTERM");
  }, POLL_MS);
  polling.unref();
  // A terminal sends Ctrl-C to the shell too: the program is stopping already.
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => clearInterval(polling));
}

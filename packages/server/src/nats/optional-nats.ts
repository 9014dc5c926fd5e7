/**
 * Optional NATS: loads code that needs the client of NATS. It is an optional peer dependency of this
 * package, because only clusters and sinks need it; the command `bigpeer` brings it along.
 */

const PACKAGES = "@nats-io/jetstream and @nats-io/transport-node";

/** As `load`, which is called on use alone: a missing package is an error that names it. */
export async function loadWithNats<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error)) throw error;
    const message = `failed to load the client of NATS: install the packages ${PACKAGES}`;
    throw new Error(message, { cause: error });
  }
}

function isMissing(error: unknown): boolean {
  if (!(error instanceof Error) || !error.message.includes("@nats-io/")) return false;
  return (error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND";
}

/**
 * Abortable source: reads an asynchronous source until a signal is aborted.
 */

/** Yields what `source` yields, until `signal` is aborted, even while it waits for a piece. */
export async function* until<T>(signal: AbortSignal, source: AsyncIterable<T>): AsyncGenerator<T> {
  const pieces = source[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      const piece = await nextUnless(signal, pieces);
      isOver = piece.done === true;
      if (piece.done === true) return;
      yield piece.value;
    }
  } finally {
    // Not awaited: it ends after the piece in progress, whenever that arrives.
    if (!isOver) void pieces.return?.().catch(() => {});
  }
}

function nextUnless<T>(
  signal: AbortSignal,
  pieces: AsyncIterator<T>,
): Promise<IteratorResult<T, unknown>> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    const stop = (): void => signal.removeEventListener("abort", onAbort);
    return void pieces.next().then(resolve, reject).finally(stop);
  });
}

/* The deltas of an answer come from generators that return the answer itself, which no `for await` gets. */

/** Reads a generator to its end, and returns its outcome. A failure of the reader ends the generator. */
export async function drainDeltas<Delta, Outcome>(
  deltas: AsyncGenerator<Delta, Outcome>,
  read?: (delta: Delta) => Promise<void>,
): Promise<Outcome> {
  try {
    for (;;) {
      const next = await deltas.next();
      if (next.done) return next.value;
      await read?.(next.value);
    }
  } catch (error) {
    await deltas.return(undefined as never);
    throw error;
  }
}

/** Yields, for each value of a generator, the values that it becomes; returns the same outcome. */
export async function* changeDeltas<Delta, Changed, Outcome>(
  deltas: AsyncGenerator<Delta, Outcome>,
  change: (delta: Delta) => Iterable<Changed>,
): AsyncGenerator<Changed, Outcome> {
  try {
    for (;;) {
      const next = await deltas.next();
      if (next.done) return next.value;
      for (const changed of change(next.value)) yield changed;
    }
  } finally {
    await deltas.return(undefined as never);
  }
}

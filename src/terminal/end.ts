/** Kinds of what a process may leave behind: it ends with the process, and nobody waits for it. */
const mayBeLeft = new Set(['TCPSocketWrap', 'TCPServerWrap', 'PipeWrap', 'TTYWrap', 'Timeout', 'Immediate']);

/**
 * Ends the process, whose work is done, at the end of this turn: Node would give its memory back piece by piece, for some ms of
 * every run. Where anything else is under way (a note that stderr has not taken, a file that is being closed) it ends when
 * that is done.
 */
export function endProcess(process: NodeJS.Process): void {
  setImmediate(() => {
    // Every write was waited for, or is found here: nothing is cut off. (Work of crypto and zlib on threads is not.)
    // oxlint-disable-next-line unicorn/no-process-exit
    if (process.getActiveResourcesInfo().every((kind) => mayBeLeft.has(kind))) process.exit();
  });
}

/** Kinds of what a process may leave behind: the system closes it, and nobody waits for it. */
const closedBySystem = new Set(['TCPSocketWrap', 'TCPServerWrap', 'PipeWrap', 'TTYWrap', 'Timeout', 'Immediate']);

/**
 * Ends the process, whose work is done, in the next turn: Node would give its memory back piece by piece, for some ms of
 * every run. Where anything else is under way (a note that stderr has not taken, a file that is being closed) it ends when
 * that is done.
 */
export function endProcess(process: NodeJS.Process): void {
  setImmediate(() => {
    // Every write was waited for, or is found here: nothing is cut off.
    // oxlint-disable-next-line unicorn/no-process-exit
    if (process.getActiveResourcesInfo().every((kind) => closedBySystem.has(kind))) process.exit();
  });
}

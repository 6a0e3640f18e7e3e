/** Kinds of resources that end with the process. */
const endsWithProcess = new Set(['TCPSocketWrap', 'TCPServerWrap', 'PipeWrap', 'TTYWrap', 'Timeout', 'Immediate']);

/**
 * Exits a process whose work is done: Node would free its memory piece by piece, for some ms of every run. If anything is in
 * progress, such as a write to stderr or the closing of a file, the process ends by itself.
 */
export function endProcess(process: NodeJS.Process): void {
  setImmediate(() => {
    // Every write was awaited or is found here, so no output is lost. (Work of crypto and zlib on threads is not found.)
    // oxlint-disable-next-line unicorn/no-process-exit
    if (process.getActiveResourcesInfo().every((kind) => endsWithProcess.has(kind))) process.exit();
  });
}

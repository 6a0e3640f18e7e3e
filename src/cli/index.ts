/* The door of the command line: what starts it. */
export { runProgram } from './run.ts';
export type { EndSignals } from './run.ts';

export { createProcessIo, endProcess } from './terminal/process-io.ts';

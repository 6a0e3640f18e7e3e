import { type Guard, guards } from './guard.ts';

const none: readonly Guard[] = [];

guards('2c', {
  'escape injection': none,
  'CI log commands': none,
  'stdout closed': none,
  'stdout full': none,
  'slow reader': none,
  ENOSPC: none,
  'paid result cannot be saved': none,
  overwrite: none,
  'cleanup deletes the wrong file': none,
  'server-chosen names': none,
  'output dir missing': none,
  'SIGINT, SIGTERM, SIGHUP': none,
  SIGKILL: none,
  'stdin huge, binary, closed': none,
  'stdin is a terminal': none,
  'unhandled rejection': none,
});

import { isMainThread } from 'node:worker_threads';
import { answerAtOnce } from './terminal/at-once.ts';

// A worker thread may load this file for what it shares with others, and runs no program.
if (isMainThread && !answerAtOnce(process.argv.slice(2))) void import('./program.ts');

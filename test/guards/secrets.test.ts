import { type Guard, guards } from './guard.ts';

const none: readonly Guard[] = [];

guards('2d', {
  'key on argv': none,
  'key with newline': none,
  'key in --verbose': none,
  'config mode': none,
  'project config or .env in cwd': none,
  'key bound to an origin': none,
  'prototype pollution': none,
  ReDoS: none,
  'model or path injection': none,
});

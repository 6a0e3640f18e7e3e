import {
  type Arbitrary,
  array,
  boolean,
  constantFrom,
  integer,
  nat,
  oneof,
  option,
  record,
  subarray,
} from 'fast-check';
import { retryWords } from '../../../src/batch/index.ts';
import { rowEdits, tableEdits } from './table.ts';

const edit = oneof(
  // Most runs after an edit have nothing to ask, unless a used value changed.
  record({ op: constantFrom('used', 'used', ...rowEdits), at: nat(9), to: nat(4) }),
  record({ op: constantFrom(...tableEdits), at: nat(9), to: nat(3) }),
);

const policy = record({
  acceptChanges: constantFrom(true, false, false, false),
  retry: subarray([...retryWords]),
  redo: option(array(nat(6), { minLength: 1, maxLength: 3 }), { nil: undefined, freq: 3 }),
  onlyNamed: boolean(),
  limit: option(integer({ min: 1, max: 3 }), { nil: undefined, freq: 3 }),
  lane: constantFrom('live', 'live', 'live', 'flex', 'batch'),
  noWait: boolean(),
  concurrency: integer({ min: 1, max: 3 }),
});

const step = record({
  edits: array(edit, { maxLength: 2 }),
  choice: option(record({ place: nat(6), answer: integer({ min: 1, max: 3 }) }), {
    nil: undefined,
    freq: 4,
  }),
  policy,
  isAgain: boolean(),
  kill: option(integer({ min: 1, max: 90 }), { nil: undefined, freq: 2 }),
  losesPower: boolean(),
  tear: nat(40),
  replies: array(constantFrom('ok', 'ok', 'ok', 'ok', 'cut', 'refused', 'broken', 'silent'), { maxLength: 12 }),
  random: integer(),
});

/** Two to nine runs of one folder, or of the folders of two shards, with edits of the table between them. */
export const history = record({
  isNumbered: boolean(),
  shards: constantFrom(1, 1, 1, 2),
  rows: integer({ min: 1, max: 6 }),
  kinds: integer({ min: 1, max: 4 }),
  links: nat(4),
  steps: array(step, { minLength: 2, maxLength: 9 }),
});

type Generated<Value> = Value extends Arbitrary<infer Of> ? Of : never;
export type History = Generated<typeof history>;
export type HistoryStep = Generated<typeof step>;

import { type BatchState, type Counts, hashRowId, isLeftToRedo, type RowTable } from '../../batch/index.ts';
import { nameSome } from './summary.ts';

/** The rows of a batch that are in one state, what to type so that a run sends them, and whether that may be billed twice. */
export interface StateRows {
  state: 'done' | 'incomplete' | 'to make again' | 'failed' | 'unknown' | 'at the service' | 'not sent yet' | 'waiting';
  rows: number;
  /** The state that counts these rows, too. */
  of?: 'done' | 'not sent yet';
  /** Among those that are unknown: their answers were paid, and are in recovery files. */
  kept?: number;
  /** Of rows to make again: those that `--redo` named. */
  ids?: readonly string[];
  next?: string;
  mayBillTwice?: true;
}

/** What the next command depends on, beside the rows themselves. */
export interface NextFacts {
  /** The flag under whose limit nothing more is sent. */
  spent?: string | undefined;
  /** The command has a `--redo` whose rows are all made: typed again, it would make all again. */
  isRedone?: boolean | undefined;
  /** Some request that failed was billed. */
  wasBilled?: boolean | undefined;
  kept?: number | undefined;
  /** The ids of `listLeftToRedo`. */
  leftToRedo?: readonly string[];
}

/** The table of states: a run, `batch status`, summary.json and hints say the same of the rows. */
export function listStates(counts: Counts, facts: NextFacts = {}): StateRows[] {
  const { done, incomplete, again = 0, failed, unknown, submitted = 0, pending, waiting = 0 } = counts;
  const { wasBilled, kept = 0, leftToRedo = [] } = facts;
  const next = sendCommand([], facts);
  const twice = { mayBillTwice: true } as const;
  const all: StateRows[] = [
    { state: 'done', rows: done },
    {
      state: 'incomplete',
      of: 'done',
      rows: incomplete,
      next: sendCommand(['--retry incomplete', 'more maxTokens'], facts),
      ...twice,
    },
    {
      state: 'to make again',
      of: 'done',
      rows: Math.max(again, leftToRedo.length),
      ...(leftToRedo.length > 0 && { ids: leftToRedo }),
      next,
    },
    { state: 'failed', rows: failed, next: sendCommand(['--retry failed'], facts), ...(wasBilled && twice) },
    {
      state: 'unknown',
      rows: unknown,
      ...(kept > 0 && { kept }),
      next: sendCommand(['--retry unknown'], facts),
      ...twice,
    },
    { state: 'at the service', rows: submitted, next: 'the same command with --lane batch' },
    // What waits for rows that failed is sent with these.
    { state: 'not sent yet', rows: pending, ...(pending > waiting && { next }) },
    { state: 'waiting', of: 'not sent yet', rows: waiting },
  ];
  return all.filter(({ state, rows }) => rows > 0 || state === 'done');
}

/** The places of rows that `--redo` named, and that keep their earlier answers: no other came. What may have been billed is unknown, and not among them. */
export function listLeftToRedo(table: RowTable, state: BatchState, isOwn: (place: number) => boolean): number[] {
  const { atService, redo, slots } = state;
  const named = new Set(redo?.map(hashRowId));
  const isLeft = (slot: number): boolean =>
    slots.answersOf(slot) > 0 && slots.stateOf(slot) !== 'sent' && !atService.has(slot) && isLeftToRedo(slot, state);
  const places: number[] = [];
  for (let place = 0; named.size > 0 && place < table.size; place++)
    if (isOwn(place) && named.has(table.ids[place] as number) && isLeft(table.slots[place] as number))
      places.push(place);
  return places;
}

/** The command that sends rows: the one place that says what to type next. */
function sendCommand(flags: readonly string[], { spent, isRedone }: NextFacts): string {
  const same = isRedone ? 'the same command without --redo' : 'the same command';
  const more = [...flags, ...(spent === undefined ? [] : [`a greater ${spent}`])];
  return more.length > 0 ? `${same}${isRedone ? ',' : ''} with ${more.join(' and ')}` : same;
}

/** The table in one line: `12 done (1 incomplete), 2 failed, 1 unknown (may have been billed)`. */
export function describeStates(states: readonly StateRows[]): string {
  return states
    .filter(({ of }) => of === undefined)
    .map((one) => {
      const parts = [...describeBilled(one), ...states.filter(({ of }) => of === one.state).map(describePart)];
      return `${one.rows} ${one.state}${parts.length > 0 ? ` (${parts.join(', ')})` : ''}`;
    })
    .join(', ');
}

function describeBilled({ state, rows, kept = 0 }: StateRows): string[] {
  if (state !== 'unknown') return [];
  return [...(kept > 0 ? [`${kept} paid and kept`] : []), ...(rows > kept ? ['may have been billed'] : [])];
}

function describePart({ state, rows }: StateRows): string {
  return state === 'waiting' ? `${rows} wait for results of other jobs` : `${rows} ${state}`;
}

/** What to type for the rows that are left: a line for each state. */
export function describeNext(states: readonly StateRows[]): string[] {
  return states
    .filter(({ next }) => next !== undefined)
    .map(({ state, rows, ids, next, mayBillTwice }) => {
      const which = ids ? ` (${nameSome(ids)})` : '';
      return `${rows} ${state}${which}: ${next}${mayBillTwice ? '; may be billed twice' : ''}`;
    });
}

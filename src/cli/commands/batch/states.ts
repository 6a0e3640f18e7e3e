import {
  type BatchState,
  type Counts,
  getToldState,
  isLeftToRedo,
  type JobError,
  listFailures,
  type RowTable,
} from '../../../batch/index.ts';
import {
  chooseCommand,
  collectCommand,
  joinIds,
  nextCommand,
  type NextWords,
  type TypedFolder,
} from './next-command.ts';

/** The rows of a batch in one state, the command by which a run sends them, and whether that may be billed twice. */
export interface StateRows {
  state:
    | 'done'
    | 'incomplete'
    | 'to make again'
    | 'outdated'
    | 'failed'
    | 'not valid'
    | 'unknown'
    | 'with an earlier answer'
    | 'at the service'
    | 'not sent yet'
    | 'edited'
    | 'waiting';
  rows: number;
  /** The state that counts these rows, too. */
  of?: 'done' | 'unknown' | 'not sent yet';
  /** The number of unknown rows whose answers were paid, and are in recovery files. */
  kept?: number;
  next?: string | undefined;
  mayBillTwice?: true;
  /** What to know before the command, or to do in place of one. */
  before?: string;
}

/** What was billed of rows without a new answer. */
interface Billing {
  /** The number of unknown rows with answers in recovery files: they are paid, and could not be written into the folder. */
  kept: number;
  /** Whether a request that failed may have been billed, of a row that has failed, and of one that is to be made again. */
  failed: boolean;
  again: boolean;
}

/** The facts that the next command depends on, beside the rows themselves. */
interface NextFacts {
  /** Absent if the jobs of the folder come one by one: then no command of its own sends them. */
  folder?: TypedFolder | undefined;
  /** The flag whose limit allows no more requests, with a place for a greater one. */
  spent?: string | undefined;
  billing?: Billing;
  /** The last run was refused, as rows were edited: so is the next one without the flag. */
  isRefused?: boolean;
  /** The number of failed rows that are lines of a stream, and no jobs: only the user can send these again. */
  refused?: number | undefined;
  /** The ids of the rows of `listLeftToRedo`. */
  leftToRedo?: readonly string[];
  /** The rows of `listAnswered`, as words of `batch choose`. */
  answered?: readonly string[];
}

/** The table of states, from which a run, `batch status`, summary.json and hints tell the same of the rows. */
export function listStates(counts: Counts, facts: NextFacts = {}): StateRows[] {
  const { done, incomplete, again = 0, tried = 0, outdated = 0, failed, unknown, answered = 0, submitted = 0 } = counts;
  const { pending, edited = 0, waiting = 0 } = counts;
  const { billing, folder, spent, leftToRedo, answered: choices = [], refused = 0, isRefused = false } = facts;
  // While rows are edited, a run without the flag asks for them.
  const asks = edited > 0 || isRefused;
  const next = (name: 'again' | 'redo' | 'retry', { operand, flags }: NextWords = {}): string =>
    nextCommand(folder, name, { operand, flags: [flags, spent].filter(Boolean).join(' ') });
  const goOn = next('again', { flags: asks ? '--accept-changes' : '' });
  const named = joinIds(leftToRedo ?? []);
  const redo = named.count > 0 ? next('redo', { operand: named.word }) : undefined;
  const unnamed = (leftToRedo?.length ?? 0) - named.count;
  const twice = { mayBillTwice: true, before: 'may be billed twice' } as const;
  const all: StateRows[] = [
    { state: 'done', rows: done },
    {
      state: 'incomplete',
      of: 'done',
      rows: incomplete,
      next: next('retry', { operand: 'incomplete' }),
      ...twice,
      // An answer that a limit cut was billed for certain.
      before: 'billed again; give these jobs more maxTokens before',
    },
    {
      state: 'to make again',
      of: 'done',
      rows: again + tried,
      next: leftToRedo === undefined ? goOn : redo,
      // Without a command, these are cut answers, which have theirs.
      ...(billing?.again && (leftToRedo === undefined || named.count > 0) && twice),
      ...(unnamed > 0 && { before: `${billing?.again ? `${twice.before}; ` : ''}${unnamed} more to name after these` }),
    },
    {
      state: 'failed',
      rows: failed - refused,
      next: next('retry'),
      ...(billing?.failed && twice),
    },
    { state: 'not valid', rows: refused, before: 'correct these lines, and send them again' },
    {
      state: 'unknown',
      rows: unknown,
      ...(billing?.kept && { kept: billing.kept }),
      next: next('retry', { operand: 'unknown' }),
      ...twice,
    },
    {
      state: 'with an earlier answer',
      of: 'unknown',
      rows: answered,
      ...(folder &&
        choices.length > 0 && { next: chooseCommand(folder.outdir, choices), before: 'free: that answer counts' }),
    },
    {
      state: 'at the service',
      rows: submitted,
      next: collectCommand(folder, asks),
      ...(asks && failed > 0 && { before: 'what failed is sent again' }),
    },
    // What they use comes first, and rows to send that use them come after.
    {
      state: 'outdated',
      of: 'done',
      rows: outdated,
      next: next('again', { flags: '--accept-changes' }),
      ...(tried + failed + unknown > 0 && { before: 'after the rows above, which they may use' }),
    },
    // Rows that wait for failed rows can be sent once these are done.
    { state: 'not sent yet', rows: pending, ...(pending > waiting && { next: goOn }) },
    { state: 'edited', of: 'not sent yet', rows: edited },
    { state: 'waiting', of: 'not sent yet', rows: waiting },
  ];
  return all.filter(({ state, rows }) => rows > 0 || state === 'done');
}

export function readBilling(state: BatchState): Billing {
  const isKept = ([slot, error]: [number, JobError]): boolean =>
    error.class === 'not-written' && getToldState(slot, state) === 'unknown';
  const maybe = [...listFailures(state)].filter(([, { billed }]) => billed !== 'no').map(([slot]) => slot);
  return {
    kept: [...state.failures].filter(isKept).length,
    failed: maybe.some((slot) => getToldState(slot, state) === 'failed'),
    again: maybe.some((slot) => state.slots.has(slot, 'tried') && state.slots.answersOf(slot) > 0),
  };
}

/**
 * The slots of rows that are to be made again, and keep their earlier answers, as no other one came. Their slots say so, whatever
 * the rows are called by now. Rows that may have been billed are unknown, and not among them; nor are rows with cut answers, which
 * have a command of their own: both would pay for them twice.
 */
export function listLeftToRedo(table: RowTable, state: BatchState, isOwn: (place: number) => boolean): number[] {
  const isLeft = (slot: number): boolean =>
    getToldState(slot, state) === 'done' && !state.slots.has(slot, 'cut') && isLeftToRedo(slot, state);
  return listSlots(table, (slot, place) => isOwn(place) && isLeft(slot));
}

/** The slots of unknown rows that have earlier answers: rows that use them, and have no answer, wait for a word on which one counts. */
export function listAnswered(table: RowTable, state: BatchState, isOwn: (place: number) => boolean): number[] {
  const { slots } = state;
  const isAnswered = (slot: number): boolean => slots.answersOf(slot) > 0 && getToldState(slot, state) === 'unknown';
  return listSlots(table, (slot, place) => isOwn(place) && isAnswered(slot));
}

/** Rows of `listAnswered` as words of `batch choose`, with the answers that count: `3=1`. */
export function writeChoices(
  answered: readonly number[],
  nameSlot: (slot: number) => string,
  { slots }: Pick<BatchState, 'slots'>,
): string[] {
  return answered.map((slot) => `${nameSlot(slot)}=${slots.countingOf(slot)}`);
}

/** The slots of the rows that are meant, in the order of the file. */
export function listSlots(
  table: Pick<RowTable, 'size' | 'slots'>,
  isMeant: (slot: number, place: number) => boolean,
): number[] {
  return listPlaces(table, isMeant).map((place) => table.slots[place] as number);
}

/** The places of the rows that are meant, in the order of the file. */
export function listPlaces(
  { size, slots }: Pick<RowTable, 'size' | 'slots'>,
  isMeant: (slot: number, place: number) => boolean,
): number[] {
  const places: number[] = [];
  for (let place = 0; place < size; place++) if (isMeant(slots[place] as number, place)) places.push(place);
  return places;
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
  return state === 'waiting'
    ? `${rows} ${rows === 1 ? 'waits' : 'wait'} for results of other jobs`
    : `${rows} ${state}`;
}

/**
 * The commands to type for the rows that are left: a line for each state. What is to be known before is a comment of the shell, as
 * lines are copied whole.
 */
export function describeNext(states: readonly StateRows[]): string[] {
  // Rows can wait for a word on which answer of an unknown one counts: what gives it comes first.
  const isAnswered = states.some(({ state }) => state === 'with an earlier answer');
  const isFirst = ({ state }: StateRows): boolean =>
    isAnswered && ['unknown', 'with an earlier answer'].includes(state);
  return states
    .toSorted((a, b) => Number(isFirst(b)) - Number(isFirst(a)))
    .filter(({ next, before }) => next !== undefined || before !== undefined)
    .map(({ state, rows, next, before }) => {
      const note = next === undefined || before === undefined ? before : `# ${before}`;
      return `${rows} ${state}: ${[next, note].filter((part) => part !== undefined).join('  ')}`;
    });
}

import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { addUsage, maxFailures, unanswered } from '../../../src/batch/folder/state.ts';
import { readJournal } from '../../../src/batch/folder/journal.ts';
import type { Usage } from '../../../src/formats/events.ts';
import { bootMark } from '../../../src/files/process-mark.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

describe('the journal', () => {
  const run = {
    type: 'run',
    schema: 'gateway-cli/journal@1',
    tool: 't',
    origin: 'o',
    jobs: 3,
    total: 3,
    list: 'x',
    at: 5,
  };
  const record = (type: string, id: string, more: object = {}) => ({
    type,
    id,
    request: '00000000000000aa',
    at: 9,
    ...more,
  });
  const write = (records: readonly object[], tail = '') => {
    const path = scratchFolder();
    writeFileSync(join(path, 'journal.jsonl'), records.map((one) => `${JSON.stringify(one)}\n`).join('') + tail);
    return path;
  };
  const read = (records: readonly object[], tail?: string) => readJournal(write(records, tail));
  const dollar = (amount: string) => ({ amount, currency: 'USD' });
  const bounded = (amount: string) => ({ bound: { amount, isMost: true } });
  const stateOf = async (path: string, id: string) => {
    const { index } = await readJournal(path);
    const row = index.find(id);
    return row < 0 ? undefined : index.stateOf(row);
  };

  test('the last record of an id counts', async () => {
    const path = write([
      run,
      record('sent', 'a'),
      record('done', 'a'),
      record('sent', 'b'),
      record('sent', 'c'),
      record('unsent', 'c'),
    ]);
    expect([
      await stateOf(path, 'a'),
      await stateOf(path, 'b'),
      await stateOf(path, 'c'),
      await stateOf(path, 'd'),
    ]).toEqual(['done', 'sent', 'new', undefined]);
  });

  test.each(['failed', 'unknown', 'done', 'sent'])(
    'a job that was to be sent again, and was not, is %s as before',
    async (type) => {
      const before = record(type, 'a', type === 'failed' ? { error: { class: 'quota', message: 'm' } } : {});
      const again = { request: '00000000000000bb' };
      const path = write([
        run,
        before,
        run,
        record('ready', 'a', again),
        record('sent', 'a', again),
        record('unsent', 'a', again),
      ]);
      const { index, failures } = await readJournal(path);
      const row = index.find('a');
      expect([index.stateOf(row), index.digestOf(row)]).toEqual([type, '00000000000000aa']);
      expect(failures.has('a')).toBe(type === 'failed' || type === 'unknown' || type === 'sent');
      expect(failures.get('a')?.class).toBe({ failed: 'quota', unknown: 'unknown', sent: 'no-reply' }[type]);
    },
  );

  test('a torn last line is ignored', async () => {
    const path = write([run, record('sent', 'a')], JSON.stringify(record('done', 'a')).slice(0, -3));
    expect(await stateOf(path, 'a')).toBe('sent');
    // Whole but for its line feed: it may have been torn all the same.
    appendFileSync(join(path, 'journal.jsonl'), '9}');
    expect(await stateOf(path, 'a')).toBe('sent');
  });

  test('adds up usage and keeps the failures that still hold', async () => {
    const error = { class: 'quota', message: 'm' };
    const path = write([
      run,
      record('failed', 'a', { error, usage: { totalTokens: 2 } }),
      record('failed', 'b', { error }),
      record('done', 'b', { usage: { totalTokens: 3 } }),
    ]);
    const state = await readJournal(path);
    expect(state.usage).toEqual({ totalTokens: 5 });
    expect([...state.failures]).toEqual([['a', error]]);
    expect(state).toMatchObject({ run: { jobs: 3 }, lastAt: 9 });
  });

  test('a job that a run left without an end is reported as such, whatever it was before, until it has one', async () => {
    const error = { class: 'quota', message: 'm' };
    const killed = [run, record('failed', 'a', { error }), run, record('sent', 'a'), record('sent', 'b')];
    const classes = async (records: readonly object[]) =>
      [...(await readJournal(write(records))).failures].map(([id, { class: name, billed }]) => [id, name, billed]);
    expect(await classes(killed)).toEqual([
      ['a', 'no-reply', 'unknown'],
      ['b', 'no-reply', 'unknown'],
    ]);
    expect(await classes([...killed, run, record('sent', 'a'), record('done', 'a')])).toEqual([
      ['b', 'no-reply', 'unknown'],
    ]);
  });

  test('the journal keeps no more failures than the maximum', async () => {
    const many = Array.from({ length: maxFailures + 1 }, (_, i) => record('sent', `${i}`));
    expect((await readJournal(write([run, ...many]))).failures.size).toBe(maxFailures);
  });

  test('adds up the time of all runs without the time between them', async () => {
    const at = (when: number, state: string) => record(state, 'a', { at: when });
    const runAt = (when: number) => ({ ...run, at: when });
    const path = write([runAt(100), at(130, 'sent'), at(150, 'failed'), runAt(9000), at(9007, 'done'), runAt(20_000)]);
    expect(await readJournal(path)).toMatchObject({ durationMs: 57, lastAt: 20_000 });
  });

  test.each([
    ['a line that is not JSON', 'hello\n'],
    ['a record of another version', `${JSON.stringify({ ...run, schema: 'gateway-cli/journal@2' })}\n`],
    ['a record of no known type', `${JSON.stringify(record('maybe', 'a'))}\n`],
    ['a record without id', '{"type":"done"}\n'],
    ['a record whose id is no text', `${JSON.stringify({ ...record('done', 'a'), id: 7 })}\n`],
    ['a record whose request is no text', `${JSON.stringify({ ...record('done', 'a'), request: 7 })}\n`],
    ['a text', '"done"\n'],
    ['nothing', 'null\n'],
    ['a list', '[]\n'],
    ['a batch of the service without a mark', '{"type":"part","step":"planned","at":9}\n'],
    ['a job of a batch of the service that is not known', `${JSON.stringify(record('ready', 'a', { part: 'p' }))}\n`],
  ])('%s is code 14, and the error names the line and what another folder costs', async (_, text) => {
    const path = write([run], text);
    await expect(readJournal(path)).rejects.toMatchObject({
      class: 'batch-locked',
      message: `${join(path, 'journal.jsonl')}:2: no record that this version knows`,
      details: { hint: 'fix that line; in another folder every job is paid for again', sent: 'no' },
    });
  });

  const moved = (id: string, more: object = {}) => ({ type: 'moved', id, line: 7, at: 9, ...more });

  test.each([
    ['no job', { ...moved('a'), id: undefined }],
    ['a place that is none', moved('a', { line: '7' })],
    ['a number that is none', moved('a', { number: '7' })],
    ['an id that is no text', moved('a', { to: 7 })],
    ['an empty id', moved('a', { to: '' })],
    ['a basis that is no text', moved('a', { basis: null })],
    ['the id of another job', moved('b', { to: 'a' })],
  ])('a record of %s that moved is code 14, too', async (_, record_) => {
    const reading = read([run, record('done', 'a'), record('done', 'b'), record_]);
    await expect(reading).rejects.toMatchObject({ class: 'batch-locked', details: { sent: 'no' } });
  });

  test('what is known of a job that moved is known under its new id', async () => {
    const killed = [run, record('sent', 'a', bounded('0.3')), run];
    const before = [...killed, record('failed', 'b', { error: unanswered }), record('done', 'e')];
    const same = [moved('b', { to: 'b' }), moved('b'), moved('none', { to: 'd', number: 5 })];
    const moves = [moved('a', { to: 'c', number: 4 }), ...same, moved('e', { to: 'f' })];
    const { index, failures, held, sentAt, numbers } = await read([...before, ...moves]);
    expect([...index.ids()]).toEqual(['c', 'b', 'f']);
    expect([index.find('a'), index.find('b'), index.isRenamed(0), index.isRenamed(1)]).toEqual([0, 1, true, false]);
    expect([index.placeOf(0), index.placeOf(1)]).toEqual([7, 7]);
    expect([[...failures.keys()].toSorted(), [...held], [...sentAt]]).toEqual([['b', 'c'], [['c', '0.3']], [['c', 9]]]);
    expect([...numbers]).toEqual([[0, 4]]);
  });

  test('what a request was built from is known until its job is sent as another request, or moved without it', async () => {
    const basis = '00000000000000cc';
    const done = record('done', 'a', { basis });
    const basisOf = async (...then: object[]) => (await read([run, done, ...then])).index.basisOf(0);
    expect(await basisOf()).toBe(basis);
    expect(await basisOf(record('sent', 'a'))).toBe(basis);
    expect(await basisOf(record('sent', 'a', { request: '00000000000000bb' }))).toBeUndefined();
    expect(await basisOf(moved('a', { to: 'b' }))).toBe(basis);
    expect(await basisOf(moved('a', { basis: '00000000000000dd' }))).toBe('00000000000000dd');
    expect(await basisOf(moved('a', { basis: '' }))).toBeUndefined();
  });

  test('a file whose first line is no record is no journal: another folder costs nothing then', async () => {
    await expect(readJournal(write([], 'notes\n'))).rejects.toMatchObject({
      details: { hint: 'name another folder with -o' },
    });
  });

  test('no folder, no journal: everything is new', async () => {
    const state = await readJournal(join(scratchFolder(), 'missing'));
    expect(state.run).toBeUndefined();
    expect(state.index.size).toBe(0);
    expect(state).toMatchObject({ spending: { costs: [], unknown: 0, held: '0', dearest: '0' }, torn: false });
  });

  test('empty lines and the zeros that a power failure leaves are no records, and what follows the zeros counts', async () => {
    const state = await read([], `\0\0\n\n\0\0${JSON.stringify(record('sent', 'a'))}\n`);
    expect([state.index.stateOf(state.index.find('a')), state.torn, state.durationMs]).toEqual(['sent', false, 0]);
    expect((await read([run], '{"type":"do')).torn).toBe(true);
  });

  test('the first run says when the batch began, and the last one which jobs its file has not', async () => {
    const error = { class: 'quota', message: 'm' };
    const first = [{ ...run, removed: ['b'] }, record('failed', 'a', { error }), record('failed', 'b', { error })];
    const { beganAt, index, failures } = await read([...first, { ...run, at: 20, removed: ['a'] }]);
    expect(beganAt).toBe(5);
    expect(['a', 'b'].map((id) => index.has(index.find(id), 'removed'))).toEqual([true, false]);
    expect([...failures.keys()]).toEqual(['b']);
    const back = await read([{ ...run, removed: [] }, record('done', 'a'), { ...run, removed: ['a'] }, run]);
    expect(back.index.has(back.index.find('a'), 'removed')).toBe(false);
  });

  test('of jobs that were about to be sent when the machine went down each may be paid, others were not sent', async () => {
    const records = [record('ready', 'a', { line: 3 }), record('ready', 'b'), record('sent', 'b'), record('done', 'b')];
    const states = async (boot: object) => {
      const { index } = await read([{ ...run, ...boot }, ...records]);
      return ['a', 'b'].map((id) => (index.find(id) < 0 ? undefined : index.stateOf(index.find(id))));
    };
    expect(await states({ boot: bootMark() })).toEqual([bootMark() === undefined ? 'sent' : undefined, 'done']);
    for (const boot of [{ boot: 'another' }, {}]) expect(await states(boot)).toEqual(['sent', 'done']);
    const { index, failures, sentAt } = await read([run, ...records]);
    expect([index.placeOf(index.find('a')), failures.get('a')?.class, sentAt.get('a')]).toEqual([3, 'no-reply', 9]);
  });

  test('a job that came back before it was sent is not known', async () => {
    expect((await read([run, record('ready', 'a'), record('unsent', 'a')])).index.find('a')).toBe(-1);
  });

  test('an answer stays where its job was not sent again after all, in its place among the others', async () => {
    const { index } = await read([
      run,
      record('done', 'a'),
      record('done', 'b'),
      record('sent', 'a'),
      record('unsent', 'a'),
    ]);
    const [a, b] = [index.find('a'), index.find('b')];
    expect(index.sequenceOf(a)).toBeLessThan(index.sequenceOf(b));
    const failed = [record('failed', 'a'), record('sent', 'a'), record('sent', 'b'), record('unsent', 'a')];
    expect((await read([run, ...failed])).index.sequenceOf(0)).toBe(2);
  });

  test.each([
    [true, ['done', '00000000000000aa', undefined]],
    [undefined, ['failed', '00000000000000bb', 'quota']],
  ])(
    'an answer counts again after a second try that failed only if its record says so: %s',
    async (stays, expected) => {
      const again = { request: '00000000000000bb' };
      const failed = { ...again, error: { class: 'quota', message: 'm' }, earlierStays: stays };
      const records = [
        record('done', 'a'),
        record('done', 'b'),
        record('sent', 'a', again),
        record('failed', 'a', failed),
      ];
      const { index, failures, earlier } = await read([run, ...records]);
      const [a, b] = [index.find('a'), index.find('b')];
      expect([index.stateOf(a), index.digestOf(a), failures.get('a')?.class]).toEqual(expected);
      expect(index.sequenceOf(a) < index.sequenceOf(b)).toBe(stays === true);
      expect(earlier.size).toBe(0);
    },
  );

  test('while a job that has an answer is sent again, its answer is kept, and that of no other', async () => {
    const again = { request: '00000000000000bb' };
    const records = [
      record('failed', 'a'),
      record('done', 'b'),
      record('sent', 'a', again),
      record('sent', 'b', again),
    ];
    const { index, earlier } = await read([run, ...records]);
    expect([...earlier]).toEqual([[index.find('b'), { digest: '00000000000000aa', sequence: 2 }]]);
  });

  test('a job has the place of its line', async () => {
    const records = [record('sent', 'b', { line: 2 }), record('done', 'b'), record('sent', 'c', { line: 9 })];
    const { index } = await read([run, ...records]);
    expect(['b', 'c'].map((id) => index.placeOf(index.find(id)))).toEqual([2, 9]);
  });

  test('an answer that a limit cut is known as such until a whole one is there', async () => {
    const cut = [run, record('done', 'a', { incomplete: true })];
    expect((await read(cut)).index.has(0, 'incomplete')).toBe(true);
    expect((await read([...cut, record('sent', 'a'), record('done', 'a')])).index.has(0, 'incomplete')).toBe(false);
  });

  test.each([
    ['an answer without a price', record('done', 'a'), { unknown: 1, held: '0' }],
    ['an answer of unknown cost', record('done', 'a', bounded('0.3')), { unknown: 1, held: '0.3' }],
    ['a failure', record('failed', 'a', bounded('0.3')), { unknown: 1, held: '0.3' }],
    ['a failure that was not billed', record('failed', 'a', { billed: 'no' }), { unknown: 0 }],
    [
      'a failure whose error was not billed',
      record('failed', 'a', { error: { ...unanswered, billed: 'no' } }),
      { unknown: 0 },
    ],
    [
      'a failure that was billed, whatever its error',
      record('failed', 'a', { billed: 'yes', error: { ...unanswered, billed: 'no' } }),
      { unknown: 1 },
    ],
    [
      'a failure with a cost',
      record('failed', 'a', { billed: 'no', cost: dollar('0.2') }),
      { unknown: 0, costs: [dollar('0.2')] },
    ],
  ])('what a job counts with: %s', async (_, end, spending) => {
    expect((await read([run, record('sent', 'a'), end])).spending).toMatchObject(spending);
  });

  test('a job without a price counts with the highest cost so far when its run is killed, and with nothing before one', async () => {
    const first = await read([run, record('sent', 'a')]);
    expect([first.spending, [...first.held]]).toEqual([
      { costs: [], unknown: 1, held: '0', dearest: '0' },
      [['a', '0']],
    ]);
    const late = await read([run, record('sent', 'a'), run, record('done', 'a', { cost: dollar('0.2') })]);
    expect(late.spending).toEqual({ costs: [dollar('0.2')], unknown: 0, held: '0', dearest: '0.2' });
    const second = await read([
      run,
      record('sent', 'b'),
      record('done', 'b', { cost: dollar('0.2') }),
      record('sent', 'a'),
    ]);
    expect(second.spending).toMatchObject({ unknown: 1, held: '0.2' });
  });

  test.each([
    ['its cost is known', { cost: dollar('0.2') }, { costs: [dollar('0.2')], unknown: 0, held: '0', dearest: '0.2' }],
    ['it may have cost something', {}, { costs: [], unknown: 1, held: '0.3', dearest: '0' }],
    ['it cost nothing', { billed: 'no' }, { costs: [], unknown: 1, held: '0.3', dearest: '0' }],
  ])(
    'a late end takes the place of what its job counted with when its run was killed: %s',
    async (_, end, spending) => {
      const killed = [run, record('sent', 'a', bounded('0.3'))];
      expect((await read(killed)).spending).toEqual({ costs: [], unknown: 1, held: '0.3', dearest: '0' });
      const state = await read([...killed, run, record('failed', 'a', { ...end, ...bounded('0.3') })]);
      expect(state.spending).toEqual(spending);
    },
  );

  test('a job that is sent again counts beside what it counted with when its run was killed', async () => {
    const killed = [run, record('sent', 'a', bounded('0.3')), run, record('sent', 'a', bounded('0.4'))];
    const again = await read([...killed, record('done', 'a', { cost: dollar('0.1') })]);
    expect(again.spending).toEqual({ costs: [dollar('0.1')], unknown: 1, held: '0.3', dearest: '0.1' });
    expect((await read([...killed, record('unknown', 'a')])).spending).toMatchObject({ unknown: 2, held: '0.7' });
  });

  test('a job that a batch of the service holds is open until its end, which counts for that batch', async () => {
    const plan = { profile: 'p', origin: 'o', format: 'content', use: 'content', model: 'm' };
    const part = (step: string, more: object = {}) => ({ type: 'part', mark: 'p1', step, at: 9, ...more });
    const ready = ['a', 'b'].map((id) => record('ready', id, { part: 'p1', ...bounded('0.3') }));
    const held = [run, part('planned', { plan }), ...ready, part('creating'), part('created', { batch: 'x', at: 12 })];
    const before = await read(held);
    const open = ({ index }: typeof before) => ['a', 'b'].map((id) => index.has(index.find(id), 'atService'));
    expect([open(before), before.spending.unknown, before.lastAt]).toEqual([[true, true], 0, 12]);
    const after = await read([...held, run, record('done', 'a', { part: 'p1', cost: dollar('0.1') })]);
    expect(open(after)).toEqual([false, true]);
    expect(after.spending).toEqual({ costs: [dollar('0.1')], unknown: 0, held: '0', dearest: '0.1' });
    expect(after.providerBatches.get('p1')?.paid).toMatchObject({ requests: 1, spending: { costs: [dollar('0.1')] } });
    const killed = [run, record('sent', 'a', bounded('0.2'))];
    const twice = await read([...killed, ...held, record('done', 'a', { part: 'p1', cost: dollar('0.1') })]);
    expect(twice.spending).toMatchObject({ costs: [dollar('0.1')], unknown: 1, held: '0.2' });
    const unknown = await read([run, record('done', 'a', { part: 'another' })]);
    expect(unknown.index.stateOf(0)).toBe('done');
    const elsewhere = await read([...held, run, record('done', 'a', { cost: dollar('0.1') })]);
    expect(elsewhere.providerBatches.get('p1')?.paid).toMatchObject({ requests: 0 });
  });
});

test.each([
  ['totals', { totalTokens: 2 }, { totalTokens: 3 }, { totalTokens: 5 }],
  [
    'a total and two counts',
    { totalTokens: 2 },
    { inputTokens: 3, outputTokens: 4 },
    { totalTokens: 9, inputTokens: 3, outputTokens: 4 },
  ],
  [
    'two counts and a total',
    { inputTokens: 3, outputTokens: 4 },
    { totalTokens: 2 },
    { totalTokens: 9, inputTokens: 3, outputTokens: 4 },
  ],
  [
    'counts without a total',
    { inputTokens: 3 },
    { inputTokens: 1, outputTokens: 4 },
    { inputTokens: 4, outputTokens: 4 },
  ],
  ['what is no count', { totalTokens: 2 }, { inputTokens: '3', totalTokens: Number.NaN }, { totalTokens: 2 }],
  ['nothing', { totalTokens: 2 }, undefined, { totalTokens: 2 }],
])('tokens of jobs are added up: %s', (_, sum, more, expected) => {
  expect(addUsage({ ...(sum as Usage) }, more as Usage | undefined)).toEqual(expected);
});

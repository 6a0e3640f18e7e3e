import fs, {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type LedgerRequest, openLedger, unknownAmount } from '../../../src/library/cost/ledger.ts';
import { groupCosts, summarizeLedger } from '../../../src/library/cost/ledger-sums.ts';
import { ownMark } from '../../../src/library/files/process-mark.ts';
import { openFilesIn, tellsOpenFiles } from '../../helpers/open-files.ts';
import { deadPid, markOf } from '../../helpers/processes.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

const never = new AbortController().signal;
const noon = Date.parse('2026-11-25T12:00:00Z');
const kind = { command: 'text', service: 'gemini', model: 'm', lane: 'live' };

function request(amount: string, more: Partial<LedgerRequest> = {}): LedgerRequest {
  return { ...kind, bound: { amount, isMost: true }, currency: 'USD', ...more };
}

function place(amount = '1.00', per?: 'day' | 'month') {
  const path = join(scratchFolder(), 'team.jsonl');
  const clock = { now: noon };
  const open = (compactAt?: number) =>
    openLedger({ path, limit: { amount, per }, now: () => clock.now, ...(compactAt && { compactAt }) });
  const lines = () =>
    readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
  const spent = async () => (await summarizeLedger(path, clock.now))?.spent;
  return { path, clock, open, lines, spent };
}

async function reserved(ledger: ReturnType<typeof openLedger>, asked: LedgerRequest): Promise<string> {
  const made = await ledger.reserve(asked, never);
  if ('id' in made) return made.id;
  throw new Error(`only ${made.spent} should be spent`);
}

test('a request has room exactly up to the amount, and its exact cost takes the place of what it could cost', async () => {
  const { open, spent } = place('0.3');
  const ledger = open();
  const id = await reserved(ledger, request('0.3'));
  await ledger.spend(id, '0.1');
  await ledger.spend(await reserved(ledger, request('0.2')), '0.2');
  expect(await ledger.reserve(request('0.000000000001'), never)).toEqual({ spent: '0.3' });
  expect(await spent()).toBe('0.3');
});

test('a request waits for what others of running processes have reserved, and takes what they leave', async () => {
  const { open } = place('1');
  const [one, other] = [open(), open()];
  const id = await reserved(one, request('0.8'));
  const waiting = other.reserve(request('0.5'), never);
  await one.spend(id, '0.4');
  expect(await waiting).toHaveProperty('id');
});

test('a request that can cost nothing does not wait for what others have reserved', async () => {
  const { open } = place('1');
  await reserved(open(), request('1'));
  expect(await open().reserve(request('0'), AbortSignal.timeout(10_000))).toHaveProperty('id');
});

test('to ask what is left writes nothing', async () => {
  const { path, open } = place('1');
  expect(await open().left()).toEqual({ left: '1', dearest: '0' });
  expect(readFileSync(path, 'utf8')).toBe('');
});

test('a process reads of a ledger what is new, not what it has read or written itself', async () => {
  const { path, open, spent } = place('100');
  const [one, other] = [open(), open()];
  for (let n = 0; n < 20; n++) await one.spend(await reserved(one, request('0.1')), '0.1');
  let bytes = 0;
  const { readSync } = fs;
  const reads = vi.spyOn(fs, 'readSync').mockImplementation(((...given: Parameters<typeof readSync>) => {
    const read = readSync(...given);
    bytes += read;
    return read;
  }) as typeof readSync);
  syncBuiltinESMExports();
  onTestFinished(() => {
    reads.mockRestore();
    syncBuiltinESMExports();
  });
  const { size } = statSync(path);
  const readsOf = async (ledger: typeof one) => {
    bytes = 0;
    await ledger.left();
    return bytes < size / 2;
  };
  expect([await readsOf(one), await readsOf(other), await readsOf(other)]).toEqual([true, false, true]);
  expect(await spent()).toBe('2');
});

test('a ledger that another process compacted is read anew: what is written to it since counts', async () => {
  const { path, open } = place('10');
  const [one, other] = [open(1), open()];
  for (let n = 0; n < 10; n++) await other.spend(await reserved(other, request('0.1')), '0.1');
  const { size } = statSync(path);
  await one.save(kind, { amount: '0', currency: 'USD' });
  await one.spend(await reserved(one, request('0.5')), '0.5');
  expect(statSync(path).size).toBeLessThan(size);
  expect(await other.left()).toEqual({ left: '8.5', dearest: '0.5' });
});

test('what is in flight counts for the day on which it was reserved', async () => {
  const { open, clock } = place('1', 'day');
  await reserved(open(), request('0.7'));
  expect(await open().left()).toMatchObject({ left: '0.3' });
  clock.now += 24 * 3_600_000;
  expect(await open().left()).toMatchObject({ left: '1' });
});

test('a request that waits writes no limit down: two runs with limits of their own do not fill the file', async () => {
  const { path, open, lines } = place('1');
  const one = open();
  const id = await reserved(one, request('0.8'));
  let looks = 0;
  const now = () => (looks++, noon);
  const other = openLedger({ path, limit: { amount: '0.9' }, now });
  const waiting = other.reserve(request('0.5'), never);
  await expect.poll(() => looks, { timeout: 30_000 }).toBeGreaterThan(2);
  await one.spend(id, '0.1');
  expect(await waiting).toHaveProperty('id');
  expect(lines().map(({ type }) => type)).toEqual(['budget', 'limit', 'reserved', 'spent', 'limit', 'reserved']);
});

test('of requests that wait for the lock together each ends for itself: by its signal, its currency or its amount', async () => {
  const { path, open, spent } = place('1');
  const ledger = open();
  await ledger.spend(await reserved(ledger, request('0.1')), '0.1');
  writeFileSync(`${path}.lock`, JSON.stringify({ ...ownMark(), nonce: 'another' }));
  const [first, second] = [new AbortController(), new AbortController()];
  const asked = [
    ledger.reserve(request('0.2'), first.signal),
    ledger.reserve(request('0.2'), second.signal),
    ledger.reserve(request('0.3'), never),
    ledger.reserve(request('0.1', { currency: 'EUR' }), never),
    ledger.reserve(request('0.95'), never),
  ];
  const looks = vi.spyOn(process.hrtime, 'bigint');
  onTestFinished(() => looks.mockRestore());
  for (const [at, stop] of [first, second].entries()) {
    stop.abort(new Error('enough'));
    await expect(asked[at]).rejects.toThrow('enough');
    const { length } = looks.mock.calls;
    await expect.poll(() => looks.mock.calls.length, { timeout: 30_000 }).toBeGreaterThan(length + 5);
  }
  unlinkSync(`${path}.lock`);
  const [, , made, refused, over] = await Promise.allSettled(asked);
  expect(made).toMatchObject({ value: { id: expect.any(String) as unknown } });
  expect(refused).toMatchObject({ reason: { class: 'usage' } });
  expect(over).toMatchObject({ value: { spent: '0.1' } });
  expect(await spent()).toBe('0.1');
});

test('a reservation is on the disk before its request is sent', async () => {
  const sync = vi.spyOn(fs, 'fdatasync');
  syncBuiltinESMExports();
  onTestFinished(() => {
    sync.mockRestore();
    syncBuiltinESMExports();
  });
  const { open } = place('1');
  const ledger = open();
  const id = await reserved(ledger, request('0.1'));
  expect(sync).toHaveBeenCalledTimes(1);
  await ledger.spend(id, '0.1');
  expect(sync).toHaveBeenCalledTimes(1);
});

test('a request counts for the model and the lane that answered', async () => {
  const { path, open } = place('1');
  const ledger = open();
  await ledger.spend(await reserved(ledger, request('0.2')), '0.1', { model: 'm-2', lane: 'flex' });
  for (const _ of [1, 2]) await ledger.spend(await reserved(ledger, request('0.2')), unknownAmount);
  expect((await summarizeLedger(path, noon))?.sums).toMatchObject([
    { model: 'm-2', lane: 'flex', requests: 1, unknown: 0, amount: '0.1' },
    { model: 'm', lane: 'live', requests: 2, unknown: 2, amount: '0.4' },
  ]);
});

test('a wait ends with its signal, and reserves nothing', async () => {
  const { open, lines } = place('1');
  const ledger = open();
  await reserved(ledger, request('0.8'));
  const stop = new AbortController();
  const waiting = ledger.reserve(request('0.5'), stop.signal);
  stop.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  expect(lines().filter(({ type }) => type === 'reserved')).toHaveLength(1);
});

test.each([1, 2, 3])(
  'a request whose signal comes while it is being written down gives its amount back: %i',
  async (at) => {
    const { path, open, spent } = place('1');
    const stop = new AbortController();
    let looks = 0;
    const now = () => {
      if (++looks === at) stop.abort(new Error('enough'));
      return noon;
    };
    const ledger = openLedger({ path, limit: { amount: '1' }, now });
    await expect(ledger.reserve(request('0.8'), stop.signal)).rejects.toThrow('enough');
    const id = await reserved(open(), request('0.9'));
    await open().free(id);
    expect(await spent()).toBe('0');
  },
);

test('a request whose call has ended writes nothing', async () => {
  const { path, open } = place('1');
  const ledger = open();
  await expect(ledger.reserve(request('0.8'), AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  await ledger.left();
  expect(readFileSync(path, 'utf8')).toBe('');
});

test('a request ends once: what comes later writes nothing', async () => {
  const { path, open, spent } = place('1');
  const ledger = open();
  const id = await reserved(ledger, request('0.8'));
  await ledger.spend(id, '0.5');
  const text = readFileSync(path, 'utf8');
  await ledger.spend(id, '0.6');
  await ledger.free(id);
  expect([readFileSync(path, 'utf8'), await spent()]).toEqual([text, '0.5']);
});

test('the reservation of a killed process counts as spent, and is not waited for', async () => {
  const { path, open, spent } = place('1');
  await reserved(open(), request('0.7'));
  const text = readFileSync(path, 'utf8').replace(JSON.stringify(ownMark()), JSON.stringify(markOf(await deadPid())));
  writeFileSync(path, text);
  expect(await open().reserve(request('0.4'), never)).toEqual({ spent: '0.7' });
  await expect(open().reserve(request('0.3'), never)).resolves.toHaveProperty('id');
  expect(await spent()).toBe('0.7');
  const survey = await summarizeLedger(path, noon);
  expect(survey).toMatchObject({ inFlight: '0.3', sums: [{ requests: 1, unknown: 1, amount: '0.7' }] });
  if (tellsOpenFiles) expect(openFilesIn(dirname(path))).toEqual([]);
});

test('unbilled requests free their reservation, and requests that may have been billed keep it', async () => {
  const { open, spent } = place('1');
  const ledger = open();
  await ledger.free(await reserved(ledger, request('0.9')));
  await ledger.spend(await reserved(ledger, request('0.6')), unknownAmount);
  expect(await spent()).toBe('0.6');
});

test('a request without a bound counts with the highest cost so far, and has no room in a budget that is used up', async () => {
  const { open } = place('1');
  const ledger = open();
  const unbound = request('0', { bound: { amount: '0', isMost: false } });
  await ledger.spend(await reserved(ledger, unbound), '0.6');
  expect(await ledger.reserve(unbound, never)).toEqual({ spent: '0.6' });
  await ledger.spend(await reserved(ledger, request('0.4')), '0.4');
  expect(await open().reserve(request('0', { bound: { amount: '0', isMost: true } }), never)).toEqual({ spent: '1' });
});

test('the highest cost so far is of answers whose cost is known', async () => {
  const { open } = place('10');
  const ledger = open();
  await ledger.spend(await reserved(ledger, request('0.6')), unknownAmount);
  expect(await open().left()).toEqual({ left: '9.4', dearest: '0' });
  await ledger.spend(await reserved(ledger, request('0.6')), '0.1');
  expect(await open().left()).toEqual({ left: '9.3', dearest: '0.1' });
});

test.each([
  ['a minute before the quarter of an hour is over', 14, { spent: '0', inFlight: '0.7' }],
  ['when it is over', 15, { spent: '0.7', inFlight: '0' }],
  ['after it', 16, { spent: '0.7', inFlight: '0' }],
  ['with a clock that is behind by less', -14, { spent: '0', inFlight: '0.7' }],
  ['with a clock that is far behind', -16, { spent: '0.7', inFlight: '0' }],
])('a request of another host is in flight for a quarter of an hour, and then spent: %s', async (_, minutes, sums) => {
  const { path, open, clock } = place('1');
  await reserved(open(), request('0.7'));
  const elsewhere = JSON.stringify({ ...ownMark(), host: 'elsewhere' });
  writeFileSync(path, readFileSync(path, 'utf8').replace(JSON.stringify(ownMark()), elsewhere));
  expect(await summarizeLedger(path, clock.now + minutes * 60_000)).toMatchObject(sums);
});

test.each([
  ['day', '2026-11-25T23:59:59Z', '2026-11-26T00:00:00Z'],
  ['month', '2026-11-30T23:59:59Z', '2026-12-01T00:00:00Z'],
] as const)(
  'the amount is there again with the next UTC %s, and a clock that was set back finds the old one',
  async (per, end, next) => {
    const { open, clock } = place('1', per);
    const ledger = open();
    const left = async (): Promise<boolean> => {
      const made = await ledger.reserve(request('1'), never);
      if ('id' in made) await ledger.spend(made.id, '1');
      return 'id' in made;
    };
    expect(await left()).toBe(true);
    clock.now = Date.parse(end);
    expect(await left()).toBe(false);
    clock.now = Date.parse(next);
    expect(await left()).toBe(true);
    clock.now = noon;
    expect(await left()).toBe(false);
  },
);

test('a ledger keeps to one currency', async () => {
  const { open } = place();
  const ledger = open();
  await reserved(ledger, request('0.1'));
  await expect(ledger.reserve(request('0.1', { currency: 'EUR' }), never)).rejects.toThrow('is in USD');
  await expect(ledger.reserve(request('0.1'), never)).resolves.toHaveProperty('id');
});

test('a line that a crash cut is skipped, and so is one that is not known', async () => {
  const { path, open, spent } = place();
  const ledger = open();
  await ledger.spend(await reserved(ledger, request('0.1')), '0.1');
  appendFileSync(path, '{"type":"other"}\n{"type":"spent","id":');
  await ledger.spend(await reserved(ledger, request('0.2')), '0.2');
  await open().spend(await reserved(open(), request('0.3')), '0.3');
  expect(await spent()).toBe('0.6');
});

test('a reservation that could not be written does not count as spent', async () => {
  const { open, spent } = place('1');
  const ledger = open();
  const unwritable = {
    toJSON: () => {
      throw new Error('no room');
    },
  };
  await expect(ledger.reserve(request('0.8', { tags: unwritable as never }), never)).rejects.toThrow('no room');
  expect(await ledger.reserve(request('0.9'), AbortSignal.timeout(10_000))).toHaveProperty('id');
  expect(await spent()).toBe('0');
});

test('a ledger that cannot be compacted goes on', async () => {
  const { path, open } = place('1');
  const ledger = open(1);
  await ledger.spend(await reserved(open(), request('0.1')), '0.1');
  appendFileSync(path, '{"type":"saved"}\n');
  await ledger.spend(await reserved(ledger, request('0.2')), '0.2');
  expect(await ledger.reserve(request('0.8'), never)).toEqual({ spent: '0.3' });
  expect(readdirSync(dirname(path))).toEqual(['team.jsonl']);
});

test('a batch is reserved until its end, which counts once, and nothing waits for it', async () => {
  const { path, open, spent, clock } = place('1');
  const ledger = open(1);
  const bounds = [0.1, 0.2, 0.3].map((amount) => ({ amount: String(amount), isMost: true }));
  const batch = { ...kind, id: 'b1', lane: 'batch', currency: 'USD', bounds };
  expect(await ledger.reserveBatch(batch, never)).toEqual({ id: 'b1' });
  expect(await open().reserve(request('0.5'), never)).toEqual({ spent: '0.6' });
  expect(await open().left()).toEqual({ left: '0.4', dearest: '0' });
  expect(await open().reserveBatch({ ...batch, id: 'b2' }, never)).toEqual({ spent: '0.6' });
  const text = readFileSync(path, 'utf8').replace(JSON.stringify(ownMark()), JSON.stringify(markOf(await deadPid())));
  writeFileSync(path, text);
  expect(await summarizeLedger(path, clock.now)).toMatchObject({ spent: '0', inFlight: '0.6', sums: [] });
  const end = { amount: '0.25', requests: 2, unknown: 1, dearest: '0.05' };
  for (let n = 0; n < 2; n++) await open(1).endBatch('b1', end);
  expect([await spent(), await open().left()]).toEqual(['0.25', { left: '0.75', dearest: '0.05' }]);
  const survey = await summarizeLedger(path, clock.now);
  expect(survey?.sums).toMatchObject([{ lane: 'batch', requests: 2, unknown: 1, amount: '0.25' }]);
});

test('a large ledger is compacted to the same sums to the last digit, also if others have it open', async () => {
  const { path, open, lines, clock } = place('100');
  const [one, other] = [open(4000), open()];
  const still = await reserved(other, request('0.5'));
  for (let n = 1; n <= 60; n++) {
    const ledger = n % 2 === 0 ? one : other;
    const tags = n % 3 === 0 ? { team: 'a' } : undefined;
    const id = await reserved(ledger, request('0.1', { tags }));
    await ledger.spend(id, n % 5 === 0 ? unknownAmount : `0.00000${n}`);
  }
  await one.save(kind, { amount: '0.7', currency: 'USD' });
  await other.spend(still, '0.25');
  expect(lines().length).toBeLessThan(40);
  const survey = await summarizeLedger(path, clock.now);
  // 12 of unknown cost; of the others the numbers from 1 to 60 that 5 does not divide, as the digits after 0.00000.
  const known = Array.from({ length: 60 }, (_, at) => at + 1).filter((n) => n % 5 !== 0);
  const millionths = known.reduce((sum, n) => sum + (n < 10 ? n * 10 : n), 0);
  const amount = ((12 * 0.1 + 0.25) * 1e7 + millionths).toFixed(0).padStart(8, '0');
  const exact = `${amount.slice(0, -7)}.${amount.slice(-7)}`.replace(/0+$/, '');
  expect(survey?.spent).toBe(exact);
  const [total] = groupCosts(survey?.sums ?? [], 'total');
  expect(total).toMatchObject({ requests: 61, unknown: 12, amount: exact, savedRequests: 1, saved: '0.7' });
  const byTag = groupCosts(survey?.sums ?? [], 'tag');
  expect(byTag.map(({ name, requests }) => [name, requests])).toEqual([
    ['', 41],
    ['team=a', 20],
  ]);
});

test('a compacted ledger keeps to its currency, and is not compacted again until it is twice as large', async () => {
  const { open, path } = place('1');
  const ids = [];
  for (let n = 0; n < 6; n++) ids.push(await reserved(open(), request('0.1')));
  const header = () => readFileSync(path, 'utf8').split('\n', 1)[0];
  const first = header();
  await open(1).spend(ids[0] ?? '', '0.05');
  const compacted = header();
  expect([first === compacted, compacted]).toEqual([false, expect.stringContaining('"dearest":"0.05"')]);
  await open(1).spend(ids[1] ?? '', '0.06');
  expect(header()).toBe(compacted);
  await open().free(ids[2] ?? '');
  for (const id of ids.slice(3)) await open().free(id);
  await expect(open().reserve(request('0.1', { currency: 'EUR' }), never)).rejects.toThrow('is in USD');
  for (let n = 0; n < 6; n++) await open().free(await reserved(open(), request('0.1')));
  expect(header()).toBe(compacted);
  appendFileSync(path, 'what cannot be read\n');
  await open(1).save(kind, { amount: '0', currency: 'USD' });
  expect(header()).not.toBe(compacted);
  expect((await summarizeLedger(path, noon))?.limit).toEqual({ amount: '1' });
  await expect(open().reserve(request('0.1', { currency: 'EUR' }), never)).rejects.toThrow('is in USD');
  expect(await open().left()).toEqual({ left: '0.89', dearest: '0.06' });
});

test('a ledger that is read in many pieces counts to its last line, whatever characters they cut', async () => {
  const { open, path, spent } = place('10000');
  await open().free(await reserved(open(), request('0.1')));
  const sum = {
    type: 'sum',
    day: '2026-11-25',
    currency: 'USD',
    requests: 1,
    unknown: 0,
    told: '0',
    savedRequests: 0,
    saved: '0',
  };
  const line = JSON.stringify({ ...sum, ...kind, model: 'ö'.repeat(50), amount: '1' });
  appendFileSync(path, `${line}\n`.repeat(1000));
  expect(await spent()).toBe('1000');
  const survey = await summarizeLedger(path, noon);
  expect(survey?.sums).toMatchObject([{ model: 'ö'.repeat(50), requests: 1000 }]);
  expect(await open().left()).toEqual({ left: '9000', dearest: '0' });
});

test('a ledger with more tags than its memory should hold is added up without them, and loses no amount', async () => {
  const { open, path } = place('1');
  await open().free(await reserved(open(), request('0.1')));
  const sum = {
    type: 'sum',
    day: '2026-11-25',
    currency: 'USD',
    requests: 1,
    unknown: 0,
    told: '0',
    savedRequests: 0,
    saved: '0',
  };
  const lines = Array.from({ length: 20_003 }, (_, at) => ({
    ...sum,
    ...kind,
    amount: '0.00001',
    tags: { run: `${at}` },
  }));
  appendFileSync(path, lines.map((one) => `${JSON.stringify(one)}\n`).join(''));
  const { sums = [] } = (await summarizeLedger(path, noon)) ?? {};
  expect([sums.length, sums.at(-2)?.tags, sums.at(-1)?.tags]).toEqual([20_001, { run: '19999' }, undefined]);
  expect(groupCosts(sums, 'total')).toMatchObject([{ requests: 20_003, amount: '0.20003' }]);
});

test('a line that cannot be counted is skipped, by requests and by the survey', async () => {
  const { path, open, spent } = place('1');
  const ledger = open();
  await ledger.spend(await reserved(ledger, request('0.2')), '0.1');
  const still = await reserved(ledger, request('0.3'));
  const at = '2026-11-25T12:00:00Z';
  const reservation = { type: 'reserved', id: 'x', at, currency: 'USD', ...kind };
  const sum = { type: 'sum', day: '2026-11-25', amount: '0.5', currency: 'USD', requests: 1, unknown: 0, ...kind };
  const lines = [
    { type: 'spent', id: still },
    { type: 'spent', id: still, at, amount: '0.3', dearest: 5 },
    { type: 'spent', id: still, at: 5, amount: '0.3' },
    { type: ['spent'], id: still, at, amount: '0.3' },
    { type: 'spent', id: 'never reserved', at, amount: '0.3' },
    { type: 'saved', id: still, at, amount: '0', currency: 'USD' },
    { type: 'sum', day: '2026-11-25', amount: 'much' },
    { ...sum, savedRequests: 0 },
    { ...sum, savedRequests: 0, saved: '0', requests: -1 },
    { ...sum, savedRequests: 0.5, saved: '0' },
    { ...sum, savedRequests: 0, saved: '0', requests: '2' },
    { ...reservation, amount: 'much', by: ownMark() },
    { ...reservation, amount: '0.1', by: ownMark(), held: -1 },
    { ...reservation, amount: '0.1' },
    { type: 'budget', id: 'b', dearest: null },
    { type: 'constructor' },
  ];
  appendFileSync(path, `\n\n${lines.map((line) => `${JSON.stringify(line)}\n`).join('')}`);
  expect(await spent()).toBe('0.1');
  expect(await open().left()).toEqual({ left: '0.6', dearest: '0.1' });
  expect(await open().reserve(request('0.6'), never)).toHaveProperty('id');
  await open().spend(still, '0.3');
  expect(await spent()).toBe('0.4');
});

test.each([
  ['10', '10'],
  ['0.25', '0.25'],
  ['1e2', '100'],
  ['1e-2', '0.01'],
  ['2e+10', '20000000000'],
  ['-1', '0'],
  ['1.', '0'],
  ['.5', '0'],
  ['1e', '0'],
  ['1e100', '0'],
  ['1exx', '0'],
  ['x1', '0'],
  ['1x', '0'],
  [1, '0'],
])('an amount in a ledger is a decimal number that can be added up: %j counts as %s', async (amount, counted) => {
  const { path, open, spent } = place('1');
  await open().free(await reserved(open(), request('0.1')));
  const counts = { requests: 1, unknown: 0, told: '0', savedRequests: 0 };
  const sum = { type: 'sum', day: '2026-11-25', currency: 'USD', ...counts, ...kind };
  appendFileSync(path, `${JSON.stringify({ ...sum, amount, saved: '0' })}\n`);
  expect(await spent()).toBe(counted);
  appendFileSync(path, `${JSON.stringify({ ...sum, amount: '0', saved: amount })}\n`);
  const survey = await summarizeLedger(path, noon);
  expect(groupCosts(survey?.sums ?? [], 'total').map(({ saved }) => saved)).toEqual(counted === '0' ? [] : [counted]);
});

test('what services told stays apart from what was computed, in the survey and when the ledger is compacted', async () => {
  const { path, open, lines } = place('1');
  const ledger = open();
  await ledger.spend(await reserved(ledger, request('0.1')), '0.1');
  await ledger.spend(await reserved(ledger, request('0.2')), '0.2', { told: true });
  const told = async () => groupCosts((await summarizeLedger(path, noon))?.sums ?? [], 'total');
  expect(await told()).toMatchObject([{ amount: '0.3', told: '0.2' }]);
  await open(1).save(kind, { amount: '0.4', currency: 'USD' });
  expect(lines()).toMatchObject([{ type: 'budget' }, { type: 'limit' }, { type: 'sum', amount: '0.3', told: '0.2' }]);
  for (const wrong of ['much', undefined])
    appendFileSync(path, `${JSON.stringify({ ...lines().at(-1), told: wrong })}\n`);
  expect(await told()).toMatchObject([{ amount: '0.3', told: '0.2' }]);
});

test('a ledger without a limit has a survey: its time counts for no period', async () => {
  const { path, open, clock } = place('1');
  await open().spend(await reserved(open(), request('0.1')), '0.1');
  writeFileSync(path, readFileSync(path, 'utf8').replace(/^.*"type":"limit".*\n/m, ''));
  clock.now += 40 * 24 * 3_600_000;
  expect(await summarizeLedger(path, clock.now)).toMatchObject({ limit: undefined, spent: '0.1' });
});

test('requests of one turn of the event loop share one lock and one sync, and their ends make room for each other', async () => {
  const { open, lines } = place('1');
  const sync = vi.spyOn(fs, 'fdatasync');
  const links = vi.spyOn(fs, 'linkSync');
  syncBuiltinESMExports();
  onTestFinished(() => {
    for (const spy of [sync, links]) spy.mockRestore();
    syncBuiltinESMExports();
  });
  const ledger = open();
  const ids = await Promise.all(Array.from({ length: 10 }, () => reserved(ledger, request('0.1'))));
  const waiting = Promise.all(Array.from({ length: 5 }, () => reserved(ledger, request('0.2'))));
  await Promise.all(ids.map((id) => ledger.free(id)));
  await waiting;
  expect([sync.mock.calls.length, links.mock.calls.length]).toEqual([2, 2]);
  expect(lines().map(({ type }) => type)).toEqual([
    'budget',
    'limit',
    ...ids.map(() => 'reserved'),
    ...ids.map(() => 'freed'),
    ...Array.from({ length: 5 }, () => 'reserved'),
  ]);
});

test('the lock is not held while a disk writes: another process reserves meanwhile', async () => {
  const { path, open } = place('1');
  let written!: () => void;
  const sync = vi.spyOn(fs, 'fdatasync').mockImplementationOnce((_, done) => void (written = () => done(null)));
  syncBuiltinESMExports();
  onTestFinished(() => {
    sync.mockRestore();
    syncBuiltinESMExports();
  });
  let isOnDisk = false;
  const slow = reserved(open(), request('0.1')).then(() => (isOnDisk = true));
  await expect.poll(() => sync.mock.calls.length, { timeout: 30_000 }).toBe(1);
  await reserved(open(), request('0.1'));
  expect([isOnDisk, existsSync(`${path}.lock`)]).toEqual([false, false]);
  written();
  expect(await slow).toBe(true);
});

test('there is no survey where there is no ledger, and what cannot be opened is an error', async () => {
  const { path, open } = place();
  expect(await summarizeLedger(path, noon)).toBeUndefined();
  await open().free(await reserved(open(), request('0.1')));
  await expect(summarizeLedger(join(path, 'below'), noon)).rejects.toMatchObject({ code: 'ENOTDIR' });
});

test('the survey has the limit of the last run, what is spent in its period, and the requests of each day together', async () => {
  const { path, open, clock, lines } = place('1', 'day');
  const limits = () => lines().filter(({ type }) => type === 'limit');
  for (const amount of ['0.1', '0.2']) await open().spend(await reserved(open(), request(amount)), amount);
  clock.now += 60_000;
  await open().spend(await reserved(open(), request('0.3')), '0.3');
  expect(limits()).toEqual([{ type: 'limit', amount: '1', per: 'day' }]);
  clock.now += 24 * 3_600_000;
  await open().spend(await reserved(open(), request('0.4')), '0.4');
  expect(await summarizeLedger(path, clock.now)).toMatchObject({
    limit: { amount: '1', per: 'day' },
    currency: 'USD',
    spent: '0.4',
    sums: [
      { day: '2026-11-25', requests: 3, amount: '0.6' },
      { day: '2026-11-26', requests: 1, amount: '0.4' },
    ],
  });
  const monthly = openLedger({ path, limit: { amount: '1', per: 'month' }, now: () => clock.now });
  expect(await monthly.reserve(request('0.1'), never)).toEqual({ spent: '1' });
  expect([limits().at(-1), limits().length]).toEqual([{ type: 'limit', amount: '1', per: 'month' }, 2]);
  expect(await summarizeLedger(path, clock.now)).toMatchObject({ limit: { per: 'month' }, spent: '1' });
  const lower = openLedger({ path, limit: { amount: '0.5', per: 'month' }, now: () => clock.now });
  expect(await lower.reserve(request('0.1'), never)).toEqual({ spent: '1' });
  expect(limits().at(-1)).toEqual({ type: 'limit', amount: '0.5', per: 'month' });
  expect(await lower.left()).toEqual({ left: '0', dearest: '0.4' });
});

test('a ledger of recordings alone is compacted to its sums, and nothing else', async () => {
  const { open, lines } = place('1');
  for (const _ of [1, 2]) await open(1).save(kind, { amount: '0.1', currency: 'USD' });
  expect(lines()).toMatchObject([{ type: 'budget' }, { type: 'sum', savedRequests: 2, saved: '0.2', amount: '0' }]);
});

test('groups are sorted by their name, tags by their key, and currencies stay apart', () => {
  const one = {
    type: 'sum',
    day: '2026-11-25',
    requests: 1,
    unknown: 0,
    amount: '1',
    told: '0',
    savedRequests: 0,
    saved: '0',
  } as const;
  const models = ['m', 'z', 'a', 'm'].map((model) => ({ ...one, ...kind, model, currency: 'USD' }));
  const sums = [...models, { ...one, ...kind, currency: 'EUR', tags: { b: '1', a: '2', c: '0' } }];
  const rows = (by: Parameters<typeof groupCosts>[1]) =>
    groupCosts(sums, by).map(({ name, currency, requests }) => [name, currency, requests]);
  expect(rows('model')).toEqual([
    ['a', 'USD', 1],
    ['m', 'USD', 2],
    ['m', 'EUR', 1],
    ['z', 'USD', 1],
  ]);
  expect(rows('tag')).toEqual([
    ['', 'USD', 4],
    ['a=2 b=1 c=0', 'EUR', 1],
  ]);
  expect(rows('total')).toEqual([
    ['total', 'USD', 4],
    ['total', 'EUR', 1],
  ]);
});

test('a ledger appends nothing once another process has its lock, and goes on when that has ended', async () => {
  const { path, open, spent } = place('1');
  await open().free(await reserved(open(), request('0.1')));
  const lock = `${path}.lock`;
  // The clock is read when the lock is taken: it changes hands right then.
  const { now } = Date;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => {
    if (existsSync(lock)) {
      clock.mockRestore();
      writeFileSync(`${lock}.other`, JSON.stringify({ ...ownMark(), nonce: 'another' }));
      renameSync(`${lock}.other`, lock);
    }
    return now();
  });
  onTestFinished(() => clock.mockRestore());
  const size = statSync(path).size;
  const making = open().reserve(request('0.2'), never);
  // It asks for the time at each look at the lock.
  const looks = vi.spyOn(process.hrtime, 'bigint');
  await expect.poll(() => looks.mock.calls.length, { timeout: 30_000 }).toBeGreaterThan(5);
  looks.mockRestore();
  expect(statSync(path).size).toBe(size);
  unlinkSync(lock);
  const made = await making;
  await open().spend('id' in made ? made.id : '', '0.2');
  expect(await spent()).toBe('0.2');
});

test('a ledger whose lock is lost while it is compacted stays as it is, and no part is left', async () => {
  const { path, open, spent } = place('1');
  await open().spend(await reserved(open(), request('0.1')), '0.1');
  const before = readFileSync(path, 'utf8');
  const watcher = watch(dirname(path));
  const taken = new Promise<void>((done) =>
    watcher.on('change', (_, name) => {
      if (!String(name).endsWith('.part')) return;
      watcher.close();
      writeFileSync(`${path}.lock`, '{"host":"elsewhere","pid":7,"nonce":"n"}');
      done();
    }),
  );
  // A slow disk: the compacted file is not whole before the lock has changed hands.
  const probe = await openFile(import.meta.filename);
  await probe.close();
  const slow = vi.spyOn(Object.getPrototypeOf(probe) as FileHandle, 'datasync').mockImplementation(() => taken);
  onTestFinished(() => slow.mockRestore());
  await open(1).save(kind, { amount: '0.2', currency: 'USD' });
  expect(readFileSync(path, 'utf8').startsWith(before)).toBe(true);
  expect([await spent(), readdirSync(dirname(path)).toSorted()]).toEqual(['0.1', ['team.jsonl', 'team.jsonl.lock']]);
});

test('past its signal a cost waits three seconds for a lock, then what is reserved counts; a free lock it gets', async () => {
  const { path, open, spent } = place('1');
  const ledger = open();
  const [first, second] = [await reserved(ledger, request('0.1')), await reserved(ledger, request('0.2'))];
  await ledger.spend(first, '0.05', { signal: AbortSignal.abort() });
  expect(await spent()).toBe('0.05');
  writeFileSync(`${path}.lock`, '{"host":"elsewhere","pid":7,"nonce":"n"}\n');
  const before = readFileSync(path, 'utf8');
  let now = process.hrtime.bigint();
  const looks = vi.spyOn(process.hrtime, 'bigint').mockImplementation(() => now);
  onTestFinished(() => looks.mockRestore());
  let end: unknown;
  const ending = ledger.spend(second, '0.2', { signal: AbortSignal.abort() }).catch((error: unknown) => (end = error));
  const lookAgain = async () => {
    const { length } = looks.mock.calls;
    await expect.poll(() => looks.mock.calls.length, { timeout: 30_000 }).toBeGreaterThan(length + 5);
  };
  await lookAgain();
  now += 3_000_000_000n;
  await lookAgain();
  expect(end).toBeUndefined();
  now += 1_000_000n;
  await ending;
  expect(end).toMatchObject({
    class: 'not-written',
    message: expect.stringContaining('another process holds its lock'),
  });
  expect(readFileSync(path, 'utf8')).toBe(before);
});

test('a last line that lacks nothing but its newline counts as soon as another one follows', async () => {
  const { path, open, spent } = place('1');
  const ledger = open();
  await ledger.spend(await reserved(ledger, request('0.2')), '0.1');
  const sum = { type: 'sum', day: '2026-11-25', currency: 'USD', requests: 1, unknown: 0, amount: '0.5' };
  appendFileSync(path, JSON.stringify({ ...sum, savedRequests: 0, told: '0', saved: '0', ...kind }));
  await ledger.spend(await reserved(ledger, request('0.1')), '0.1');
  expect(await spent()).toBe('0.7');
  expect(await ledger.reserve(request('0.4'), never)).toEqual({ spent: '0.7' });
});

test.for(['{"row":1}\n', 'notes', '{"type":"budget","schema":"gateway-cli/budget@1","id":"1"}\n'])(
  'a file that is not a budget of this version stays as it is: %j',
  async (text) => {
    const { path, open } = place();
    writeFileSync(path, text);
    await expect(open(1).reserve(request('0.1'), never)).rejects.toMatchObject({
      class: 'usage',
      message: `${path} is not a budget of this version`,
      details: { hint: 'name another file for the budget' },
    });
    expect(readFileSync(path, 'utf8')).toBe(text);
  },
);

test('a file whose header a crash cut goes on', async () => {
  const { path, open, spent } = place();
  writeFileSync(path, '{"type":"budget","sch');
  for (const _ of [1, 2]) await open().spend(await reserved(open(), request('0.1')), '0.1');
  expect(await spent()).toBe('0.2');
});

test('a budget that is a symbolic link is refused as such', async () => {
  const { path, open } = place();
  symlinkSync('elsewhere.jsonl', path);
  await expect(open().reserve(request('0.1'), never)).rejects.toThrow('it is a symbolic link');
});

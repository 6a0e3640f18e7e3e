import { expect, test } from 'vitest';
import { applyRecord, isCovered, newFold, settleRun } from '../../../src/batch/folder/fold.ts';
import { manifestLine, readManifestHead, readSlotName } from '../../../src/batch/folder/manifest.ts';
import type { SlotRecord } from '../../../src/batch/folder/records.ts';
import { Slots } from '../../../src/batch/folder/slots.ts';

const keyOf = (at: number): string => `f${at.toString(16).padStart(7, '0')}`.repeat(4);

function foldOf(...records: (SlotRecord | Record<string, unknown>)[]) {
  const fold = newFold();
  for (const record of records) applyRecord(record as SlotRecord, fold);
  return fold;
}

test('finds each of many slots again, by key and number', () => {
  const slots = new Slots();
  for (let at = 0; at < 20_000; at++) slots.add(keyOf(at % 15_000), at < 15_000 ? 1 : 2);
  expect(slots.size).toBe(20_000);
  const isWrong = Array.from({ length: 15_000 }, (_, at) => at).filter(
    (at) => slots.find(keyOf(at)) !== at || slots.find(keyOf(at), 2) !== (at < 5000 ? at + 15_000 : -1),
  );
  expect(isWrong).toEqual([]);
  expect(slots.nameOf(15_001)).toBe(`${keyOf(1)}-2`);
  expect(slots.findNamed(`${keyOf(1)}-2`)).toBe(15_001);
  expect(slots.listSame(1)).toEqual([1, 15_001]);
});

test('the second slot of a key brings its first one with it', () => {
  const slots = new Slots();
  expect(slots.addNamed(`${keyOf(1)}-3`)).toBe(1);
  expect(slots.listSame(0)).toEqual([0, 1]);
});

test('a name that is none is refused: to pass over a record could pay twice', () => {
  for (const slot of [
    '',
    'x',
    keyOf(1).toUpperCase(),
    `${keyOf(1)}-`,
    `${keyOf(1)}-1`,
    `${keyOf(1)}x2`,
    keyOf(1).slice(1),
  ])
    expect(() => foldOf({ t: 'sent', slot }), slot).toThrow(RangeError);
  expect(() => foldOf({ t: 'later' })).toThrow('no record: later');
});

test('what was ready did not go out, unless the machine went down since', () => {
  const states = ['a', 'b', undefined].map((boot) => {
    const fold = foldOf({ t: 'run', boot: 'a' }, { t: 'ready', slots: [keyOf(1)] });
    settleRun(fold, boot);
    return fold.slots.stateOf(0);
  });
  expect(states).toEqual(['pending', 'sent', 'sent']);
});

test('a try to replace an answer that fails, or has no end, leaves the answer', () => {
  const done = { t: 'incomplete', slot: keyOf(1), off: 0, len: 10 } as const;
  const again = { t: 'redo', slots: [keyOf(1)] } as const;
  const failed = foldOf(done, again, { t: 'failed', slot: keyOf(1), off: 10, len: 5 });
  expect([failed.slots.stateOf(0), failed.slots.placeOf(0)]).toEqual(['incomplete', { off: 0, len: 10 }]);
  const unknown = foldOf(done, again, { t: 'unknown', slot: keyOf(1), off: 10, len: 5 });
  expect([unknown.slots.stateOf(0), unknown.slots.placeOf(0)]).toEqual(['sent', { off: 0, len: 10 }]);
  expect([failed.slots.generationOf(0), unknown.slots.generationOf(0)]).toEqual([1, 1]);
});

test('a choice ends the run before, and what that left of its slot', () => {
  const done = { t: 'done', slot: keyOf(1), off: 0, len: 10 } as const;
  const again = { t: 'redo', slots: [keyOf(1), keyOf(2)] } as const;
  const ready = { t: 'ready', slots: [keyOf(1), keyOf(2)] } as const;
  const states = ['a', 'b'].map((boot) => {
    const run = { t: 'run', boot: 'a' };
    const { slots } = foldOf(
      run,
      done,
      again,
      ready,
      { t: 'choose', slot: keyOf(1), answer: 1, boot },
      { t: 'run', boot },
    );
    return [slots.stateOf(0), slots.stateOf(1), slots.generationOf(0)];
  });
  expect(states).toEqual([
    ['done', 'pending', 1],
    ['done', 'sent', 1],
  ]);
});

test('knows which bytes of the results have an end, whatever the order of the ends', () => {
  const fold = foldOf(
    { t: 'done', slot: keyOf(1), off: 10, len: 10 },
    { t: 'done', slot: keyOf(2), off: 30, len: 10 },
    { t: 'done', slot: keyOf(3), off: 0, len: 10 },
  );
  expect(fold.covered.end).toBe(20);
  expect([0, 20, 30].map((off) => isCovered(off, fold))).toEqual([true, false, true]);
});

test('a provider batch that was dropped leaves its slots as they were; one that was lost may be billed', () => {
  const failed = { t: 'failed', slot: keyOf(1), off: 0, len: 1 };
  const created = [
    { t: 'batch', mark: 'm', step: 'planned', slots: [keyOf(1)], plan: { origin: 'https://a' } },
    { t: 'batch', mark: 'm', step: 'creating' },
  ];
  const open = foldOf(failed, ...created);
  expect([open.slots.stateOf(0), open.atService.has(0)]).toEqual(['sent', true]);
  const dropped = foldOf(failed, ...created, { t: 'batch', mark: 'm', step: 'dropped' });
  expect([dropped.slots.stateOf(0), dropped.atService.size]).toEqual(['failed', 0]);
  const lost = foldOf(failed, ...created, { t: 'batch', mark: 'm', step: 'lost' });
  expect([lost.slots.stateOf(0), lost.atService.size, lost.providerBatches.size]).toEqual(['sent', 0, 0]);
});

test('a slot that failed in a provider batch, and is in a later one, waits for that alone', () => {
  const planned = (mark: string): Record<string, unknown>[] => [
    { t: 'batch', mark, step: 'planned', slots: [keyOf(1)], plan: { origin: 'https://a' } },
    { t: 'batch', mark, step: 'creating' },
  ];
  const failed = { t: 'failed', slot: keyOf(1), off: 0, len: 1 };
  const fold = foldOf(...planned('m'), failed, ...planned('n'), { t: 'batch', mark: 'm', step: 'ended' });
  expect([fold.slots.stateOf(0), fold.atService.get(0)]).toEqual(['sent', 'n']);
});

test('the head of a manifest line is read without its variables', () => {
  const row = {
    slot: `${keyOf(1)}-2`,
    id: 'a "b" \\ ü',
    numbered: true as const,
    key: keyOf(2),
    line: 3,
    vars: { x: '}' },
  };
  const line = manifestLine(row);
  expect(readSlotName(line)).toBe(row.slot);
  expect(readManifestHead(line)).toEqual({ slot: row.slot, id: row.id, numbered: true, key: row.key });
  expect(readManifestHead(manifestLine({ slot: keyOf(1), id: '1' }))).toEqual({ slot: keyOf(1), id: '1' });
  expect(readManifestHead('{"manifest":1}')).toBeUndefined();
});

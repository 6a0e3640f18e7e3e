import { expect, it } from 'vitest';
import { createShelf } from '../../src/gateway/shelf.ts';

it('a shelf keeps the newest thousand, and drops the oldest', () => {
  const shelf = createShelf<{ id: string }>();
  for (let number = 0; number <= 1000; number++) shelf.add({ id: String(number) });
  expect([shelf.find('0'), shelf.find('1'), shelf.list().length]).toEqual([undefined, { id: '1' }, 1000]);
  expect(shelf.list()[0]).toEqual({ id: '1000' });
});

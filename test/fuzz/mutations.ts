/** Random numbers that a seed brings back. */
export interface Dice {
  /** 0 ≤ n < limit, whole. */
  below(limit: number): number;
  pick<T>(list: readonly T[]): T;
}

/** A small generator with 32 bits of state (mulberry32). */
export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return { below, pick: (list) => list[below(list.length)] as (typeof list)[number] };
}

type Mutation = (bytes: Buffer, dice: Dice, other: Buffer) => Buffer;

const words = [
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  '\\u0000',
  '\n\n',
  '\r',
  'data: ',
  'event: error\n',
  ':',
  'null',
  '-1e999',
  '=',
  '\u0000',
  '\uFEFF',
];

const flipBits: Mutation = (bytes, dice) => {
  const flipped = Buffer.from(bytes);
  for (let flips = 1 + dice.below(8); flips > 0 && flipped.length > 0; flips--) {
    const at = dice.below(flipped.length);
    flipped[at] = (flipped[at] as number) ^ (1 << dice.below(8));
  }
  return flipped;
};

const cutEnd: Mutation = (bytes, dice) => bytes.subarray(0, dice.below(bytes.length + 1));

const remove: Mutation = (bytes, dice) => {
  const [from, to] = range(bytes, dice);
  return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
};

const repeat: Mutation = (bytes, dice) => {
  const [from, to] = range(bytes, dice);
  return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]);
};

const splice: Mutation = (bytes, dice, other) => {
  const [from, to] = range(other, dice);
  const at = dice.below(bytes.length + 1);
  return Buffer.concat([
    bytes.subarray(0, at),
    other.subarray(from, to),
    bytes.subarray(at + dice.below(to - from + 1)),
  ]);
};

const insert: Mutation = (bytes, dice) => {
  const at = dice.below(bytes.length + 1);
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(dice.pick(words)), bytes.subarray(at)]);
};

const mutations = [flipBits, cutEnd, remove, repeat, splice, insert];

/** One to four mutations on top of each other. */
export function mutate(bytes: Buffer, dice: Dice, other: Buffer): Buffer {
  let mutated = bytes;
  for (let count = 1 + dice.below(4); count > 0; count--) mutated = dice.pick(mutations)(mutated, dice, other);
  return mutated;
}

/** Pieces as a network might deliver them. */
export function pieces(bytes: Buffer, dice: Dice): Buffer[] {
  const cuts = Array.from({ length: dice.below(6) }, () => dice.below(bytes.length + 1)).toSorted((a, b) => a - b);
  return [...cuts, bytes.length]
    .map((end, index) => bytes.subarray(cuts[index - 1] ?? 0, end))
    .filter((piece) => piece.length > 0);
}

function range(bytes: Buffer, dice: Dice): [number, number] {
  const from = dice.below(bytes.length + 1);
  const longest = dice.pick([4, 64, 4096]);
  return [from, Math.min(bytes.length, from + dice.below(longest + 1))];
}

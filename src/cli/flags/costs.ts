import { amount, type FlagTable, oneOf, tag } from './flag.ts';
import { settingFlags } from './shared.ts';

/** Prices, and the lane, which decides the price. */
export const priceFlags = {
  ...settingFlags('costs'),
  laneFallback: {
    flags: '--lane-fallback <lane>',
    text: 'with --lane flex: live sends at full price what the service stays too busy for',
    parse: oneOf(['live']),
    values: ['live'],
    advanced: true,
  },
  tag: {
    flags: '--tag <key=value>',
    text: 'write this into the ledger of the budget, and into the result',
    parse: tag,
    repeat: true,
    advanced: true,
  },
} satisfies FlagTable;

/** A limit of costs; each command has its own text. */
export const maxCost = { flags: '--max-cost <amount>', parse: amount } as const;

import { usageError } from '../../errors.ts';
import { type FlagTable, notAFlag } from './flag.ts';
import { imageFlags } from './format.ts';
import { outputFlags } from './shared.ts';
import { whole } from './values.ts';

/** `batch run` alone. */
export const batchFlags = {
  output: { flags: '-o, --output <dir>', text: 'folder for results, images and journal', parse: notAFlag },
  prompts: {
    flags: '--prompts <path|->',
    text: 'instead of jobs: a file with one prompt a line',
    parse: (word, name) => notAFlag(word, name, 'gateway-cli batch --prompts prompts.txt -o out'),
  },
  defaults: { flags: '--defaults <json|path>', text: 'keys of jobs that do not say otherwise' },
  concurrency: { flags: '--concurrency <n>', text: 'requests under way at once (4)', parse: whole(1, 512) },
  rate: { flags: '--rate <n/unit>', text: 'at most so many requests: 5/s, 100/m, 2000/h', parse: parseRate },
  shard: { flags: '--shard <i/n>', text: "this machine's share, from 1; auto and auto/n ask the engine" },
  retryFailed: { flags: '--retry-failed', text: 'send failed jobs again' },
  retryUnknown: { flags: '--retry-unknown', text: 'send jobs again that may have been billed' },
  acceptChanges: { flags: '--accept-changes', text: 'send edited jobs again' },
  failFast: { flags: '--fail-fast', text: 'take no further job after the first failure' },
  maxFailures: { flags: '--max-failures <n>', text: 'take no further job after so many failures', parse: whole(1) },
  maxTokensTotal: {
    flags: '--max-tokens-total <n>',
    text: 'take no further job once so many tokens are used',
    parse: whole(1),
  },
  ordered: { flags: '--ordered', text: 'results in the order of the jobs' },
  maxImages: imageFlags.maxImages,
  strict: { ...imageFlags.strict, text: 'a picture that is not of the asked shape fails its job' },
  requireComplete: {
    ...outputFlags.requireComplete,
    text: 'an answer that a limit cut, or that may not be whole, fails its job',
  },
  dryRun: { ...outputFlags.dryRun, text: 'check all jobs and say what would be sent' },
} satisfies FlagTable;

/** `batch gallery` alone. */
export const galleryFlags = {
  embed: { flags: '--embed', text: 'small pictures in the page itself, which then needs no file beside it' },
} satisfies FlagTable;

/** `batch merge` alone. */
export const mergeFlags = {
  output: { flags: '-o, --output <dir>', text: 'folder for all of it, new or empty', parse: notAFlag },
} satisfies FlagTable;

const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, min: 60_000, h: 3_600_000 };

/** Reads `--rate`: `5/s`, `100/m`, `2000/h`. Returns the ms between two requests. Throws GatewayError usage. */
export function parseRate(word: string): number {
  const match = /^(\d{1,9}(?:\.\d{1,6})?)\/(s|m|min|h)$/.exec(word.trim());
  const count = Number(match?.[1]);
  const unitMs = units[match?.[2] ?? ''];
  if (unitMs !== undefined && count > 0) return unitMs / count;
  throw usageError(`--rate takes <n>/<s|m|h>, not '${word.slice(0, 40)}'`, 'for example: --rate 60/m');
}

import { join } from 'node:path';
import { summarizeLedger } from '../../../src/library/cost/ledger-sums.ts';
import { childProgram } from '../start-child.ts';
import { createFolder, manyJobs } from '../with-batch.ts';
import { type ApiName, startBatchServer } from './batch-server.ts';
import { prices } from './with-lane.ts';

const jobCount = 12;

/** Moments before, during and after creation, upload, polling and download; a number is that of the time. */
export const moments = [
  ['part-planned', '1'],
  ['part-uploaded', '1'],
  ['part-creating', '1'],
  ['part-sent', '1'],
  ['part-answered', '1'],
  ['part-created', '1'],
  ['part-polled', '1'],
  ['part-polled', '2'],
  ['part-downloaded', '1'],
  ['result-written', '1'],
  ['result-written', '7'],
  ['result-synced', '3'],
  ['ended-written', '5'],
  ['ended-synced', '12'],
  ['part-ended', '1'],
] as const;

/** What became of a batch that was killed and went on. */
export interface Facts {
  killed: unknown;
  code: unknown;
  /** How often each prompt was submitted. */
  submitted: number[];
  /** `id: text` of each result. */
  results: string[];
  summary: unknown;
  /** What the budget has spent, and what it still holds. */
  budget: { spent: string | undefined; inFlight: string | undefined };
  /** Its batch was not created, which only the user could know. */
  isUncertain: boolean;
}

/** No job was submitted twice, lost, or joined to the answer of another, and the budget counts each once. */
const paidOnce = {
  killed: 'SIGKILL',
  code: 0,
  submitted: Array.from({ length: jobCount }, () => 1),
  results: Array.from({ length: jobCount }, (_, at) => `p${at + 1}: answer to p${at + 1}`).toSorted(),
  summary: { done: jobCount, failed: 0, unknown: 0, pending: 0 },
  budget: { spent: '0.000138', inFlight: '0' },
};

/** As `paidOnce`; a batch that the user gave up counts in the budget, since it may have been billed. */
export function expectedOf({ isUncertain }: Facts): object {
  return isUncertain ? { ...paidOnce, budget: { inFlight: '0' } } : paidOnce;
}

/** Kills a run at one moment, and starts another one after it. */
export async function killAndGoOn(
  api: ApiName,
  [step, nth]: readonly [string, string],
  before: readonly string[] = [],
): Promise<Facts> {
  const start = await program;
  const server = await startBatchServer(api);
  const folder = createFolder();
  folder.write('config.json', `{"prices":${prices}}`);
  const config = join(folder.cwd, 'config.json');
  const env = { GATEWAY_FORMAT: api, GATEWAY_CONFIG: config, GATEWAY_BUDGET: './team.jsonl:1' };
  try {
    folder.jobs(...manyJobs(jobCount));
    const killed = await start(folder, server, { argv: [step, nth, 'lane'], env }).ended;
    let code = await start(folder, server, { argv: ['none', '1', 'lane'], env, before }).ended;
    const isUncertain = code === 8 && server.batches.length === 0;
    // A batch that may exist is created again only at the user's word.
    if (isUncertain) code = await start(folder, server, { argv: ['none', '1', 'lane', 'unknown'], env, before }).ended;
    const results = folder.lines('results.jsonl').map(({ id, text }) => `${String(id)}: ${String(text)}`);
    const [summary] = folder.lines('summary.json');
    const { spent, inFlight } = (await summarizeLedger(join(folder.cwd, 'team.jsonl'), Date.now())) ?? {};
    const submitted = [...server.counts.values()];
    return { killed, code, submitted, results: results.toSorted(), summary, budget: { spent, inFlight }, isUncertain };
  } finally {
    await server.close();
  }
}

const program = childProgram();

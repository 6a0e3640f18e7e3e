import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { summarizeLedger } from '../../src/library/cost/ledger-sums.ts';
import { bootMark } from '../../src/library/files/process-mark.ts';
import type { Batch, BatchServer } from '../batch/lane/batch-server.ts';
import { jsonLines } from '../helpers/json-lines.ts';
import { goOn, type Place, recordChanges } from './campaign.ts';
import { applyChanges, filesAfter, losses } from './disk.ts';
import type { Change } from './shim.ts';
import { type Payee, png, type Task, tasks } from './tasks.ts';

/** What must be so when a run goes on after the power failed. */
interface Restart {
  place: Place;
  payee: Payee;
  /** The requests that went out before. */
  sent: readonly string[];
  /** The files as far as they were synced. */
  sure: ReadonlyMap<string, Buffer>;
}

type Judge = (restart: Restart) => Promise<void>;

/** The ids of results. Their file is a log: the last line of a slot counts, and what the power took of a line stays as zeros. */
function idsOf(results: Buffer | undefined): string[] {
  const text = results?.toString().replaceAll('\0', '').trim() ?? '';
  if (text === '') return [];
  const lines = jsonLines<{ slot: string; id: string }>(text);
  return [...new Map(lines.map(({ slot, id }) => [slot, id])).values()];
}

function resultsIn(cwd: string): Map<string, number> {
  const counts = new Map<string, number>();
  const path = join(cwd, 'out/results.jsonl');
  for (const id of existsSync(path) ? idsOf(readFileSync(path)) : []) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

const prompts = { one: 'a', two: 'b', draw: 'c' };

const judges: Record<string, Judge> = {
  async batch({ place, payee, sent, sure }) {
    for (const body of sent)
      for (const prompt of Object.keys(prompts))
        if (body.includes(`"text":"${prompt}"`)) payee.counts.set(prompt, (payee.counts.get(prompt) ?? 0) + 1);
    const kept = idsOf(sure.get('out/results.jsonl'));
    const again = await place.run();
    expect([0, 13].includes(again.code ?? -1) ? '' : again.stderr).toBe('');
    // Whatever was lost, nothing goes out a second time without a word of the user.
    for (const [prompt, count] of payee.counts) expect([prompt, count]).toEqual([prompt, 1]);
    const known = resultsIn(place.cwd);
    for (const id of kept) expect([id, known.get(id)]).toEqual([id, 1]);
    const last = await place.run(['--retry', 'unknown']);
    expect([last.code, last.stderr]).toEqual([0, last.stderr]);
    expect([...resultsIn(place.cwd)].toSorted()).toEqual(Object.values(prompts).map((id) => [id, 1]));
    for (const [prompt, id] of Object.entries(prompts))
      if (kept.includes(id)) expect([prompt, payee.counts.get(prompt)]).toEqual([prompt, 1]);
    expect(readFileSync(join(place.cwd, 'out/images/c.png')).equals(png)).toBe(true);
  },
  async 'batch --lane batch'({ place, payee, sent, sure }) {
    const { batches } = payee as BatchServer;
    batches.length = 0;
    const created = sent.find((text) => text.includes('"requests":['));
    if (created !== undefined) {
      const body = JSON.parse(created.slice(created.indexOf('{"requests"'))) as {
        requests: { custom_id: string; params: { messages: { content: string }[] } }[];
      };
      const entries = body.requests.map(({ custom_id: key, params }) => {
        const content = params.messages[0]?.content;
        const prompt = typeof content === 'string' ? content : JSON.stringify(content);
        payee.counts.set(prompt, 1);
        return { key, prompt, body: params };
      });
      const batch: Batch = {
        id: 'msgbatch_1',
        name: undefined,
        entries,
        polls: 0,
        state: 'running',
        at: 1_700_000_000,
      };
      batches.unshift(batch);
    }
    const kept = idsOf(sure.get('out/results.jsonl'));
    const again = await place.run();
    for (const [prompt, count] of payee.counts) expect([prompt, count]).toEqual([prompt, 1]);
    const known = resultsIn(place.cwd);
    for (const id of kept) expect([id, known.get(id)]).toEqual([id, 1]);
    const last = again.code === 0 ? again : await place.run(['--retry', 'unknown']);
    expect([last.code, last.stderr]).toEqual([0, last.stderr]);
    expect([...resultsIn(place.cwd)].toSorted()).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    for (const [prompt, count] of payee.counts) expect([prompt, count]).toEqual([prompt, 1]);
  },
  async chat({ place, sure }) {
    const path = 'state/gateway-cli/sessions/trip.jsonl';
    const kept = jsonLines(sure.get(path)?.toString() ?? '').length;
    expect(await place.run()).toMatchObject({ code: 0, stdout: 'Hello there\n' });
    const turns = jsonLines(readFileSync(join(place.cwd, path), 'utf8')).length;
    expect(turns).toBeGreaterThanOrEqual(kept + 2);
    expect([4, 6]).toContain(turns);
  },
  async budget({ place, sent }) {
    const path = join(place.cwd, 'team.jsonl');
    const { spent, inFlight } = (await summarizeLedger(path, Date.now())) ?? {};
    const paid = sent.filter((text) => text.includes('"text":"hi"')).length;
    expect(Number(spent) + Number(inFlight) - 0.5).toBeGreaterThanOrEqual(paid * 0.000_023 - 1e-9);
    expect(await place.run()).toMatchObject({ code: 0, stdout: 'answer to hi\n' });
    const after = (await summarizeLedger(path, Date.now())) ?? { spent: '0' };
    expect(Number(after.spent)).toBeGreaterThanOrEqual(Number(spent));
  },
  async 'config set'({ place }) {
    const config = JSON.parse(readFileSync(join(place.cwd, 'config.json'), 'utf8')) as object;
    expect([{ text: 'm' }, { text: 'other' }]).toContainEqual(
      (config as { profiles: { default: { models: object } } }).profiles.default.models,
    );
    expect((await place.run()).code).toBe(0);
  },
};

export const restarted = Object.keys(judges);

interface Campaign {
  task: Task;
  judge: Judge;
  payee: Payee;
  isSample: boolean;
}

/**
 * Lets the power fail after each change of a run, in every way; returns the number of states and what is wrong. A sample: in the
 * middle of it, in some ways.
 */
export async function cutPower(name: string, isSample: boolean): Promise<{ states: number; wrong: string[] }> {
  const task = tasks[name];
  const judge = judges[name];
  if (!task || !judge) throw new Error(`no task ${name}`);
  const payee = await task.serve();
  try {
    return await judgeLosses({ task, judge, payee, isSample });
  } finally {
    await payee.close();
  }
}

async function judgeLosses({ task, judge, payee, isSample }: Campaign): Promise<{ states: number; wrong: string[] }> {
  const { before, changes } = await recordChanges(task, payee);
  const seen = new Set<string>();
  const wrong: string[] = [];
  for (let after = 0; after <= changes.length; after++) {
    if (isSample && after !== changes.length >> 1) continue;
    const disk = applyChanges(before, changes.slice(0, after));
    const sent = sentIn(changes.slice(0, after));
    const sure = filesAfter(disk, before, { label: '', keep: () => ({ edits: 0 }) });
    for (const [way, loss] of [...losses(disk)].entries()) {
      if (isSample && way % 5 !== 0) continue;
      const files = bootAgain(filesAfter(disk, before, loss));
      const state = stateOf(files, sent);
      if (seen.has(state)) continue;
      seen.add(state);
      try {
        await goOn(task, files, { payee, work: (place) => judge({ place, payee, sent, sure }) });
      } catch (error) {
        wrong.push(
          `after ${after} of ${changes.length} (${changes[after - 1]?.kind} ${changes[after - 1]?.path}), ${loss.label}: ${String(error instanceof Error ? error.message : error)}`,
        );
      }
    }
  }
  return { states: seen.size, wrong };
}

/** Texts of the requests; one can be sent in several parts. */
function sentIn(changes: readonly Change[]): string[] {
  return changes
    .flatMap(({ kind, data = '' }) => (kind === 'send' ? [data] : []))
    .join('')
    .split(/(?=(?:POST|GET) \/\S+ HTTP)/);
}

/** The machine was started again since. */
function bootAgain(files: Map<string, Buffer>): Map<string, Buffer> {
  const boot = bootMark();
  if (boot === undefined) return files;
  const other = boot.replace(/^./, (digit) => (digit === '0' ? '1' : '0'));
  const again = (bytes: Buffer): Buffer => Buffer.from(bytes.toString('latin1').replaceAll(boot, other), 'latin1');
  return new Map([...files].map(([path, bytes]) => [path, again(bytes)]));
}

function stateOf(files: ReadonlyMap<string, Buffer>, sent: readonly string[]): string {
  const hash = createHash('sha256').update(sent.join('\n'));
  for (const [path, bytes] of [...files].toSorted()) hash.update(`\n${path} ${bytes.length}\n`).update(bytes);
  return hash.digest('hex');
}

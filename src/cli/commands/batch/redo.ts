import { isMoved, listAwaited, nameSome, type RowTable } from '../../../batch/index.ts';
import type { Context } from '../../context.ts';
import { type GatewayError, shellWord, usageError } from '../../../library/index.ts';
import type { RunningBatch } from './batch.ts';
import { collectCommand, joinIds, toOperands } from './next-command.ts';
import {
  findRenumbered,
  type FoundRow,
  listManifestRows,
  noRowError,
  numberOf,
  openRowNames,
  otherRowError,
  readRowNames,
  type RowNames,
} from './row-names.ts';

/** Finds the jobs of `--redo` in a file, in whose folder other runs may have been. */
export function openRedo(
  typed: readonly string[],
  { jobs, host, outdir, state }: Pick<RunningBatch, 'jobs' | 'host' | 'outdir' | 'state'>,
) {
  const names = openRowNames(typed.flatMap((word) => [word, ...word.split(',')]));
  /** Reads a word as one id, or as names of rows joined by commas. */
  async function readWord(word: string): Promise<readonly string[]> {
    const parts = word.split(',');
    const unknown = parts.find((part) => names.find(part).length === 0);
    const isId = parts.length > 1 && names.find(word).length > 0;
    if (isId && unknown === undefined) throw twoReadingsError(word, [[word], parts], names);
    if (isId) return [word];
    if (unknown !== undefined)
      throw await noRowError(
        unknown,
        jobs.name,
        jobs.read(() => undefined),
      );
    return parts;
  }
  return {
    see: names.see,
    /** The rows of the words. Throws GatewayError usage for a word that names none, or another one than in the last run. */
    async find(table: RowTable): Promise<readonly FoundRow[]> {
      const words = (await Promise.all(typed.map(readWord))).flat();
      const found = words.flatMap((word) => names.find(word));
      if (state.run !== undefined && found.some(({ isByNumber }) => isByNumber)) await requireSameRows(words, table);
      return [...new Map(found.map((row) => [row.place, row])).values()];
    },
  };

  /** Throws GatewayError usage for a number that is another row in the file now. A row that was edited in its place is the same one. */
  async function requireSameRows(words: readonly string[], table: RowTable): Promise<void> {
    const before = await readRowNames(words, listManifestRows(outdir));
    for (const row of findRenumbered(words, before, names)) {
      const { was, is, haveIds } = row;
      const tables = { before: state.manifest.rows, now: table };
      if (is !== undefined && !haveIds && !isMoved(was.place, is.place, tables)) continue;
      const byId =
        haveIds &&
        is &&
        `name it by its id: ${toOperands([was.id])}; or, for the row that it is now: ${toOperands([is.id])}`;
      throw otherRowError(row, jobs.name, byId || takeTableHint(host.nextCommand('retry')));
    }
  }
}

/** The error for a word that names rows in two ways, as an id has a comma: either could be paid for. */
function twoReadingsError(word: string, readings: readonly (readonly string[])[], names: RowNames): GatewayError {
  const told = readings.map((ids) => nameSome(ids.map((id) => JSON.stringify(id))));
  const numbers = readings.map((ids) => ids.flatMap(names.find).map(numberOf).join(','));
  return usageError(
    `${JSON.stringify(word)} can be read in two ways: as ${told.join(', or as ')}`,
    names.takesNumbers()
      ? `name the rows by their numbers: ${numbers.join(', or ')}`
      : 'give the rows ids without a comma: another id of a row is free',
  );
}

/**
 * Tells of named rows that other shards have, as this run leaves them. Throws GatewayError usage if the command makes nothing but
 * named rows, and all are of other shards.
 */
export async function noteOtherShards(
  rows: readonly FoundRow[],
  { folder, plan, shard, policy, state }: Pick<RunningBatch, 'folder' | 'plan' | 'policy' | 'shard' | 'state'>,
  { ui }: Context,
): Promise<void> {
  const others = rows.filter(({ place }) => !plan.isOwn(place));
  const [first] = others;
  if (shard === undefined || first === undefined) return;
  const [own, other] = [`${shard.index}/${shard.total}`, `${plan.shardOf(first.place)}/${shard.total}`];
  const names = nameSome(others.map(({ id, place }) => `${id} of ${plan.shardOf(place)}/${shard.total}`));
  const had = state.manifest.header?.shard;
  const isHere = had === undefined || `${had.index}/${had.total}` === other;
  const outdir = isHere && folder ? shellWord(folder.outdir) : '<outdir>';
  const ids = others.filter(({ place }) => plan.shardOf(place) === plan.shardOf(first.place)).map(({ id }) => id);
  const next = `in the folder of ${other}: gateway-cli batch redo ${outdir} --shard ${other} ${toOperands([joinIds(ids).word])}`;
  const what = `shard ${own} does not have ${names}`;
  if (policy.onlyNamed && others.length === rows.length) throw usageError(what, next);
  await ui.warn(`${what}; ${next}`);
}

/** Throws GatewayError usage for a row that the service holds, and that no run named before: what it makes is to come first. */
export function requireCollected(
  named: readonly FoundRow[],
  { folder, plan: { records, table }, state: { atService } }: Pick<RunningBatch, 'folder' | 'plan' | 'state'>,
): void {
  // The same command goes on with what it began.
  if (!records.some((record) => record.t === 'redo' && record.rows !== undefined)) return;
  const ids = named.filter(({ place }) => atService.has(table.slots[place] as number)).map(({ id }) => id);
  if (ids.length === 0) return;
  throw usageError(
    `${nameSome(ids)} ${ids.length === 1 ? 'is' : 'are'} at the service`,
    `to collect the ${ids.length === 1 ? 'answer' : 'answers'} first: ${collectCommand(folder)}`,
  );
}

/** Throws GatewayError usage for a named row that would wait: it uses one that has no answer, and is neither named nor sent. */
export function requireUsed(
  named: readonly FoundRow[],
  { host, plan, state }: Pick<RunningBatch, 'host' | 'plan' | 'state'>,
): void {
  const isNamed = new Set(named.map(({ place }) => place));
  const waiting = new Set(plan.waiting.filter((place) => isNamed.has(place)));
  const used = new Map<number, string>();
  // The set grows while it is walked.
  for (const place of waiting)
    for (const parent of listAwaited(place, plan, state)) {
      waiting.add(parent.place);
      if (!isNamed.has(parent.place)) used.set(parent.place, parent.id);
    }
  if (used.size === 0) return;
  const ids = named.filter(({ place }) => waiting.has(place)).map(({ id }) => id);
  const all = [...used.values(), ...named.map(({ id }) => id)];
  const [together, first] = [joinIds(all), joinIds([...used.values()])];
  // Where one command cannot name them all, a part of them would be refused again, or left.
  const advice =
    together.count === all.length
      ? `name these as well: ${host.nextCommand('redo', { operand: together.word })}`
      : `make these before: ${host.nextCommand('redo', { operand: first.word })}`;
  throw usageError(
    `${nameSome(ids)} ${ids.length === 1 ? 'uses' : 'use'} ${nameSome([...used.values()])}, whose answer does not come in this run`,
    advice,
  );
}

/** What to do where a number is another row of the file by now. */
function takeTableHint(retry: string): string {
  return `put the file back; or take it as it is now: ${retry}  # what failed is sent again`;
}

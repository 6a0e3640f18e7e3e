import { closest, type GatewayError, usageError } from '../../library/index.ts';
import type { BatchState } from '../folder/state.ts';
import { type BatchJobs, type JobParent, jobProducts, type JobUse } from '../types.ts';
import type { BatchPlan } from './plan.ts';
import { type AnswerUse, hashRowId, isThere, type RowTable } from './table.ts';

/** A row that uses others, before the others are known. */
export interface NamingRow {
  place: number;
  id: string;
  line: number;
  uses: readonly JobUse[];
  /** The key of the row's question, whatever names the others have. */
  key: string;
}

/** The rows of the file, which others can name. */
interface KnownRows {
  table: RowTable;
  jobs: Pick<BatchJobs, 'name' | 'read' | 'requireUsable'>;
}

/**
 * Finds the rows that others name, anywhere in the file. Mistakes go to `onFault` as GatewayError usage: a name of no row, a use
 * that the row does not make, a circle.
 */
export async function resolveLinks(
  naming: readonly NamingRow[],
  rows: KnownRows,
  onFault: (error: unknown) => void,
): Promise<void> {
  const { table, jobs } = rows;
  const places = findPlaces(
    naming.flatMap(({ id, uses }) => uses.flatMap(({ name }) => listIdsFor(name, id))),
    table,
  );
  const found: (NamingRow & { parents: JobParent[] })[] = [];
  for (const row of naming)
    try {
      const parents: JobParent[] = [];
      for (const use of row.uses) parents.push(await findParent(use, row, { ...rows, places }));
      found.push({ ...row, parents });
    } catch (error) {
      onFault(error);
    }
  const circle = linkRows(table, found);
  if (circle.length > 0) onFault(circleError(circle, found, jobs.name));
}

/** The row that another one names. Throws GatewayError usage. */
async function findParent(
  use: JobUse,
  { id: own, line }: NamingRow,
  { jobs, places, table }: KnownRows & { places: ReadonlyMap<number, number> },
): Promise<JobParent> {
  for (const id of listIdsFor(use.name, own)) {
    const place = places.get(hashRowId(id));
    if (place === undefined) continue;
    jobs.requireUsable(use, jobProducts[table.products[place] as number] ?? 'any', `${jobs.name}:${line}`);
    return { ...use, id, place };
  }
  const near = closest(use.name, await listFirstIds(jobs));
  const hint =
    near === undefined
      ? 'name the id of another job; a file whose name begins with @ is ./@…'
      : `did you mean: @${near}`;
  throw usageError(`${jobs.name}:${line}: @${use.name} names no job of ${jobs.name}`, hint);
}

function circleError(circle: readonly number[], found: readonly NamingRow[], name: string): GatewayError {
  const rows = new Map(found.map((row) => [row.place, row]));
  const inCircle = circle.flatMap((place) => rows.get(place) ?? []);
  const ids = [...inCircle, ...inCircle.slice(0, 1)].map(({ id }) => id).join(' → ');
  const what = `jobs wait for each other in a circle: ${ids}`;
  return usageError(`${name}:${inCircle[0]?.line}: ${what}`, 'take one of these names out');
}

/**
 * Links rows to the rows that they use. Returns the places of rows that wait for each other in a circle, in its order; of the first
 * circle if there are several.
 */
export function linkRows(
  table: RowTable,
  rows: readonly { place: number; key: string; parents: readonly JobParent[] }[],
): number[] {
  for (const { place, key, parents } of rows) {
    table.links.set(place, { key, parents: parents.map((parent) => parent.place), uses: [], asks: '' });
    table.jobParents.set(place, parents);
  }
  const { levels, rest } = partLevels(table.links);
  table.levels = levels;
  return findCircle(rest, table.links);
}

/** Parts rows so that each comes after the rows that it uses. `rest`: rows that wait for each other, and rows that wait for these. */
export function partLevels(links: RowTable['links']): { levels: number[][]; rest: ReadonlySet<number> } {
  const rest = new Set(links.keys());
  const waitsFor = new Map<number, number>();
  const childrenOf = new Map<number, number[]>();
  for (const [place, { parents }] of links) {
    const linked = parents.filter((parent) => links.has(parent));
    waitsFor.set(place, linked.length);
    for (const parent of linked) {
      const children = childrenOf.get(parent) ?? [];
      children.push(place);
      childrenOf.set(parent, children);
    }
  }
  const levels: number[][] = [];
  let level = [...links.keys()].filter((place) => waitsFor.get(place) === 0);
  while (level.length > 0) {
    levels.push(level.toSorted((a, b) => a - b));
    const next: number[] = [];
    for (const place of level) {
      rest.delete(place);
      for (const child of childrenOf.get(place) ?? []) {
        const left = (waitsFor.get(child) ?? 0) - 1;
        waitsFor.set(child, left);
        if (left === 0) next.push(child);
      }
    }
    level = next;
  }
  return { levels, rest };
}

/** Each row of `rest` uses another row of it, so a walk along them comes back. */
function findCircle(rest: ReadonlySet<number>, links: RowTable['links']): number[] {
  const path = new Set<number>();
  let [place] = rest;
  while (place !== undefined && !path.has(place)) {
    path.add(place);
    place = links.get(place)?.parents.find((parent) => rest.has(parent));
  }
  return place === undefined ? [] : [...path].slice([...path].indexOf(place));
}

/** The ids that a name can mean: its own, and, if values vary, that of the row with the same values. */
function listIdsFor(name: string, own: string): string[] {
  const suffix = /\+.*$/.exec(own)?.[0] ?? '';
  return [name, `${name}${suffix}`];
}

/** The places of the rows that have some of these ids, by the hashes of the ids. */
function findPlaces(ids: readonly string[], table: RowTable): Map<number, number> {
  const wanted = new Set(ids.map(hashRowId));
  const places = new Map<number, number>();
  for (let place = 0; place < table.size; place++) {
    const hash = table.ids[place] as number;
    if (wanted.has(hash)) places.set(hash, place);
  }
  return places;
}

/** At most this many ids are compared with a name of no row. */
const maxCompared = 1000;

async function listFirstIds(jobs: Pick<BatchJobs, 'read'>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of jobs.read(() => undefined)) if (ids.push(id) === maxCompared) break;
  return ids;
}

type LinkedBatch = { plan: Pick<BatchPlan, 'table' | 'due'>; state: Pick<BatchState, 'slots' | 'atService'> };

/**
 * Whether a row can be sent: the rows that it uses have exactly the answers that its key names. If one of these fails to come, an
 * earlier answer does not count for it.
 */
export function hasUsed(place: number, { plan, state: { slots } }: LinkedBatch): boolean {
  const { uses = [] } = plan.table.links.get(place) ?? {};
  return uses.every((use) => isThere(use, slots));
}

/** The rows that a row waits for: those that it uses, and whose answers are neither there nor come in this run. */
export function listAwaited(
  place: number,
  { table, due }: Pick<BatchPlan, 'table' | 'due'>,
  { slots, atService }: Pick<BatchState, 'slots' | 'atService'>,
): JobParent[] {
  const { uses = [] } = table.links.get(place) ?? {};
  return (table.jobParents.get(place) ?? []).filter((parent, at) => {
    const use = uses[at] as AnswerUse;
    return due[parent.place] !== 1 && !atService.has(use.slot) && !isThere(use, slots);
  });
}

/** Whether some rows can be sent now that use answers of this run. */
export function hasDue(batch: LinkedBatch): boolean {
  const { due, table } = batch.plan;
  return [...table.links.keys()].some((place) => due[place] === 1 && hasUsed(place, batch));
}

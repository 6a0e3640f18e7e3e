import { closest } from '../../closest.ts';
import { type GatewayError, usageError } from '../../errors.ts';
import type { BatchState } from '../folder/state.ts';
import type { BatchJobs, Job, JobLinks, JobParent } from '../types.ts';
import type { BatchPlan } from './plan.ts';
import type { RowTable } from './table.ts';

/** Jobs that name results of each other. */
interface NamingJobs extends Pick<BatchJobs, 'name' | 'read'> {
  /** Throws GatewayError usage for a job that uses what the other one does not make. `place` is where the first one is. */
  requireUsable(job: Job, name: string, parent: Job, place: string): void;
}

/** The jobs that a job uses, by its own id. */
type FoundLinks = Map<string, JobParent[]>;

/**
 * Finds out which jobs use results of others. The file is read for that when the first such job comes. Throws GatewayError usage for a name
 * of no job, and for a circle.
 */
export function openLinks(jobs: NamingJobs): JobLinks {
  let links: Promise<FoundLinks> | undefined;
  return {
    async parentsOf({ id }) {
      return (await (links ??= findLinks(jobs))).get(id) ?? [];
    },
  };
}

async function findLinks(jobs: NamingJobs): Promise<FoundLinks> {
  const places = new Map<string, number>();
  const naming: Job[] = [];
  for await (const job of jobs.read(() => undefined)) {
    places.set(job.id, places.size);
    if (job.names) naming.push(job);
  }
  const links: FoundLinks = new Map();
  for (const job of naming)
    links.set(
      job.id,
      (job.names ?? []).map((name) => findNamed(name, job, places, jobs.name)),
    );
  requireNoCircle(naming, links, jobs.name);
  const wanted = new Set([...links.values()].flat().map(({ id }) => id));
  const parents = new Map<string, Job>();
  for await (const job of jobs.read(() => undefined)) if (wanted.has(job.id)) parents.set(job.id, job);
  for (const job of naming)
    for (const { name, id } of links.get(job.id) ?? [])
      jobs.requireUsable(job, name, parents.get(id) as Job, `${jobs.name}:${job.line}`);
  return links;
}

/** The job that another one names: where values vary, the one with the same values. */
function findNamed(name: string, job: Job, places: ReadonlyMap<string, number>, file: string): JobParent {
  const suffix = /\+.*$/.exec(job.id)?.[0] ?? '';
  for (const id of [name, `${name}${suffix}`]) {
    const place = places.get(id);
    if (place !== undefined) return { name, id, place };
  }
  const near = closest(name, [...places.keys()].slice(0, 10_000));
  const hint =
    near === undefined
      ? 'name the id of another job; a file whose name begins with @ is ./@…'
      : `did you mean: @${near}`;
  throw usageError(`${file}:${job.line}: @${name} names no job of ${file}`, hint);
}

function requireNoCircle(naming: readonly Job[], links: FoundLinks, file: string): void {
  const checked = new Set<string>();
  const listParents = (id: string): string[] => (links.get(id) ?? []).map((parent) => parent.id);
  for (const job of naming) {
    // Depth first, without recursion: a chain can be as long as the file.
    const path: { id: string; next: string[] }[] = [{ id: job.id, next: listParents(job.id) }];
    const isOnPath = new Set([job.id]);
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const next = last.next.pop();
      if (next === undefined) {
        checked.add(last.id);
        isOnPath.delete(last.id);
        path.pop();
      } else if (isOnPath.has(next)) throw circleError([...path.map(({ id }) => id), next], job, file);
      else if (!checked.has(next)) {
        isOnPath.add(next);
        path.push({ id: next, next: listParents(next) });
      }
    }
  }
}

function circleError(path: readonly string[], { line }: Job, file: string): GatewayError {
  const circle = path.slice(path.indexOf(path.at(-1) as string)).join(' → ');
  return usageError(`${file}:${line}: jobs wait for each other in a circle: ${circle}`, 'take one of these names out');
}

/** Which rows use each other, however far: all of a family go to one shard. */
export function joinFamilies({ links, size }: RowTable): { rootsOf(place: number): readonly number[] } {
  const heads = new Int32Array(size).map((_, place) => place);
  const headOf = (place: number): number => {
    let head = place;
    while (heads[head] !== head) head = heads[head] as number;
    heads[place] = head;
    return head;
  };
  for (const [child, { parents }] of links)
    for (const parent of parents) {
      const [one, other] = [headOf(child), headOf(parent)];
      heads[Math.max(one, other)] = Math.min(one, other);
    }
  const roots = new Map<number, number[]>();
  for (const { parents } of links.values())
    for (const parent of parents) {
      if (links.has(parent)) continue;
      const known = roots.get(headOf(parent)) ?? [];
      if (!known.includes(parent)) known.push(parent);
      roots.set(headOf(parent), known);
    }
  return { rootsOf: (place) => roots.get(headOf(place)) ?? [place] };
}

type LinkedBatch = { plan: Pick<BatchPlan, 'table' | 'due'>; state: Pick<BatchState, 'slots' | 'atService'> };

/** Whether a row can be sent: what it uses has exactly the answers that its key names. Where one fails to come, the earlier one is not it. */
export function isReady(place: number, { plan, state: { slots } }: LinkedBatch): boolean {
  const { uses = [] } = plan.table.links.get(place) ?? {};
  return uses.every(
    ({ slot, generation }) =>
      ['done', 'incomplete'].includes(slots.stateOf(slot)) && slots.countingOf(slot) === generation,
  );
}

/** The rows to send that wait for others. */
export function listAwaiting(batch: LinkedBatch): number[] {
  const { due, table } = batch.plan;
  return [...table.links.keys()].filter((place) => due[place] === 1 && !isReady(place, batch));
}

/** Whether some rows that waited can be sent now. */
export function hasDue(batch: LinkedBatch): boolean {
  const { due, table } = batch.plan;
  return [...table.links.keys()].some((place) => due[place] === 1 && isReady(place, batch));
}

/** The rows to send that this run cannot send: what they use is neither there nor made by it. */
export function listStuck(batch: LinkedBatch): number[] {
  const { plan, state } = batch;
  const { table, due } = plan;
  const stuck = new Set<number>();
  const isComing = (place: number): boolean =>
    !stuck.has(place) && (due[place] === 1 || state.atService.has(table.slots[place] as number));
  const isStuck = (place: number): boolean =>
    due[place] === 1 &&
    !isReady(place, batch) &&
    !(table.links.get(place)?.parents ?? []).every((parent) => isComing(parent) || isMade(parent, batch));
  // It grows by each row that is stuck, whose own answer others miss.
  for (let size = -1; size < stuck.size;) {
    size = stuck.size;
    for (const place of table.links.keys()) if (isStuck(place)) stuck.add(place);
  }
  return [...stuck];
}

function isMade(place: number, { plan, state: { slots } }: LinkedBatch): boolean {
  const slot = plan.table.slots[place] as number;
  return slots.answersOf(slot) > 0 && !slots.has(slot, 'again');
}

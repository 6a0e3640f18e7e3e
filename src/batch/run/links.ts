import { closest } from '../../closest.ts';
import { type GatewayError, usageError } from '../../errors.ts';
import type { JobIndex } from '../folder/state.ts';
import type { Batch, BatchJobs, Job, JobLinks } from '../types.ts';
import { findIdNumber, withoutVariation } from './known-by.ts';

/** Jobs that name results of each other, and how their requests are built. */
interface NamingJobs extends Pick<BatchJobs, 'name' | 'read' | 'prepare'> {
  /** Throws GatewayError usage for a job that uses what the other one does not make. `place` is where the first one is. */
  requireUsable(job: Job, name: string, parent: Job, place: string): void;
}

/** What a file says of the results that its jobs use. */
interface FoundLinks {
  /** The jobs that a job uses: its names for them, and their ids. By its own id. */
  ids: Map<string, Map<string, string>>;
  /** The jobs that others use, by their ids. */
  parents: Map<string, Job>;
  /** The id of the first job of a family in the file, by the id of each other one. */
  families: Map<string, string>;
}

/**
 * Finds out which jobs use results of others. The digest of such a job has those of its parents in it: when one of them is edited, it
 * counts as edited too. The file is read for that when the first such job comes. Throws GatewayError usage for a name of no job, and for
 * a circle.
 */
export function openLinks(jobs: NamingJobs, state: Pick<Batch['state'], 'knownIds' | 'index'>): JobLinks {
  let links: Promise<FoundLinks> | undefined;
  let { knownIds } = state;
  const digests = new Map<string, Promise<string>>();
  function getLinks(): Promise<FoundLinks> {
    if (knownIds !== state.knownIds) links = undefined;
    if (links === undefined) digests.clear();
    ({ knownIds } = state);
    return (links ??= findLinks(jobs));
  }

  function digestJob(job: Job, origin: string): Promise<string> {
    const known = digests.get(job.id) ?? digestNew(job, origin);
    digests.set(job.id, known);
    return known;
  }
  async function digestNew(job: Job, origin: string): Promise<string> {
    const prepared = await jobs.prepare(job, origin);
    await prepared.close();
    return prepared.digest;
  }

  return {
    async parentsOf(job) {
      const { ids, parents } = await getLinks();
      return [...(ids.get(job.id)?.values() ?? [])].map((id) => parents.get(id) as Job);
    },
    async linkJob(job, origin) {
      const { ids, parents } = await getLinks();
      const named = ids.get(job.id) ?? new Map<string, string>();
      const linked = [];
      for (const [name, id] of named) {
        const parent = parents.get(id) as Job;
        const first = findFirstName(name, parent, state.index);
        const firstName = named.has(first) ? name : first;
        linked.push({ name, firstName, id, digest: await digestJob(parent, origin) });
      }
      return { ...job, parents: linked };
    },
    digestJob,
    familyOf: async ({ id }) => (await getLinks()).families.get(id) ?? id,
  };
}

/** What a job was named by before it got another id; what it is named by now if its first id was a number. */
function findFirstName(name: string, { id, fileId = id }: Job, index: JobIndex): string {
  const row = index.findNow(id);
  // It may not be entered yet.
  const first = row < 0 ? id : index.firstIdOf(row);
  if (first === fileId || findIdNumber(first) !== undefined) return name;
  return name === fileId ? first : withoutVariation(first);
}

async function findLinks(jobs: NamingJobs): Promise<FoundLinks> {
  const all = new Map<string, string>();
  const naming: Job[] = [];
  for await (const job of jobs.read(() => undefined)) {
    all.set(job.fileId ?? job.id, job.id);
    if (job.names) naming.push(job);
  }
  const ids = new Map<string, Map<string, string>>();
  for (const job of naming) {
    const named = (job.names ?? []).map((name) => [name, findNamed(name, job, all, jobs.name)] as const);
    ids.set(job.id, new Map(named));
  }
  requireNoCircle(naming, ids, jobs.name);
  const families = joinFamilies([...all.values()], ids);
  const wanted = new Set([...ids.values()].flatMap((named) => [...named.values()]));
  const parents = new Map<string, Job>();
  for await (const job of jobs.read(() => undefined)) if (wanted.has(job.id)) parents.set(job.id, job);
  for (const job of naming)
    for (const [name, id] of ids.get(job.id) ?? [])
      jobs.requireUsable(job, name, parents.get(id) as Job, `${jobs.name}:${job.line}`);
  return { ids, parents, families };
}

/** The id of a job that another one names: where values vary, the one with the same values. */
function findNamed(name: string, job: Job, all: ReadonlyMap<string, string>, file: string): string {
  const suffix = /\+.*$/.exec(job.fileId ?? job.id)?.[0] ?? '';
  const id = all.get(name) ?? all.get(`${name}${suffix}`);
  if (id !== undefined) return id;
  const near = closest(name, [...all.keys()].slice(0, 10_000));
  const hint =
    near === undefined
      ? 'name the id of another job; a file whose name begins with @ is ./@…'
      : `did you mean: @${near}`;
  throw usageError(`${file}:${job.line}: @${name} names no job of ${file}`, hint);
}

function requireNoCircle(naming: readonly Job[], ids: FoundLinks['ids'], file: string): void {
  const checked = new Set<string>();
  for (const job of naming) {
    // Depth first, without recursion: a chain can be as long as the file.
    const path: { id: string; next: string[] }[] = [{ id: job.id, next: [...(ids.get(job.id)?.values() ?? [])] }];
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
        path.push({ id: next, next: [...(ids.get(next)?.values() ?? [])] });
      }
    }
  }
}

function circleError(path: readonly string[], { line }: Job, file: string): GatewayError {
  const circle = path.slice(path.indexOf(path.at(-1) as string)).join(' → ');
  return usageError(`${file}:${line}: jobs wait for each other in a circle: ${circle}`, 'take one of these names out');
}

/** All jobs of a family go to one shard: that of the first of them in the file. */
function joinFamilies(all: readonly string[], ids: FoundLinks['ids']): FoundLinks['families'] {
  const places = new Map(all.map((id, place) => [id, place]));
  const heads = new Map<string, string>();
  const headOf = (id: string): string => {
    let head = id;
    for (let next = heads.get(head); next !== undefined; next = heads.get(head)) head = next;
    if (head !== id) heads.set(id, head);
    return head;
  };
  for (const [child, named] of ids)
    for (const parent of named.values()) {
      const [one, other] = [headOf(child), headOf(parent)];
      if (one === other) continue;
      const isFirst = (places.get(one) ?? 0) < (places.get(other) ?? 0);
      heads.set(isFirst ? other : one, isFirst ? one : other);
    }
  return new Map([...heads.keys()].map((id) => [id, headOf(id)]));
}

/**
 * Whether a job has the result that another one, `user`, is to be made of. One that was edited and stays as it is does not have it. One
 * that stays though what it uses is made again has it only for jobs that are named.
 */
function hasResultFor(row: number, user: number, { plan, state: { index } }: Pick<Batch, 'plan' | 'state'>): boolean {
  const { leftEdited, leftStale, redone } = plan;
  const isLeftStale = leftStale.has(index.idOf(row)) && !redone.has(row);
  return index.stateOf(row) === 'done' && (!leftEdited.has(row) || (isLeftStale && redone.has(user)));
}

/** Rows of jobs to send that wait: a parent is not done, or was edited and left, so that its result is of an older request. */
export function listAwaitingParents(
  batch: Pick<Batch, 'plan' | 'state'>,
  isDue = (row: number): boolean => batch.state.index.has(row, 'toSend'),
): Set<number> {
  const { plan, state } = batch;
  const { index } = state;
  const isDone = (row: number, user: number): boolean =>
    hasResultFor(row, user, batch) && !index.has(row, 'toSend') && !index.has(row, 'atService');
  const waiting = new Set<number>();
  for (const [id, parents] of plan.parents) {
    const row = index.find(id);
    if (isDue(row) && !parents.every((parent) => isDone(index.find(parent), row))) waiting.add(row);
  }
  return waiting;
}

/** Rows of jobs to send that this run cannot send: a result that they use, or that those use, is neither there nor made by it. */
export function listStuck(batch: Pick<Batch, 'plan' | 'state'>): Set<number> {
  const { plan, state } = batch;
  const { index } = state;
  const users = new Map<string, string[]>();
  for (const [id, parents] of plan.parents)
    for (const parent of parents) {
      const known = users.get(parent);
      if (known) known.push(id);
      else users.set(parent, [id]);
    }
  const missing = [...users.keys()].filter((id) => {
    const row = index.find(id);
    return !index.has(row, 'toSend') && !index.has(row, 'atService');
  });
  const stuck = new Set<number>();
  // It grows by each job that is stuck, whose own result others miss.
  for (const id of missing) {
    const parent = index.find(id);
    for (const user of users.get(id) ?? []) {
      const row = index.find(user);
      if (!index.has(row, 'toSend') || stuck.has(row)) continue;
      if (!stuck.has(parent) && hasResultFor(parent, row, batch)) continue;
      stuck.add(row);
      missing.push(user);
    }
  }
  return stuck;
}

/** Whether some jobs that waited can be sent now. */
export function hasDue(batch: Pick<Batch, 'plan' | 'state'>): boolean {
  const { index } = batch.state;
  const waiting = listAwaitingParents(batch);
  return [...batch.plan.parents.keys()]
    .map((id) => index.find(id))
    .some((row) => index.has(row, 'toSend') && !waiting.has(row));
}

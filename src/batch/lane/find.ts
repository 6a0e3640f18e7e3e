import type { BatchApi } from '../../client/batch-api.ts';
import type { Deadline } from '../../client/deadline.ts';
import { GatewayError } from '../../errors.ts';
import type { BatchFormat, BatchInfo } from '../../formats/batch-types.ts';
import { parseObject } from '../../json.ts';
import type { Part } from './types.ts';

/**
 * What the service says of a part whose creation was not answered: the batch, `none`, `later` (one that may be it has not ended), or
 * `unknown`: it does not tell.
 */
export type Found = BatchInfo | 'none' | 'later' | 'unknown';

/** So many pages of batches are looked through. */
const mostPages = 100;

export interface Finding {
  api: BatchApi;
  format: BatchFormat;
  /** Batches that belong to other parts. */
  isKnown: (id: string) => boolean;
  startDeadline: () => Deadline;
}

/** Looks for the batch of a part by its mark. Throws GatewayError where the service cannot be asked now. */
export async function findBatch(part: Part, finding: Finding): Promise<Found> {
  const candidates: BatchInfo[] = [];
  let page: string | undefined;
  for (let count = 0; ; count++) {
    if (count === mostPages) return 'unknown';
    const found = await readPage(finding, page);
    if (found === undefined) return 'unknown';
    for (const info of found.batches) {
      if (info.id === part.plan.after) return nameless(part, candidates, finding);
      if (info.mark === part.mark) return info;
      candidates.push(info);
    }
    page = found.next;
    if (page === undefined) break;
  }
  return nameless(part, candidates, finding);
}

/** Undefined where the service has no such list. */
async function readPage({ api, startDeadline }: Finding, page: string | undefined) {
  const deadline = startDeadline();
  try {
    return await api.page(deadline, page);
  } catch (error) {
    if (error instanceof GatewayError && error.class === 'rejected') return undefined;
    throw error;
  } finally {
    deadline.end();
  }
}

/** Where batches have no name, the mark is in the keys of their results: those that could be it are looked into. */
async function nameless(part: Part, candidates: readonly BatchInfo[], finding: Finding): Promise<Found> {
  // With names, its own would have been found.
  if (finding.format.byFile !== undefined) return 'none';
  const jobs = part.rows.length;
  const possible = candidates.filter(
    ({ id, mark, total }) => mark === undefined && !finding.isKnown(id) && (total === undefined || total === jobs),
  );
  let isUnsure = false;
  for (const info of possible.filter(({ hasEnded }) => hasEnded)) {
    const isOwn = await holdsMark(part, info, finding);
    if (isOwn) return info;
    isUnsure ||= isOwn === undefined;
  }
  if (possible.some(({ hasEnded }) => !hasEnded)) return 'later';
  return isUnsure ? 'unknown' : 'none';
}

/** Whether the results of a batch have the mark of a part; undefined where they cannot be read. */
async function holdsMark(
  part: Part,
  info: BatchInfo,
  { api, format, startDeadline }: Finding,
): Promise<boolean | undefined> {
  const deadline = startDeadline();
  try {
    for await (const bytes of api.results(info, deadline)) {
      const key = format.readResult(parseObject(bytes.toString()))?.key;
      if (key !== undefined) return key.startsWith(`${part.mark}-`);
    }
    return false;
  } catch (error) {
    if (error instanceof GatewayError && error.class === 'rejected') return undefined;
    throw error;
  } finally {
    deadline.end();
  }
}

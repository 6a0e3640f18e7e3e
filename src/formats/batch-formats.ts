import { usageError } from '../errors.ts';
import type { BatchFormat } from './batch-types.ts';
import { formatFacts } from './format.ts';
import type { FormatName } from './types.ts';

/** Apart from the other facts of a format: the library has no batch API. */
const loaders: Readonly<Partial<Record<FormatName, () => Promise<BatchFormat>>>> = {
  content: async () => (await import('./content/batch.ts')).contentBatch,
  messages: async () => (await import('./messages/batch.ts')).messagesBatch,
  completions: async () => (await import('./completions/batch.ts')).completionsBatch,
};

export function hasBatchApi(name: FormatName): boolean {
  return loaders[name] !== undefined;
}

/** The batch API of a format. Throws GatewayError usage for one that has none. */
export async function loadBatchFormat(name: FormatName): Promise<BatchFormat> {
  const load = loaders[name];
  if (!load) throw usageError(`${formatFacts[name].title} has no batch API`, 'send its requests one by one');
  return load();
}

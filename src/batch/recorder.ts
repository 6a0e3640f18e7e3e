import { join } from 'node:path';
import { SyncedFile } from './synced-file.ts';
import { batchFiles, type Job, type JobRecord, type Performed, type RunRecord, type Step } from './types.ts';

/** Writes down what happens to the jobs of one run. All of its methods throw GatewayError not-written. */
export interface Recorder {
  /** Resolves when the disk has it: only then may the request go out. */
  sent(job: Job, request: string): Promise<void>;
  /** The result first, then the journal's word that there is one. Resolves when the disk has both. */
  ended(job: Job, request: string, performed: Performed): Promise<void>;
  close(): Promise<void>;
}

export interface RecorderOptions {
  folder: string;
  run: RunRecord;
  /** Ends of jobs that an earlier run could not write down. */
  lostEnds: readonly JobRecord[];
  now: () => number;
  /** Takes keys out of what is written. */
  redact: (text: string) => string;
  step?: Step | undefined;
}

/** Nobody waits for the end of a job to be on the disk, so that many of them share one sync. */
const gatherMs = 10;

/** Opens journal and results of a folder, and writes the run's own record. */
export async function openRecorder({ folder, run, lostEnds, now, redact, step }: RecorderOptions): Promise<Recorder> {
  const journal = await SyncedFile.open(join(folder, batchFiles.journal));
  const results = await SyncedFile.open(join(folder, batchFiles.results));
  for (const record of [run, ...lostEnds]) journal.append(redact(JSON.stringify(record)));
  await journal.sync();

  function append(record: JobRecord): void {
    journal.append(redact(JSON.stringify(record)));
  }

  return {
    async sent({ id }, request) {
      append({ type: 'sent', id, request, at: now() });
      step?.('sent-written', id);
      await journal.sync();
      step?.('sent-synced', id);
    },
    async ended({ id }, request, performed) {
      if (performed.state === 'unsent') {
        append({ type: 'unsent', id, request, at: now() });
        return await journal.sync();
      }
      const { state, document, usage, error } = performed;
      results.append(redact(JSON.stringify({ id, request, ...document })));
      step?.('result-written', id);
      await results.sync(gatherMs);
      step?.('result-synced', id);
      append({ type: state, id, request, at: now(), usage, error });
      step?.('ended-written', id);
      await journal.sync(gatherMs);
      step?.('ended-synced', id);
    },
    async close() {
      await journal.close();
      await results.close();
    },
  };
}

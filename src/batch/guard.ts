import type { Lock } from './lock.ts';
import type { Recorder } from './recorder.ts';

/** A recorder that writes as long as its run has the folder. Its methods throw GatewayError batch-locked, too. */
export function guardRecorder(recorder: Recorder, lock: Pick<Lock, 'check' | 'confirm'>): Recorder {
  return {
    ...recorder,
    async ready(group) {
      await lock.check();
      // The look comes behind the writing: who takes over after it finds the group in the journal.
      await Promise.all([recorder.ready(group), lock.confirm()]);
    },
    async sent(noted) {
      await lock.check();
      await recorder.sent(noted);
      // Who stood still between the two finds out now, and takes its word back.
      await lock.check()?.catch(async (error: unknown) => {
        await recorder.ended(noted, { state: 'unsent' });
        throw error;
      });
    },
    async unsent(group) {
      await lock.check();
      await recorder.unsent(group);
    },
    async ended(noted, performed) {
      await lock.check();
      await recorder.ended(noted, performed);
    },
  };
}

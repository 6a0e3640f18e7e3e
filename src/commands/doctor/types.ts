import type { ErrorClass } from '../../errors.ts';

/** One thing that was looked at. */
export interface Check {
  name: string;
  /** Whose check it is, where uses have profiles of their own. */
  profile?: string | undefined;
  /** `warning`: it may do; `skipped`: nothing could be said, because something before it failed or does not apply. */
  state: 'ok' | 'warning' | 'failed' | 'skipped';
  /** What was found. */
  text: string;
  /** What to type, where it is not all right. */
  fix?: string | undefined;
  /** The class of the error that a request would end with; only where it failed. */
  class?: ErrorClass | undefined;
}

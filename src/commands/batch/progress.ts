import { progressText, type ProgressFacts } from '../../batch/progress-text.ts';
import { isAnimated } from '../../terminal/progress.ts';
import type { Context } from '../../cli/context.ts';

/** What people see of a running batch: a live line on a terminal, else a line every ten seconds. */
export interface BatchProgress {
  stop(): void;
}

const liveMs = 250;
const lineMs = 10_000;

export function showBatchProgress(context: Context, facts: () => ProgressFacts): BatchProgress {
  const { io, root, ui } = context;
  const live = isAnimated({ io, quiet: root.quiet === true || root.verbose === true });
  const spinner = live ? ui.progress(progressText(facts()), { timed: false }) : undefined;
  const tell = (): void => {
    const text = progressText(facts());
    if (spinner) spinner.update(text);
    else void ui.note(text);
  };
  const timer = setInterval(tell, live ? liveMs : lineMs).unref();
  return {
    stop() {
      clearInterval(timer);
      spinner?.stop();
    },
  };
}

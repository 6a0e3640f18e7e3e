import { timeText } from '../../clock.ts';
import type { BatchInfo } from '../../formats/batch-types.ts';
import { isAnimated } from '../../terminal/progress.ts';
import type { LaneRun } from './lane-run.ts';
import { openParts } from './parts.ts';
import type { Part } from './types.ts';

/** On a terminal a live line, else a line when the count changes. */
export function showWaiting({ batch, now }: LaneRun) {
  const { context, state } = batch;
  const { io, root, ui } = context;
  const live = isAnimated({ io, quiet: root.quiet === true || root.verbose === true });
  const spinner = live ? ui.progress('waiting for the service') : undefined;
  const infos = new Map<string, BatchInfo>();
  let shown = '';

  function describe(): { count: string; times: string } {
    const parts = openParts(state);
    const jobs = parts.reduce((sum, part) => sum + part.rows.length, 0);
    const done = parts.reduce((sum, { mark }) => sum + (infos.get(mark)?.done ?? 0), 0);
    const since = Math.max(0, now() - Math.min(...parts.map(({ at }) => at)));
    const left = parts.flatMap((part) => (part.lastsMs === undefined ? [] : part.at + part.lastsMs - now()));
    const expires = left.length === 0 ? '' : `, expires in ${timeText(Math.max(0, Math.min(...left)))}`;
    return { count: `at the service: ${done} of ${jobs} done`, times: `, submitted ${timeText(since)} ago${expires}` };
  }

  const draw = (): void => {
    if (openParts(state).length === 0) return;
    const { count, times } = describe();
    spinner?.update(count + times);
  };
  const timer = spinner && setInterval(draw, 1000).unref();
  return {
    see: ({ mark }: Part, info: BatchInfo) => void infos.set(mark, info),
    async show() {
      if (spinner) return draw();
      const { count, times } = describe();
      if (count === shown) return;
      shown = count;
      await ui.note(count + times);
    },
    stop() {
      clearInterval(timer);
      spinner?.stop();
    },
  };
}

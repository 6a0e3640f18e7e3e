import { describe, expect, test } from 'vitest';
import { isAnimated, startProgress } from '../../src/terminal/progress.ts';
import type { ProgressOptions, Spinner } from '../../src/terminal/progress.ts';

const stderr = (isTTY: boolean) => ({ isTTY, columns: 80, write: async () => undefined });

describe('isAnimated', () => {
  test.each([
    ['on a terminal', true, {}, false, true],
    ['in a pipe', false, {}, false, false],
    ['with --quiet', true, {}, true, false],
    ['in CI', true, { CI: 'true' }, false, false],
    ['with CI=false', true, { CI: 'false' }, false, true],
    ['in a dumb terminal', true, { TERM: 'dumb' }, false, false],
  ] as const)('%s', (_name, isTTY, env, quiet, expected) => {
    expect(isAnimated({ io: { stderr: stderr(isTTY), env }, quiet })).toBe(expected);
  });
});

/** A clock and a spinner that the test moves by hand. */
function arrange(options: Partial<ProgressOptions> = {}) {
  const timers: { ms: number; act: () => void }[] = [];
  const spinner = { text: '', stops: 0, stop: () => void spinner.stops++ };
  const loads: { text: string; color: boolean; loaded: (spinner: Spinner) => void }[] = [];
  const progress = startProgress({
    io: { stderr: stderr(true), env: {} },
    text: 'waiting',
    quiet: false,
    after: (ms, act) => {
      timers.push({ ms, act });
      return () => void timers.splice(0);
    },
    spin: (text, color) => new Promise((loaded) => loads.push({ text, color, loaded })),
    ...options,
  });
  return { progress, timers, loads, spinner };
}

describe('startProgress', () => {
  test('loads no spinner for a run that ends within 100 ms', () => {
    const { progress, timers, loads } = arrange();
    expect(timers.map(({ ms }) => ms)).toEqual([100]);
    progress.stop();
    expect(timers).toEqual([]);
    expect(loads).toEqual([]);
  });

  test('spins after that, with the newest text, until it is stopped', async () => {
    const { progress, timers, loads, spinner } = arrange();
    timers[0]?.act();
    progress.update('still\u001b[2J waiting');
    loads[0]?.loaded(spinner);
    await expect.poll(() => spinner.text).toBe('still^[[2J waiting');
    progress.update('nearly');
    expect(spinner.text).toBe('nearly');
    progress.stop();
    progress.stop();
    expect(spinner.stops).toBeGreaterThan(0);
  });

  test('never shows a spinner that was stopped while it was loading', async () => {
    const { progress, timers, loads, spinner } = arrange();
    timers[0]?.act();
    progress.stop();
    loads[0]?.loaded(spinner);
    await expect.poll(() => spinner.stops).toBe(1);
    expect(spinner.text).toBe('');
  });

  test('goes on without a spinner that cannot be loaded', async () => {
    const { progress, timers } = arrange({ spin: () => Promise.reject(new Error('gone')) });
    timers[0]?.act();
    await Promise.resolve();
    expect(() => progress.stop()).not.toThrow();
  });

  test('sets no timer where nothing may be animated', () => {
    const { progress, timers } = arrange({ quiet: true });
    progress.update('x');
    progress.stop();
    expect(timers).toEqual([]);
  });

  test.each([
    ['colour', {}, true],
    ['no colour with NO_COLOR', { NO_COLOR: '1' }, false],
  ] as const)('spins in %s', (_name, env, color) => {
    const { timers, loads } = arrange({ io: { stderr: stderr(true), env } });
    timers[0]?.act();
    expect(loads[0]?.color).toBe(color);
  });
});

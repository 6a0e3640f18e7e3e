import { describe, expect, test } from 'vitest';
import { isAnimated, startProgress } from '../../../src/cli/terminal/progress.ts';
import type { ProgressOptions, Spinner } from '../../../src/cli/terminal/progress.ts';

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

interface Arranged extends Partial<Pick<ProgressOptions, 'quiet' | 'spin'>> {
  env?: Record<string, string>;
  isTTY?: boolean;
}

/** A clock and a spinner that the test moves by hand. */
function arrange({ env = {}, isTTY = true, ...options }: Arranged = {}) {
  const timers: { ms: number; act: () => void }[] = [];
  const spinner = {
    text: '',
    stops: 0,
    clears: 0,
    stop: () => void spinner.stops++,
    clear: () => void spinner.clears++,
  };
  const clock = { ms: 0 };
  const loads: { text: string; color: boolean; loaded: (spinner: Spinner | undefined) => void }[] = [];
  const progress = startProgress({
    io: {
      stderr: stderr(isTTY),
      env,
      elapsed: () => clock.ms,
      after: (ms, act) => {
        timers.push({ ms, act });
        return () => void timers.splice(0);
      },
    },
    text: 'wait\u001b[2Jing',
    quiet: false,
    spin: (text, color) => new Promise((loaded) => loads.push({ text, color, loaded })),
    ...options,
  });
  return { progress, timers, loads, spinner, clock };
}

describe('startProgress', () => {
  test('loads no spinner for a run that ends within 100 ms', () => {
    const { progress, timers, loads } = arrange();
    expect(timers.map(({ ms }) => ms)).toEqual([100]);
    progress.stop();
    expect(timers).toEqual([]);
    expect(loads).toEqual([]);
  });

  test('spins after that, with the newest count, until it is stopped', async () => {
    const { progress, timers, loads, spinner, clock } = arrange();
    timers[0]?.act();
    progress.update('1\u001b[2J/3');
    loads[0]?.loaded(spinner);
    await expect.poll(() => spinner.text).toBe('wait^[[2Jing · 1^[[2J/3');
    clock.ms = 99;
    progress.update('2/3');
    expect(spinner.text).toBe('wait^[[2Jing · 1^[[2J/3');
    clock.ms = 100;
    progress.update('3/3');
    expect(spinner.text).toBe('wait^[[2Jing · 3/3');
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

  test.each([
    ['colour', {}, true],
    ['no colour with NO_COLOR', { NO_COLOR: '1' }, false],
  ] as const)('spins in %s', (_name, env, color) => {
    const { timers, loads } = arrange({ env });
    timers[0]?.act();
    expect(loads[0]?.color).toBe(color);
  });

  test('shows the time from two seconds on, once a second', async () => {
    const { progress, timers, loads, spinner, clock } = arrange();
    timers.shift()?.act();
    loads[0]?.loaded(spinner);
    await expect.poll(() => timers.length).toBe(1);
    const texts: string[] = [];
    for (const ms of [1100, 2100, 34_900, 125_000]) {
      clock.ms = ms;
      expect(timers[0]?.ms).toBe(1000);
      timers.shift()?.act();
      texts.push(spinner.text);
    }
    const name = 'wait^[[2Jing';
    expect(texts).toEqual([name, `${name} · 2 s`, `${name} · 34 s`, `${name} · 2 min 5 s`]);
    clock.ms += 100;
    progress.update('2/3');
    expect(spinner.text).toBe(`${name} · 2/3 · 2 min 5 s`);
    progress.stop();
    expect(timers).toEqual([]);
  });

  test('makes room for a line and goes on, until it is stopped', async () => {
    const { progress, timers, loads, spinner } = arrange();
    timers.shift()?.act();
    loads[0]?.loaded(spinner);
    await expect.poll(() => timers.length).toBe(1);
    progress.clear();
    expect([spinner.clears, spinner.stops]).toEqual([1, 0]);
    progress.stop();
    progress.clear();
    expect(spinner.clears).toBe(1);
  });

  test.each([
    ['a terminal with --quiet', { quiet: true }],
    ['a pipe', { isTTY: false }],
    ['a dumb terminal', { env: { TERM: 'dumb' } }],
    ['a terminal in CI', { env: { CI: '1' } }],
  ])('%s gets no spinner and no timer', (_name, options) => {
    const { progress, timers } = arrange(options);
    progress.update('1/3');
    progress.clear();
    progress.stop();
    expect(timers).toEqual([]);
  });
});

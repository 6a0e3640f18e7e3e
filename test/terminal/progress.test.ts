import { describe, expect, test } from 'vitest';
import { isAnimated, startProgress } from '../../src/terminal/progress.ts';
import type { ProgressOptions, Spinner } from '../../src/terminal/progress.ts';

const stderr = (isTTY: boolean) => ({ isTTY, columns: 80, write: async () => undefined });

const stderrTo = (written: string[]) => ({
  isTTY: true,
  columns: 80,
  write: async (chunk: unknown) => void written.push(String(chunk)),
});

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
  const spinner = {
    text: '',
    stops: 0,
    clears: 0,
    stop: () => void spinner.stops++,
    clear: () => void spinner.clears++,
  };
  const clock = { ms: 0 };
  const written: string[] = [];
  const loads: { text: string; color: boolean; loaded: (spinner: Spinner | undefined) => void }[] = [];
  const progress = startProgress({
    io: { stderr: stderrTo(written), env: {} },
    text: 'waiting',
    elapsed: () => clock.ms,
    quiet: false,
    after: (ms, act) => {
      timers.push({ ms, act });
      return () => void timers.splice(0);
    },
    spin: (text, color) => new Promise((loaded) => loads.push({ text, color, loaded })),
    ...options,
  });
  return { progress, timers, loads, spinner, clock, written };
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

  test('tells the time from two seconds on, once a second', async () => {
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
    expect(texts).toEqual(['waiting', 'waiting · 2 s', 'waiting · 34 s', 'waiting · 2 min 5 s']);
    progress.update('waiting · 2 of 3');
    expect(spinner.text).toBe('waiting · 2 of 3 · 2 min 5 s');
    progress.stop();
    expect(timers).toEqual([]);
  });

  test('a text that tells the time itself stays as it is', async () => {
    const { timers, loads, spinner, clock } = arrange({ timed: false });
    timers.shift()?.act();
    clock.ms = 9000;
    loads[0]?.loaded(spinner);
    await expect.poll(() => spinner.text).toBe('waiting');
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

  test('a dumb terminal gets one plain line after five seconds', () => {
    const written: string[] = [];
    const { timers, loads, clock } = arrange({ io: { stderr: stderrTo(written), env: { TERM: 'dumb' } } });
    expect(timers.map(({ ms }) => ms)).toEqual([5000]);
    clock.ms = 5000;
    timers.shift()?.act();
    expect(written).toEqual(['waiting · 5 s\n']);
    expect([timers, loads]).toEqual([[], []]);
  });

  test('a terminal that cannot show a spinner gets it too', async () => {
    const { timers, loads, clock, written } = arrange();
    clock.ms = 100;
    timers.shift()?.act();
    loads[0]?.loaded(undefined);
    await expect.poll(() => timers.map(({ ms }) => ms)).toEqual([4900]);
    clock.ms = 5000;
    timers.shift()?.act();
    expect(written).toEqual(['waiting · 5 s\n']);
  });

  test.each([
    ['--quiet', { quiet: true }],
    ['CI', { io: { stderr: stderr(true), env: { TERM: 'dumb', CI: '1' } } }],
    ['a pipe', { io: { stderr: stderr(false), env: { TERM: 'dumb' } } }],
  ] as const)('%s gets no line', (_name, options) => {
    expect(arrange(options).timers).toEqual([]);
  });

  test('a dumb terminal whose answer came in time gets no line', () => {
    const written: string[] = [];
    const { progress, timers } = arrange({ io: { stderr: stderrTo(written), env: { TERM: 'dumb' } } });
    progress.stop();
    expect([timers, written]).toEqual([[], []]);
  });
});

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decode } from 'fast-png';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../helpers/scratch.ts';
import { hostile, makeGallery } from './hostile-batch.ts';

const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);

test('a gallery is drawn by Chromium, and hostile text does nothing there', async () => {
  const cwd = scratchFolder();
  await makeGallery(cwd);
  const url = `file://${join(cwd, 'out/index.html')}`;
  const browse = (...flags: string[]) =>
    execFileSync(
      chromium ?? 'chromium',
      [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        `--user-data-dir=${cwd}/profile`,
        '--virtual-time-budget=2000',
        ...flags,
        url,
      ],
      { stdio: ['ignore', 'pipe', 'ignore'], timeout: 300_000 },
    ).toString();
  const dom = browse('--dump-dom');
  expect(dom).toContain('<title>out</title>');
  expect(dom.match(/<article/g)).toHaveLength(hostile.length + 2);
  const shot = join(cwd, 'shot.png');
  browse(`--screenshot=${shot}`, '--window-size=1200,800');
  const { width, height, data, channels } = decode(readFileSync(shot));
  expect([width, height]).toEqual([1200, 800]);
  const colors = new Set<number>();
  for (let at = 0; at < data.length; at += channels * 97)
    colors.add(((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0));
  // A blank or an error page has a handful of colours; the gradient of the lighthouse alone has hundreds.
  expect(colors.size).toBeGreaterThan(200);
}, 150_000);

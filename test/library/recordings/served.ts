import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createApp, type AppOptions } from '../../../src/gateway/app.ts';
import { listen } from '../../../src/gateway/listen.ts';
import { run, type Ran } from '../../helpers/run.ts';
import { scratchFolder } from '../../helpers/scratch.ts';

export const upstreamKey = 'canary-7f3a9c51-secret';

/** A folder with a config whose profile `work` points at a second local gateway, which is closed after the test. */
export async function startWork(options: AppOptions = {}): Promise<{ cwd: string; config: string; url: string }> {
  const upstream = await listen(createApp({ key: upstreamKey, faultDelay: 5, ...options }));
  onTestFinished(() => upstream.close(0));
  const cwd = scratchFolder();
  const config = writeConfig(cwd, {
    work: { baseUrl: upstream.url, apiKey: upstreamKey, models: { text: 'local-text', image: 'local-image' } },
  });
  return { cwd, config, url: upstream.url };
}

/** Writes a config with these profiles, one of which can be the default, and returns its path. */
export function writeConfig(cwd: string, profiles: object, profile?: string): string {
  const config = join(cwd, 'config.json');
  writeFileSync(config, JSON.stringify({ profiles, profile }), { mode: 0o600 });
  return config;
}

export interface Served {
  url: string;
  port: number;
  key: string;
  env: Record<string, string>;
  /** Variables that a command of it must not have. */
  unset?: string[];
  /** Ends it like Ctrl-C. */
  stop(): Promise<Ran>;
}

/** `gateway-cli serve <flags>` inside this process, ready for requests. */
export async function startServe(
  flags: readonly string[],
  { cwd, config, env = {} }: { cwd: string; config: string; env?: Record<string, string> },
): Promise<Served> {
  const control = new AbortController();
  let ran: Promise<Ran> | undefined;
  const printed = new Promise<string>((resolve) => {
    ran = run(['serve', '--port', '0', '--json', ...flags], {
      cwd,
      env: { GATEWAY_CONFIG: config, ...env },
      signal: control.signal,
      onStdout: resolve,
    });
  });
  const early = await Promise.race([printed, ran as Promise<Ran>]);
  if (typeof early !== 'string') throw new Error(`serve ended: ${early.stderr}`);
  const { url, port, apiKey, env: shown, unset } = JSON.parse(early) as Served & { apiKey: string };
  const stop = (): Promise<Ran> => {
    control.abort(new Error('enough'));
    return ran as Promise<Ran>;
  };
  onTestFinished(async () => void (await stop()));
  return { url, port, key: apiKey, env: shown, ...(unset && { unset }), stop };
}

import { chmodSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { vi } from 'vitest';
import { splitShellLine } from '../../src/library/shell-word.ts';
import { run, type Ran } from '../helpers/run.ts';
import { scratchFolder } from '../helpers/scratch.ts';
import { pixel } from '../fake-servers/completions.ts';
import type { FakeRequest } from '../fake-servers/start.ts';
import { keys, type VendorName, type Vendors } from './vendors.ts';

/** What a run of one or more command lines did. */
export interface VendorRun extends Ran {
  /** What the vendor received. */
  requests: readonly FakeRequest[];
}

/** What a run needs beside its command lines. */
export interface VendorRunOptions {
  stdin?: string;
  /** In place of the vendor's own key variable. */
  env?: Record<string, string>;
  /** The folder of an earlier run, to go on in it. */
  cwd?: string;
  /** Ollama has no default model. */
  model?: string;
}

/** The schema and the tool that folders have as `city.json` and `tools.json`. */
export const citySchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const weather = { name: 'get_weather', description: 'Weather', parameters: citySchema };

/** A folder with a picture, a PDF, rows, prices, a schema, and a tool with its program. */
export function workFolder(): string {
  const cwd = scratchFolder();
  const files: Record<string, string | Buffer> = {
    'dot.png': Buffer.from(pixel, 'base64'),
    'note.pdf': '%PDF-1.4\n',
    'towns.csv': 'town\nRome\nOslo\n',
    'prices.json': '{"*":{"input":"1","output":"2"}}',
    'city.json': JSON.stringify(citySchema),
    'tools.json': JSON.stringify([weather]),
    'weather.sh': '#!/bin/sh\nprintf rain\n',
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  chmodSync(join(cwd, 'weather.sh'), 0o755);
  return cwd;
}

/**
 * Runs command lines one after the other in one folder, in an environment with the vendor's key variable alone; Ollama, which has
 * none, is named by flags. Ends with the first that fails.
 */
export async function runWith(
  vendors: Vendors,
  name: VendorName,
  lines: string | readonly string[],
  { stdin, env = name === 'ollama' ? {} : keys[name], cwd = workFolder(), model = 'llama3.2' }: VendorRunOptions = {},
): Promise<VendorRun> {
  // The program asks the process itself for the user's folders.
  for (const folder of ['CONFIG', 'STATE', 'CACHE']) vi.stubEnv(`XDG_${folder}_HOME`, join(cwd, 'home'));
  const { requests, url } = vendors.fakeServers[name];
  const before = requests.length;
  const bare = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HTTPS_PROXY: vendors.proxy, ...env };
  let ran: Ran | undefined;
  for (const line of typeof lines === 'string' ? [lines] : lines) {
    const { words } = splitShellLine(line);
    const named = name === 'ollama' ? ['--service', 'ollama', '--base-url', url, ...modelFlag(words, model)] : [];
    const argv = [...words, ...named];
    ran = await run(argv, { cwd, env: bare, ...(stdin !== undefined && { stdin }) });
    if (ran.code !== 0) break;
  }
  if (ran === undefined) throw new Error('no command line');
  return { ...ran, requests: requests.slice(before) };
}

function modelFlag(words: readonly string[], model: string): string[] {
  return words[0] === 'models' || words.includes('-m') ? [] : ['-m', model];
}

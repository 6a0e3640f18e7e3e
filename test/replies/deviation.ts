import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ScriptedReply } from '../helpers/scripted-server.ts';
import { test } from '../helpers/with-server.ts';

/** A PNG of one pixel, as Base64. It holds a `+`. */
export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
/** The beginning of a JPEG, as Base64. */
export const jpeg = '/9j/4AAQSkZJRgABAQAAAQABAAD/2Q==';

/** What the gateway sends, and what the program makes of it. */
interface Deviation {
  argv: readonly string[];
  /** Literal bytes of the body, or a whole reply. */
  reply: string | ScriptedReply;
  code: number;
  /** Keys of the JSON document; with it the run gets `--json`. */
  document?: object;
  /** stdout, for a run without `--json`. */
  stdout?: string;
  /** A part of stderr; without it stderr is empty where the code is 0. */
  stderr?: string;
  /** Base64 of the files that are written, by name. */
  files?: Readonly<Record<string, string>>;
}

/** A test of one deviation (formats 6) through the whole program. */
export function deviation(title: string, { argv, reply, code, document, stdout, stderr, files }: Deviation): void {
  test(title, async ({ server, cli }) => {
    server.reply(typeof reply === 'string' ? { body: reply } : reply);
    const ran = await cli(document === undefined ? argv : [...argv, '--json']);
    expect(ran.code, ran.stderr).toBe(code);
    if (document === undefined) expect(ran.stdout).toBe(stdout ?? '');
    else expect(JSON.parse(ran.stdout)).toMatchObject(document);
    if (stderr !== undefined) expect(ran.stderr).toContain(stderr);
    else if (code === 0) expect(ran.stderr).toBe('');
    for (const [name, base64] of Object.entries(files ?? {})) {
      expect(readFileSync(join(ran.cwd, name)).toString('base64')).toBe(base64);
    }
  });
}

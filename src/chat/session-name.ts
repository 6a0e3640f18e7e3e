import { join, resolve } from 'node:path';
import { usageError } from '../errors.ts';

/** Letters, digits and `. _ -`, so that a name is one harmless segment of a path everywhere. */
const safeName = /^[\p{L}\p{N}][\p{L}\p{N}._-]{0,99}$/u;
const reservedByWindows = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Whether `--session` was given a path: it holds a slash or ends with `.jsonl`. */
export function isSessionPath(typed: string): boolean {
  return typed.includes('/') || typed.includes('\\') || typed.endsWith('.jsonl');
}

/** Refuses a session name that is no safe segment, with one that would be. Throws GatewayError usage. */
export function checkSessionName(name: string): string {
  if (safeName.test(name) && !name.endsWith('.') && !reservedByWindows.test(name)) return name;
  const better = name
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
    .replaceAll(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')
    .slice(0, 100);
  const example = safeName.test(better) && !reservedByWindows.test(better) ? better : 'notes';
  throw usageError(
    `${JSON.stringify(name)} is no session name: letters, digits and . _ - make one`,
    `a name: --session ${example}, or a file: --session ./${example}.jsonl`,
  );
}

/** Absolute path of a session: a path is used as it is, a name lives in the folder. Throws GatewayError usage. */
export async function sessionPath(
  typed: string,
  { cwd, folder }: { cwd: string; folder: () => Promise<string> },
): Promise<string> {
  if (isSessionPath(typed)) return resolve(cwd, typed);
  return join(await folder(), `${checkSessionName(typed)}.jsonl`);
}

import { join } from 'node:path';
import { randomNonce, removeFile } from '../files/temp-file.ts';
import { isRunning, ownMark } from '../files/lock.ts';
import type { RequestKey } from './request-key.ts';

/** What stands in the name of a temporary file: the process that writes it, readable for the next one, and random bits. */
export function partNonce(): string {
  own ??= markText();
  return `${own}-${randomNonce()}`;
}

let own: string | undefined;

function markText(): string {
  const { host, pid, namespace = '', started = '' } = ownMark();
  return Buffer.from([host, pid, namespace, started].join('/')).toString('base64url');
}

/** Removes what recordings left whose process was killed. Who still writes, or writes on another machine, keeps its files. */
export async function clearDeadParts(folder: string, names: readonly string[]): Promise<void> {
  const dead = names.filter(isDead).map((name) => removeFile(join(folder, name)));
  // One that stays harms nobody: a replay does not look at it.
  await Promise.allSettled(dead);
}

function isDead(name: string): boolean {
  const [, mark = ''] = /^\.gateway-cli-([\w-]+)-[0-9a-f]{24}\.part$/.exec(name) ?? [];
  const [host, pid, namespace, ...started] = Buffer.from(mark, 'base64url').toString().split('/');
  if (host === undefined || !/^[1-9]\d*$/.test(pid ?? '')) return false;
  return (
    isRunning({
      host,
      pid: Number(pid),
      namespace: namespace || undefined,
      started: started.join('/') || undefined,
    }) === false
  );
}

/** So much of a hash stands in a file's name, in hex digits. */
const shownDigits = 16;

/** `generateContent-some-model-<hash>-<number>.jsonl`; equal requests are numbered from 1. */
export function recordingName({ label, hash }: Pick<RequestKey, 'label' | 'hash'>, number: number): string {
  return `${label}${label === '' ? '' : '-'}${shownHash(hash)}-${number}.jsonl`;
}

/** What a file's name tells; undefined where the user named it. */
export function readRecordingName(name: string): { shownHash: string; number: number } | undefined {
  const [, hash, number] = /(?:^|-)([0-9a-f]{16})-([1-9]\d{0,8})\.jsonl$/.exec(name) ?? [];
  return hash === undefined ? undefined : { shownHash: hash, number: Number(number) };
}

/** The part of a hash that stands in names. */
export function shownHash(hash: string): string {
  return hash.slice(0, shownDigits);
}

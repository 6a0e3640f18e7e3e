import type { RequestKey } from './request-key.ts';

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

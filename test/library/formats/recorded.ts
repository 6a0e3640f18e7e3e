import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../../../shared/fixtures');

/** One recorded reply, and what a correct client takes from it (expected.json). */
export interface Recorded {
  file: string;
  http_status: number;
  headers: Record<string, string>;
  expected: Expectation;
}

/** Keys of both formats; each reply has its own. */
export interface Expectation {
  text: string;
  images: { declared_mime: string; sha256: string; thought: boolean; bytes: number; size: [number, number] }[];
  usage: Record<string, number | null | Record<string, number>>;
  error?: { code?: number; status?: string; type?: string; message: string; request_id?: string };
  id: string;
  model: string;
  block_types: string[];
  thinking?: string;
  thinking_signatures?: number[];
  redacted_thinking_blocks?: number;
  tool_use?: { id: string; name: string; input: object }[];
  server_tool_use?: { name: string; input: object }[];
  citations?: number;
  stop_reason: string | null;
  stop_sequence: string | null;
  model_version: string;
  part_kinds: string[];
  candidates: number;
  finish_reason: string | null;
  finish_message?: string;
  block_reason?: string;
  block_reason_message?: string;
  function_calls?: { name: string; args: object }[];
}

/** Whether the recorded replies are there: they belong to other projects and lie outside the repository. */
export const hasRecorded = existsSync(join(folder, 'expected.json'));

/** The recorded replies whose file name fits; empty where the folder is absent. */
export function recordedReplies(pattern: RegExp): Recorded[] {
  if (!hasRecorded) return [];
  const all = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8')) as Recorded[];
  return all.filter(({ file }) => pattern.test(file));
}

/** The bytes of a recorded reply, as text. */
export function recordedBody(file: string): string {
  return readFileSync(join(folder, file), 'utf8');
}

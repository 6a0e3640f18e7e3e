import { codeOf } from '../errors.ts';
import { writeReason } from '../files/file-reason.ts';

/** Why nothing can be kept in a folder, in words. */
export function recordReason(error: unknown): string {
  return codeOf(error) === 'EEXIST' ? 'it is no folder' : writeReason(error);
}

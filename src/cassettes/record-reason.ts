import { codeOf, messageOf } from '../errors.ts';

const reasons: Record<string, string> = {
  EACCES: 'it may not be written',
  EPERM: 'it may not be written',
  EROFS: 'its file system is read-only',
  EEXIST: 'it is no folder',
  ENOTDIR: 'a part of the path is no folder',
  ENOSPC: 'the disk is full',
};

/** Why nothing can be kept in a folder, in words. */
export function recordReason(error: unknown): string {
  return reasons[codeOf(error) ?? ''] ?? messageOf(error);
}

import { codeOf, messageOf } from '../errors.ts';

const common: Readonly<Record<string, string>> = {
  EISDIR: 'it is a folder',
  ELOOP: 'its links lead in a circle',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'the name is too long',
  ENFILE: 'too many files are open',
  ENOTDIR: 'a part of the path is no folder',
  // Of Node itself, before the system is asked.
  ERR_INVALID_ARG_VALUE: 'the name holds a NUL character',
};

const reading: Readonly<Record<string, string>> = {
  ...common,
  EACCES: 'it may not be read',
  ENOENT: 'there is no such file',
  EPERM: 'it may not be read',
};

const writing: Readonly<Record<string, string>> = {
  ...common,
  EACCES: 'it may not be written',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'it exists already',
  EFBIG: 'the file would be larger than allowed',
  ENOENT: 'the folder is not there',
  ENOSPC: 'the disk is full',
  EPERM: 'it may not be written',
  EROFS: 'the file system is read-only',
};

/** Why something could not be read, in words. */
export function readReason(error: unknown): string {
  return reading[codeOf(error) ?? ''] ?? systemWords(error);
}

/** Why something could not be written or made, in words. */
export function writeReason(error: unknown): string {
  return writing[codeOf(error) ?? ''] ?? systemWords(error);
}

/** `EIO: i/o error, read '/x'` as people write it: `i/o error (EIO)`. */
function systemWords(error: unknown): string {
  const message = messageOf(error);
  const [, code, words] = /^([A-Z][A-Z0-9]+): ([^,]+), /.exec(message) ?? [];
  return code === undefined ? message : `${words} (${code})`;
}

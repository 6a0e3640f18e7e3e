import { getErrorCode, GatewayError, getErrorMessage } from '../errors.ts';

const common: Readonly<Record<string, string>> = {
  EBUSY: 'it is in use',
  EINVAL: 'the system does not allow it',
  EIO: 'the device failed to read or write',
  EISDIR: 'it is a folder',
  ELOOP: 'it is a symbolic link, which is not followed here, or its links lead in a circle',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'the name is too long',
  ENETDOWN: 'the network is down',
  ENFILE: 'all programs of this machine together have too many files open',
  ENODEV: 'the device does not allow it',
  ENOMEM: 'there is not enough memory',
  ENOTDIR: 'a part of the path is not a folder',
  ENOTSUP: 'the file system does not support it',
  ENXIO: 'the device is not there',
  ESTALE: 'the network folder has changed',
  ETIMEDOUT: 'the network folder does not reply',
  // Thrown by Node itself.
  ERR_INVALID_ARG_VALUE: 'the name contains a NUL character',
};

const tooManyFiles = 'too many files are open; to raise the limit: ulimit -n 4096';

const reading: Readonly<Record<string, string>> = {
  ...common,
  EACCES: 'you do not have permission to read it',
  EMFILE: tooManyFiles,
  ENOENT: 'there is no such file',
  EPERM: 'you do not have permission to read it',
};

const writing: Readonly<Record<string, string>> = {
  ...common,
  EACCES: 'you do not have permission to write it',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'it already exists',
  EFBIG: 'the file would be larger than allowed',
  EMFILE: tooManyFiles,
  ENOENT: 'the folder does not exist',
  ENOSPC: 'the disk is full',
  EPERM: 'you do not have permission to write it',
  EROFS: 'the file system is read-only',
};

const running: Readonly<Record<string, string>> = {
  ...common,
  E2BIG: 'its arguments are too long',
  EACCES: 'you do not have permission to run it',
  EAGAIN: 'too many processes are running',
  ENOENT: 'there is no such command',
  ENOEXEC: 'it is not a program for this machine',
  EPERM: 'you do not have permission to run it',
  ERR_CHILD_PROCESS_STDIO_MAXBUFFER: 'it printed too much',
  ETXTBSY: 'it is being written',
};

/** The reason that a program could not be run, in words. */
export function describeRunError(error: unknown): string {
  return reasonIn(running, error);
}

/** The reason that something could not be read, in words. */
export function describeReadError(error: unknown): string {
  return reasonIn(reading, error);
}

/** The reason that something could not be written or created, in words. */
export function describeWriteError(error: unknown): string {
  return reasonIn(writing, error);
}

/** The message of a GatewayError; for other errors a known reason, the code or the name, never Node's message. */
function reasonIn(words: Readonly<Record<string, string>>, error: unknown): string {
  if (error instanceof GatewayError) return error.message;
  const code = getErrorCode(error);
  if (code !== undefined) return words[code] ?? `the system reports an error (${code})`;
  if (error instanceof Error && error.name !== 'Error') return `an unexpected error (${error.name})`;
  return getErrorMessage(error);
}

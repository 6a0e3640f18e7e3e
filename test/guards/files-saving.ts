import type { Guard } from './guard.ts';
import { noticedBy } from './noticed.ts';

const recover = 'faults/recover';
const files = 'faults/files';
const kept = 'ENOSPC, paid result cannot be saved: the picture is kept';
const planned = 'createFileStore({ folder, fallback: tmpdir(), onFallback })';

/** The rows of 2c about files. */
export const savingGuards = {
  ENOSPC: [
    ...noticedBy('images/temp-file', 'ENOSPC: a write that takes a part only', [
      'images/temp-file.ts',
      'done += bytesWritten;',
      'done = bytes.byteLength;',
    ]),
    ...noticedBy('images/files-rules', 'ENOSPC, power cut: a picture that cannot be forced', [
      'images/block-writer.ts',
      'await handle.datasync();',
      '',
    ]),
    ...noticedBy('images/disk-full', 'ENOSPC while a picture comes in leaves nothing behind', [
      'images/block-writer.ts',
      'await removeFile(this.#file.path);',
      '',
    ]),
    ...noticedBy(recover, 'ENOSPC: --force leaves the old file', [
      'images/place-file.ts',
      'await removeFile(near.path);',
      '',
    ]),
  ],
  'paid result cannot be saved': [
    ...noticedBy(
      recover,
      kept,
      ['commands/image/output.ts', planned, 'createFileStore({ folder, onFallback })'],
      ['commands/image/output.ts', 'lost.images.push(image);', ''],
      ['images/temp-file.ts', 'mode = 0o600', 'mode = 0o644'],
      ['recovery/write-recovery.ts', '0o700', '0o755'],
    ),
    ...noticedBy(recover, 'paid result cannot be saved: where the state folder is full too', [
      'commands/keep-reply.ts',
      'return [...state, tmpdir()];',
      'return state;',
    ]),
    ...noticedBy(recover, 'paid result cannot be saved: where nothing takes a second copy', [
      'commands/keep-reply.ts',
      'const left = await leaveTempFiles(reply, id);',
      'const left: string[] = [];',
    ]),
    ...noticedBy(recover, 'paid result cannot be saved: recover of a changed picture', [
      'recovery/read-recovery.ts',
      "if (blob.sha256 !== sha256) throw notOurs('a picture in it is damaged');",
      '',
    ]),
    ...noticedBy('images/publish', 'paid result cannot be saved: says what the system said', [
      'images/publish.ts',
      "if (temp !== undefined && 'data' in content)",
      'if (temp !== undefined)',
    ]),
  ],
  overwrite: [
    ...noticedBy(files, 'overwrite: a file is not replaced', [
      'images/output-check.ts',
      'if (!force) throw usageError(`-o: ${shown(path)} exists already`',
      'if (false) throw usageError(`-o: ${shown(path)} exists already`',
    ]),
    ...noticedBy(files, 'overwrite: a dangling link is not replaced', [
      'images/output-check.ts',
      'await lstat(resolve(cwd, path))',
      'await stat(resolve(cwd, path))',
    ]),
    ...noticedBy(files, 'overwrite: --force never replaces a pipe', [
      'images/place-file.ts',
      'await refuseSpecial(final);',
      '',
    ]),
    ...noticedBy(files, 'overwrite: /dev/null is refused', [
      'images/output-check.ts',
      'await checkLiteral(plan.output, options);',
      '',
    ]),
    ...noticedBy(recover, 'overwrite: a name that is taken while the request runs', [
      'images/place-file.ts',
      'placing.replace ? replaceFile(temp, final, placing) : linkNew(temp, final, placing)',
      'replaceFile(temp, final, placing)',
    ]),
    ...noticedBy('images/publish', 'overwrite: copies where the file system cannot link: EPERM', [
      'images/place-file.ts',
      "await open(final, 'wx', 0o666)",
      "await open(final, 'w', 0o666)",
    ]),
  ],
  'cleanup deletes the wrong file': [
    ...noticedBy('images/store', 'cleanup deletes the wrong file: a temporary file that exists is never opened', [
      'images/temp-file.ts',
      "'wx+'",
      "'w+'",
    ]),
    ...noticedBy('images/temp-file', 'cleanup deletes the wrong file: where the file system cannot link a copy to', [
      'images/place-file.ts',
      "await open(final, 'wx', 0o666)",
      "await open(final, 'w', 0o666)",
    ]),
  ],
  'server-chosen names': noticedBy(files, 'server-chosen names', ['images/naming.ts', 'id: fileWord(id)', 'id']),
  'output dir missing': [
    ...noticedBy(files, 'output dir missing, not writable, read-only, name too long: found before sending missing', [
      'commands/image/output.ts',
      'if (!toStdout && !(wanted.besideText && name === undefined))',
      'if (false)',
    ]),
    ...noticedBy(
      files,
      'output dir missing, not writable, read-only, name too long: found before sending a read-only file',
      ['images/output-check.ts', 'await newFileMode(folder, passingName);', ''],
    ),
    ...noticedBy(
      'images/files-rules',
      'output dir missing, not writable, name too long a template whose hundredth name',
      ['images/output-check.ts', 'await checkLength(plan, options.cwd);', ''],
    ),
  ],
  SIGKILL: [
    ...noticedBy(files, 'SIGKILL, power cut: never a short file', [
      'images/place-file.ts',
      'await linkFile(temp, final);',
      'await copyNew(temp, final, bytes);',
    ]),
    ...noticedBy(
      'images/files-rules',
      'ENOSPC, power cut: a picture in a file',
      ['images/place-file.ts', 'await syncFolder(dirname(final));', ''],
      ['images/store.ts', 'await entry.ready;', ''],
    ),
    ...noticedBy('images/files-rules', 'ENOSPC, power cut: a picture in memory', [
      'images/publish.ts',
      'await handle.datasync();',
      '',
    ]),
  ],
} satisfies Record<string, Guard[]>;

import type { Dialog } from './dialog.ts';
import type { EditorOptions, LineEditor } from './line-editor.ts';
import type { After, GatewayError } from '../../library/index.ts';

/** An output stream. */
export interface Output {
  readonly isTTY: boolean;
  readonly columns: number;
  /** Number of rows; undefined if unknown. */
  readonly rows?: number | undefined;
  /** A file, or a device that is not a terminal. It can be full, and no CI system reads it. */
  readonly isFile?: boolean | undefined;
  /** The output was closed (`>&-`) when the process began, or is /dev/null by `DEVNULL` of Python: nobody can tell these apart. */
  readonly mayBeClosed?: boolean | undefined;
  /** The reason that nothing more is written, while the command goes on (see output.ts). */
  readonly failure?: GatewayError | undefined;
  /** Resolves when the reader has room again. Rejects with GatewayError closed (EPIPE) or not-written (ENOSPC …). */
  write(chunk: string | Uint8Array): Promise<void>;
}

/** The kind of stdin, by fstat; only some are read in addition to a prompt. */
export type InputKind = 'terminal' | 'file' | 'pipe' | 'socket' | 'null' | 'closed';

/** Standard input, which can be read once. */
export interface Input {
  readonly kind: InputKind;
  /** The bytes as they arrive. */
  read(): AsyncIterable<Uint8Array>;
}

/** Everything that the program needs of its process. */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  /** Opens a dialog, which takes stdin; absent if stdin or stderr is not a terminal. */
  readonly openDialog?: (() => Promise<Dialog>) | undefined;
  /** Opens the line editor of the interactive mode, which takes stdin; absent if stdin or stdout is not a terminal. */
  readonly openEditor?: ((options: EditorOptions) => Promise<LineEditor>) | undefined;
  /** Wall clock, ms since 1970. */
  now(): number;
  /** Monotonic clock in ms, for waits and durations. */
  elapsed(): number;
  /** Runs a function later, and returns its cancellation. The timer does not keep the process alive. */
  readonly after: After;
  /** 0 ≤ x < 1 */
  random(): number;
}

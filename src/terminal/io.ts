import type { Dialog } from './dialog.ts';
import type { EditorOptions, LineEditor } from './line-editor.ts';
import type { GatewayError } from '../errors.ts';
import type { After } from './progress.ts';

/** One output stream as the program sees it. */
export interface Output {
  readonly isTTY: boolean;
  readonly columns: number;
  /** Of a terminal that tells them. */
  readonly rows?: number | undefined;
  /** A file or a device that is no terminal: it may be full, and no CI system reads along. */
  readonly isFile?: boolean | undefined;
  /** Nobody gets what is written: stdout was closed (`>&-`) when the process began. */
  readonly isClosed?: boolean | undefined;
  /** Why nothing more is written, where a command's output outlasts that (see wrap-output.ts). */
  readonly failure?: GatewayError | undefined;
  /** Writes and waits until the reader has room. Rejects with GatewayError closed (EPIPE) or not-written (ENOSPC …). */
  write(chunk: string | Uint8Array): Promise<void>;
}

/** What stdin is, by fstat; only some kinds are read beside a prompt. */
export type InputKind = 'terminal' | 'file' | 'pipe' | 'socket' | 'null' | 'closed';

/** Standard input: looked at first, read at most once. */
export interface Input {
  readonly kind: InputKind;
  /** The bytes as they come. */
  read(): AsyncIterable<Uint8Array>;
}

/** The process's edges, injected everywhere else. */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
  /** Opens questions to a person; absent where stdin or stderr is no terminal. Stdin is the dialog's then. */
  readonly openDialog?: (() => Promise<Dialog>) | undefined;
  /** Opens the line editor of the interactive mode; absent where stdin or stdout is no terminal. Stdin is the editor's then. */
  readonly openEditor?: ((options: EditorOptions) => Promise<LineEditor>) | undefined;
  /** Shows a text in the pager of this command; false where it cannot be started. Absent where stdout is no terminal. */
  readonly runPager?: ((pager: string, text: string) => Promise<boolean>) | undefined;
  /** Wall clock, ms since 1970. */
  now(): number;
  /** Monotonic clock in ms, for waits and durations. */
  elapsed(): number;
  /** Runs something later; what it returns calls that off. Such a timer alone does not keep the process alive. */
  readonly after: After;
  /** 0 ≤ x < 1 */
  random(): number;
}

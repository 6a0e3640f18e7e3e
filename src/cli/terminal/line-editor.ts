import { type Interface, type Key, createInterface } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';
import { callbackify } from 'node:util';
import { createMuteStream, type MuteStream } from './dialog.ts';
import { followStops, type JobControl } from './job-control.ts';
import { append } from '../../library/index.ts';

/** The outcome of reading an entry. */
export type LineRead =
  | { kind: 'entry'; text: string }
  /** Ctrl-C; `again`: no other key was pressed since the last one. */
  | { kind: 'interrupt'; again: boolean }
  /** Ctrl-D, or the terminal was closed. */
  | { kind: 'end' };

/** Reads entries of the user, with history, completion, and pasted lines as one entry. It uses the terminal until it is closed. */
export interface LineEditor {
  /** Waits for an entry, or takes one that was typed before. A question takes only keys that are typed from now on. */
  read(prompt: string, options?: { isQuestion?: boolean }): Promise<LineRead>;
  /** Sets the listener for Ctrl-C while no entry is read. */
  onInterrupt(listener: ((again: boolean) => void) | undefined): void;
  close(): void;
}

export interface EditorOptions {
  /** Earlier entries, the oldest first. */
  history: readonly string[];
  /** Completions for the end of a line, and the part that they replace. */
  complete(line: string): Promise<{ hits: string[]; part: string }>;
}

/** The terminal of an editor. */
interface EditorPlace {
  stdin: ReadStream;
  stdout: WriteStream;
  jobs: JobControl;
  /** TERM=dumb: it takes no escape sequences, and readline sends none. */
  isDumb?: boolean;
  /** Ends the program as SIGHUP does. */
  hangUp(): void;
}

/** The terminal marks pasted text, so that its line breaks do not count as Enter. */
const pasteSequences = { on: '\x1b[?2004h', off: '\x1b[?2004l' };
const continuation = '… ';
/** A line break in a recalled entry: readline edits one line. The variation selector distinguishes it from a typed sign. */
const breakSign = '\u23ce\ufe0e';

export async function openLineEditor(place: EditorPlace, options: EditorOptions): Promise<LineEditor> {
  const { stdin, stdout, isDumb } = place;
  const markPastes = (way: 'on' | 'off'): void => void (isDumb || stdout.write(pasteSequences[way]));
  const state: EditorState = {
    queue: [],
    lines: [],
    linesToCome: 0,
    isPasting: false,
    isQuestion: false,
    isTouched: true,
    isOver: false,
    isGone: false,
  };
  noticeHangup(place, state);
  const echo = createMuteStream(stdout);
  // This listener comes before readline reads the same bytes.
  stdin.on('data', (bytes: Buffer | string) => (state.linesToCome = countLines(String(bytes))));
  const earlier = options.history.map(onOneLine).toReversed();
  const reader = createInterface({
    input: stdin,
    output: echo.stream,
    terminal: true,
    history: earlier,
    historySize: 1000,
    completer: callbackify(async (line: string): Promise<[string[], string]> => {
      const { hits, part } = await options.complete(line);
      return [hits, part];
    }),
  });
  markPastes('on');
  followKeys(stdin, reader, state);
  state.remember = keepHistory(reader, earlier);
  reader.on('line', (line) => takeLine(line, reader, state));
  reader.on('SIGINT', () => interrupt(reader, echo, state));
  reader.on('close', () => {
    state.isOver = true;
    if (!state.isGone) give(state, { kind: 'end' });
  });
  const endStops = followStops({
    reader,
    stdin,
    jobs: place.jobs,
    leave: () => markPastes('off'),
    redraw() {
      markPastes('on');
      if (!echo.isMuted) reader.prompt(true);
    },
  });
  return {
    read: (prompt, { isQuestion = false } = {}) => readEntry(prompt, isQuestion, { reader, echo, state, stdout }),
    onInterrupt: (listener) => void (state.listener = listener),
    close() {
      markPastes('off');
      echo.isMuted = true;
      endStops();
      reader.close();
    },
  };
}

interface EditorState {
  /** Entries that were typed while none was read. */
  queue: LineRead[];
  /** Lines of an unfinished entry. */
  lines: string[];
  /** Lines still to come of the bytes that were read at once. */
  linesToCome: number;
  isPasting: boolean;
  /** Answers to questions are not added to the history. */
  isQuestion: boolean;
  /** Whether a key was pressed since the last Ctrl-C. */
  isTouched: boolean;
  isOver: boolean;
  /** The terminal was closed. */
  isGone: boolean;
  waiting?: ((read: LineRead) => void) | undefined;
  listener?: ((again: boolean) => void) | undefined;
  remember?: (entry: string) => void;
}

async function readEntry(
  prompt: string,
  isQuestion: boolean,
  { reader, echo, state, stdout }: { reader: Interface; echo: MuteStream; state: EditorState; stdout: WriteStream },
): Promise<LineRead> {
  const early = isQuestion ? undefined : state.queue.shift();
  if (early?.kind === 'entry') stdout.write(`${prompt}${early.text.replaceAll('\n', `\n${continuation}`)}\n`);
  if (early) return early;
  if (state.isOver) return { kind: 'end' };
  state.isQuestion = isQuestion;
  if (isQuestion) clearLine(reader, state);
  echo.isMuted = false;
  reader.setPrompt(state.lines.length > 0 ? continuation : prompt);
  reader.prompt(true);
  const read = await new Promise<LineRead>((resolve) => (state.waiting = resolve));
  echo.isMuted = true;
  return read;
}

/**
 * Counts the lines of one read. A terminal that does not mark a paste sends it in one piece, while a person types one line at a
 * time.
 */
function countLines(bytes: string): number {
  const breaks = bytes.match(/\r\n?|\n/g)?.length ?? 0;
  return breaks > 0 && /[\r\n]\P{Cc}[^\r\n]*$/u.test(bytes) ? breaks + 1 : breaks;
}

function followKeys(stdin: NodeJS.ReadableStream, reader: Interface, state: EditorState): void {
  stdin.on('keypress', (_text: string | undefined, key: Key | undefined) => {
    if (!(key?.ctrl && key.name === 'c')) state.isTouched = true;
    if (key?.name === 'paste-start' || key?.name === 'paste-end') state.isPasting = key.name === 'paste-start';
    // A pasted tab does not complete.
    (reader as { isCompletionEnabled?: boolean }).isCompletionEnabled = !state.isPasting && state.linesToCome < 2;
  });
}

function takeLine(line: string, reader: Interface, state: EditorState): void {
  state.linesToCome--;
  const isPasting = state.isPasting || state.linesToCome > 0;
  const goesOn = !isPasting && line.endsWith('\\');
  state.lines.push((goesOn ? line.slice(0, -1) : line).replaceAll(breakSign, '\n'));
  if (isPasting) return;
  if (goesOn) {
    reader.setPrompt(continuation);
    reader.prompt();
    return;
  }
  const text = state.lines.join('\n');
  state.lines = [];
  if (!state.isQuestion) state.remember?.(text);
  give(state, { kind: 'entry', text });
}

function interrupt(reader: Interface, echo: MuteStream, state: EditorState): void {
  const again = !state.isTouched;
  state.isTouched = false;
  state.isPasting = false;
  state.linesToCome = 0;
  state.queue = [];
  const wasMuted = echo.isMuted;
  if (!wasMuted) echo.stream.write('^C\n');
  echo.isMuted = true;
  clearLine(reader, state);
  if (state.waiting || !state.listener) return give(state, { kind: 'interrupt', again });
  echo.isMuted = wasMuted;
  state.listener(again);
}

function clearLine(reader: Interface, state: EditorState): void {
  state.lines = [];
  reader.write(null, { ctrl: true, name: 'e' });
  reader.write(null, { ctrl: true, name: 'u' });
}

function give(state: EditorState, read: LineRead): void {
  const { waiting } = state;
  if (!waiting) return void state.queue.push(read);
  state.waiting = undefined;
  waiting(read);
}

function onOneLine(entry: string): string {
  return entry.trim().replaceAll(/\r?\n/g, breakSign);
}

/** Adds each prompt as one entry of the history, even if it was pasted as several lines. `earlier`: the newest first. */
function keepHistory(reader: Interface, earlier: readonly string[]): (entry: string) => void {
  const entries = [...earlier];
  let shown: string[] = [];
  const showHistory = (): void => {
    shown.length = 0;
    append(shown, entries);
  };
  reader.on('history', (history: string[]) => {
    shown = history;
    showHistory();
  });
  return (entry) => {
    const line = onOneLine(entry);
    if (line === '' || line === entries[0]) return;
    entries.unshift(line);
    showHistory();
  };
}

/**
 * The mode of a closed terminal cannot be restored: readline would throw in an event, and Node would abort at exit. SIGHUP may
 * not have reached the process, so it is raised here.
 */
function noticeHangup({ stdin, hangUp }: EditorPlace, state: EditorState): void {
  const setRawMode = stdin.setRawMode.bind(stdin);
  stdin.setRawMode = (mode) => {
    try {
      return setRawMode(mode);
    } catch {
      if (!state.isGone) hangUp();
      state.isGone = true;
      return stdin;
    }
  };
  stdin.on('error', () => undefined);
}

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CallToolResult, ResourceLink } from '@modelcontextprotocol/sdk/types.js';
import {
  chooseHint,
  describeReadError,
  GatewayError,
  isObject,
  type JsonObject,
  parseObject,
  toolResultKeys,
} from '../../../library/index.ts';
import { programWords } from '../../shipped.ts';
import { type RootFolder, type McpTool, type ToolArguments, toCommandWords } from './tools.ts';

/** The parts that every call shares. */
export interface ToolPlace {
  root: RootFolder;
  /** Flags of the server that each command gets. */
  flags: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** Files are written nowhere below the root. */
  readOnly: boolean;
}

/**
 * Runs the command of a tool in a process of its own, which the signal ends. A failure of the command is a result, too. `onEnd`
 * gets the number of requests that it sent, if it reports them.
 */
export async function runTool(
  tool: McpTool,
  given: ToolArguments,
  { place, signal, onEnd }: { place: ToolPlace; signal: AbortSignal; onEnd?: (attempts: number) => void },
): Promise<CallToolResult> {
  const { root, readOnly } = place;
  const folder = readOnly ? await mkdtemp(join(tmpdir(), 'gateway-cli-mcp-')).catch(throwNotStarted) : root.path;
  try {
    const words = toCommandWords(tool, given, ['--json', '--quiet', ...place.flags]);
    const { out, err } = await runGatewayCli(words, { cwd: folder, env: place.env, prompt: given.prompt, signal });
    const document = parseObject(out);
    if (typeof document['attempts'] === 'number') onEnd?.(document['attempts']);
    signal.throwIfAborted();
    if (typeof document['schema'] !== 'string')
      throw new GatewayError('internal', `the command printed no document: ${err.trim()}`, { sent: 'unknown' });
    // A client cannot use a file in a folder that is removed afterwards.
    const files = readOnly ? [] : listWrittenFiles(document, folder);
    return toToolResult(tool, document, files);
  } finally {
    if (readOnly) await rm(folder, { recursive: true, force: true });
  }
}

/** Options for running a program of this package. */
interface ProgramRun extends Pick<ToolPlace, 'env'> {
  cwd: string;
  /** The prompt for the stdin of the program. */
  prompt?: string | undefined;
  signal: AbortSignal;
}

function throwNotStarted(error: unknown): never {
  throw new GatewayError('not-sent', `the command cannot be started: ${describeReadError(error)}`, { cause: error });
}

/** Runs the program. Returns its stdout, and the end of its stderr. */
async function runGatewayCli(
  argv: readonly string[],
  { cwd, env, prompt = '', signal }: ProgramRun,
): Promise<{ out: string; err: string }> {
  const [program, ...words] = programWords();
  const { GATEWAY_NO_STDIN: _, ...inherited } = env;
  const child = spawn(program, [...words, ...argv], { cwd, env: inherited, stdio: 'pipe', windowsHide: true });
  const closed = once(child, 'close');
  // If no descriptor is left, the child has no pipes.
  if (child.pid === undefined) await closed.catch(throwNotStarted);
  const stopProgram = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stopProgram, { once: true });
  const out: Buffer[] = [];
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => void out.push(chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => void (err = (err + chunk).slice(-2000)));
  // A command that ends before it reads its prompt closes the pipe.
  child.stdin.on('error', () => undefined).end(prompt);
  if (signal.aborted) stopProgram();
  await closed;
  signal.removeEventListener('abort', stopProgram);
  return { out: Buffer.concat(out).toString('utf8'), err };
}

/** A file that a command wrote, with the facts of it in the command's document. */
type ListedFile = JsonObject & { path: string };

function listWrittenFiles(document: JsonObject, folder: string): ListedFile[] {
  const found = [document['images'], document['files']].flatMap((list) => (Array.isArray(list) ? list : []));
  return found.filter(isObject).map((file) => ({ ...file, path: resolve(folder, String(file['path'])) }));
}

/** The result that a client receives: never the bytes of a whole image. */
function toToolResult({ writes }: McpTool, document: JsonObject, files: readonly ListedFile[]): CallToolResult {
  const { error } = document;
  const facts = shownKeys.flatMap((name) => (document[name] === undefined ? [] : [[name, document[name]]]));
  const result = { ...Object.fromEntries(facts), ...((writes || files.length > 0) && { images: [...files] }) };
  const more = files.map(toResourceLink);
  if (isObject(error)) return failedResult(error, result, more);
  const answer = typeof result['text'] === 'string' ? result['text'] : JSON.stringify(result);
  const text = [...files.map(pathLine), ...(writes && answer === '' ? [] : [answer])].join('\n');
  return { content: [{ type: 'text', text }, ...more], structuredContent: result };
}

/** A line about a file, for models that see only the text. */
function pathLine({ path, mimeType, width, height }: ListedFile): string {
  const size = width === undefined ? '' : `, ${String(width)}×${String(height)}`;
  return `${path} (${String(mimeType)}${size})`;
}

function toResourceLink({ path, mimeType, bytes }: ListedFile): ResourceLink {
  return {
    type: 'resource_link',
    uri: pathToFileURL(path).href,
    name: basename(path),
    mimeType: String(mimeType),
    size: Number(bytes),
  };
}

/** The keys of the document that a client can use: of the command, and of its reply. */
const shownKeys = ['complete', 'model', 'models', ...toolResultKeys, 'answer', 'cost', 'warnings'];

/** A failure with the facts that the caller needs to decide on the next step. */
function failedResult(
  { class: kind, message, hint, sent, billed }: JsonObject,
  partial: JsonObject = {},
  more: readonly ResourceLink[] = [],
): CallToolResult {
  const error = { class: kind, message, hint, sent, billed };
  const text = `${String(kind)}: ${String(message)}${hint === undefined ? '' : `\n${String(hint)}`}\nsent: ${String(sent)}, billed: ${String(billed)}`;
  return { content: [{ type: 'text', text }, ...more], structuredContent: { ...partial, error }, isError: true };
}

/** The result of a call that is refused before a program runs. */
export function refusedResult(error: unknown): CallToolResult {
  if (!(error instanceof GatewayError)) throw error;
  const { class: kind, message, details } = error;
  const { sent = 'no' } = details;
  const hint = chooseHint(error, 'library');
  return failedResult({ class: kind, message, ...(hint !== undefined && { hint }), sent, billed: error.billed });
}
